import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Logger, pino } from 'pino';
import type { Clock } from '../../base/clock.ts';
import { hideKeys } from '../../base/errors.ts';

/** Log levels. */
export const LOG_LEVELS = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;

/** One of LOG_LEVELS. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Logged status of a request whose client disconnected before the response; never sent. */
const STATUS_CLIENT_LEFT = 499;
/** Number of buffered characters above which lines are written immediately. */
const BUFFERED_CHARACTERS_MAX = 32_768;

/** Accepts log lines, and writes those of one turn of the event loop together. */
export interface LogStream {
  write(line: string): void;
  /** Writes the buffered lines. */
  flush(): void;
}

/** Creates a stream for log lines. Everything that looks like a key is redacted. */
export function createLogStream(output: (text: string) => void): LogStream {
  let buffered = '';
  let isScheduled = false;
  const flush = (): void => {
    isScheduled = false;
    if (buffered === '') return;
    const text = buffered;
    buffered = '';
    output(text);
  };
  return {
    flush,
    write: (line) => {
      buffered += /gsk_|eyJ|access_token/i.test(line) ? hideKeys(line) : line;
      if (buffered.length > BUFFERED_CHARACTERS_MAX) flush();
      else if (!isScheduled) {
        isScheduled = true;
        setImmediate(flush);
      }
    },
  };
}

/** The log of a server and its background work. */
export interface Log {
  readonly level: LogLevel;
  /** One JSON object per line, times in ISO 8601, headers with keys redacted. */
  readonly logger: Logger;
  readonly stream: LogStream;
}

/** Destination of a log: an open log, or a function that receives complete JSON lines. */
export type LogTarget = Log | ((text: string) => void);

/** Opens a log; an open log is returned unchanged. */
export function openLog(target: LogTarget, level: LogLevel, clock: Clock): Log {
  if (typeof target !== 'function') return target;
  const stream = createLogStream(target);
  const options = {
    level,
    base: null,
    timestamp: () => `,"time":"${new Date(clock.now()).toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: {
      paths: ['authorization', '["x-api-key"]', 'headers.authorization', 'headers["x-api-key"]'],
      censor: '…',
    },
    serializers: { err: describeError },
  };
  return { level, logger: pino(options, stream), stream };
}

/** Writes the log line of a finished request. */
export type LogRequest = (request: FastifyRequest, reply: FastifyReply, tookMs: number) => void;

/** Creates the request logger. It builds the line without pino, because it runs for every request. */
export function createLogRequest({ level, stream }: Log, clock: Clock, workspace: string | null): LogRequest {
  if (LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf('info')) return () => undefined;
  return (request, reply, tookMs) => {
    const { raw } = reply;
    const { keyId, bytes, cache } = request.visit;
    const left = !raw.writableFinished;
    const line = {
      level: 'info',
      time: new Date(clock.now()).toISOString(),
      id: request.id,
      method: request.method,
      path: withoutKeys(request.originalUrl),
      status: left ? STATUS_CLIENT_LEFT : raw.statusCode,
      ms: Math.round(tookMs * 100) / 100,
      ...(workspace === null ? {} : { workspace }),
      key: keyId,
      bytes: left ? null : bytes,
      cache,
    };
    stream.write(`${JSON.stringify(line)}\n`);
  };
}

/** Redacts everything that looks like a key in client text, including percent-encoded keys. */
export function withoutKeys(text: string): string {
  if (!text.includes('%')) return hideKeys(text);
  let decoded: string;
  try {
    decoded = decodeURIComponent(text);
  } catch {
    decoded = text.replaceAll(/%([0-7][0-9a-f])/gi, (_all, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
  }
  const hidden = hideKeys(decoded);
  return hidden === decoded ? hideKeys(text) : hidden;
}

interface LoggedError {
  readonly type: string;
  readonly message: string;
  readonly stack: string;
  readonly [detail: string]: unknown;
}

function describeError(thrown: unknown): LoggedError {
  if (!(thrown instanceof Error)) return { type: typeof thrown, message: String(thrown), stack: '' };
  const { name, message, stack = '', cause } = thrown;
  const described = { type: name, code: (thrown as { code?: unknown }).code, message, stack };
  return cause === undefined ? described : { ...described, cause: describeError(cause) };
}
