import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Logger, pino } from 'pino';
import type { Clock } from '../../base/clock.ts';
import { hideKeys } from '../../base/errors.ts';

/** How much is logged. */
export const LOG_LEVELS = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;

/** One of LOG_LEVELS. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Status in the log of a request whose client left before it was answered; it is never sent. */
const STATUS_CLIENT_LEFT = 499;
/** Lines gathered before they are written at once. */
const GATHERED_CHARACTERS_MAX = 32_768;

/** Takes lines, and writes those of one turn of the event loop together. */
export interface LogStream {
  write(line: string): void;
  /** Writes what was gathered. */
  flush(): void;
}

/** Builds a stream for log lines. Whatever is in them, nothing that looks like a key leaves through it. */
export function createLogStream(output: (text: string) => void): LogStream {
  let gathered = '';
  let isScheduled = false;
  const flush = (): void => {
    isScheduled = false;
    if (gathered === '') return;
    const text = gathered;
    gathered = '';
    output(text);
  };
  return {
    flush,
    write: (line) => {
      gathered += line.includes('gsk_') ? hideKeys(line) : line;
      if (gathered.length > GATHERED_CHARACTERS_MAX) flush();
      else if (!isScheduled) {
        isScheduled = true;
        setImmediate(flush);
      }
    },
  };
}

/** The one log of a server and of what goes on beside it. */
export interface Log {
  readonly level: LogLevel;
  /** One JSON object a line, times as ISO 8601, and no header that carries a key. */
  readonly logger: Logger;
  readonly stream: LogStream;
}

/** Where a log goes: to one that is open, or as text to whoever takes it, in whole lines of JSON. */
export type LogTarget = Log | ((text: string) => void);

/** Opens a log; one that is open already is given back as it is. */
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

/** Writes the line of a request that has ended. */
export type LogRequest = (request: FastifyRequest, reply: FastifyReply, tookMs: number) => void;

/** Builds it; by hand, in the logger's form, because it is written with every request. */
export function createLogRequest({ level, stream }: Log, clock: Clock, workspace?: string): LogRequest {
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
      ...(workspace === undefined ? {} : { workspace }),
      key: keyId,
      bytes: left ? null : bytes,
      cache,
    };
    stream.write(`${JSON.stringify(line)}\n`);
  };
}

/** Text that a client sent, without what looks like a key in it, also where it is percent-encoded. */
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
  return decoded.includes('gsk_') ? hideKeys(decoded) : text;
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
  const told = { type: name, code: (thrown as { code?: unknown }).code, message, stack };
  return cause === undefined ? told : { ...told, cause: describeError(cause) };
}
