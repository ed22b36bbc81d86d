import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Resource } from '../../contract/catalogue.ts';
import { cursorParameterOf } from '../../contract/query-parameters.ts';
import type { RowFormat } from '../../read/formats/row-formats.ts';
import type { CompleteList, Question, Running, Service } from '../../read/service.ts';
import { type AccessControl, LOOPBACK } from '../auth/access-control.ts';
import { type Body, type Content } from './content/content-cache.ts';
import { entityTag, isNotModified, matchesAnything } from './content/etag.ts';
import {
  contentTypeOf,
  type Encoding,
  encodingOf,
  type Format,
  fileOf,
  formatOf,
  varyOf,
} from './content/negotiation.ts';
import type { ListStreams } from './list-streams.ts';
import { basePathOf, splitUrl } from './paths.ts';
import type { ResponseWriter } from './response-writer.ts';
import type { Answers } from './responses.ts';

/** Handles a request for a resource. */
export type ReadHandler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** Dependencies shared by the handlers. */
export interface ReadParts {
  readonly service: Service;
  readonly answers: Answers;
  readonly lists: ListStreams;
  readonly responseWriter: ResponseWriter;
  readonly accessControl: Pick<AccessControl, 'checkPage'>;
  /** Whether any origin is allowed, so that responses may have CORS headers. */
  readonly hasPages: boolean;
}

/** A request in progress, its response and the response's headers. */
interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly headers: Headers;
  readonly parts: ReadParts;
}

type Headers = OutgoingHttpHeaders;

const VARY = 'Accept, Accept-Encoding';
/** First and longest interval of interim responses to a client that has closed its half of the connection. */
const PROBE_MS_MIN = 20;
const PROBE_MS_MAX = 1_000;

/** Creates the handler of a resource: 304 if the client is up to date, otherwise a cached or computed response, or a stream. */
export function createReadHandler(parts: ReadParts, resource: Resource): ReadHandler {
  const { hasPages } = parts;
  return async (request, reply) => {
    const service = serviceFor(parts.service, request);
    const [, query] = splitUrl(request.raw.url ?? '');
    const path = request.params as Record<string, string>;
    const question = await service.ask(resource, path, new URLSearchParams(query));
    const format = formatOf(request.headers.accept);
    // Parquet is already compressed internally.
    const encoding = format === 'parquet' ? 'identity' : encodingOf(request.headers['accept-encoding']);
    const list = format === 'json' ? null : question.list;
    const tag = entityTag((list ?? question).version, format, encoding);
    const running = await service.running();
    const headers = Object.assign(headersOf(question, tag, running), request.visit.headers);
    if (hasPages) Object.assign(headers, reply.getHeaders(), { vary: varyOf(reply, VARY) });
    const exchange = { request, reply, headers, parts };
    const condition = request.headers['if-none-match'];
    if (isNotModified(condition, tag)) return notModified(exchange);
    if (list !== null && format !== 'json') {
      if (matchesAnything(condition)) return notModified(exchange);
      headers['content-disposition'] = fileOf(resource.name, format);
      return stream(exchange, list, format, encoding);
    }
    const content = await contentOf(question, format, encoding, exchange);
    if (matchesAnything(condition)) return notModified(exchange);
    if (format !== 'json' && content.mediaType === contentTypeOf(format)) {
      headers['content-disposition'] = fileOf(resource.name, format);
    }
    return send(exchange, content, cursorParameterOf(resource.query) ?? 'cursor');
  };
}

/** Returns the service with the brands that a request may read. */
export function serviceFor(service: Service, { visit }: Pick<FastifyRequest, 'visit'>): Service {
  const brands = visit.access?.brands ?? null;
  return brands === null ? service : service.limitedTo(brands);
}

function headersOf({ asOf, partial }: Question, tag: string, running: Running | null): Headers {
  const headers: Headers = {
    etag: tag,
    'cache-control': 'private, no-cache',
    vary: VARY,
    'x-data-coverage': partial ? 'partial' : 'complete',
  };
  if (asOf !== null) headers['x-data-as-of'] = new Date(asOf).toISOString();
  if (running !== null) headers['x-sync-progress'] = `${running.done}/${running.expected}`;
  return headers;
}

async function contentOf(
  question: Question,
  format: Format,
  encoding: Encoding,
  { request, reply, parts: { answers } }: Exchange,
): Promise<Content> {
  const { visit } = request;
  const kept = answers.kept(question, format, encoding);
  visit.cache = kept === undefined ? 'computed' : 'kept';
  if (kept !== undefined) return kept;
  return answers.compute(question, format, encoding, leavingOf(request, reply));
}

/** Returns a signal that is aborted if the client disconnects before the response. */
export function leavingOf(request: FastifyRequest, { raw }: FastifyReply): AbortSignal {
  const leaving = new AbortController();
  request.visit.leaving = leaving;
  // The client may have disconnected during validation.
  if (raw.destroyed) leaving.abort(new ClientLeft());
  probeHalfClosed(request.raw, raw);
  return leaving.signal;
}

// A client that has closed its half of the connection waits for the response or has left. If it has left, its system resets the
// connection on the first interim response, and the next one fails, which closes the response.
function probeHalfClosed({ socket, httpVersionMinor }: IncomingMessage, response: ServerResponse): void {
  if (httpVersionMinor === 0) return;
  let timer: NodeJS.Timeout | undefined;
  const probe = (waitMs: number): void => {
    if (response.headersSent) return;
    response.writeContinue();
    timer = setTimeout(probe, waitMs, Math.min(2 * waitMs, PROBE_MS_MAX));
  };
  const begin = (): void => probe(PROBE_MS_MIN);
  if (socket.readableEnded) begin();
  else socket.once('end', begin);
  response.once('close', () => {
    socket.off('end', begin);
    clearTimeout(timer);
  });
}

async function stream(
  { request, reply, headers, parts: { lists, accessControl } }: Exchange,
  list: CompleteList,
  format: RowFormat,
  encoding: Encoding,
): Promise<FastifyReply> {
  const { raw } = reply;
  const { visit } = request;
  headers['content-type'] = contentTypeOf(format);
  if (encoding !== 'identity') headers['content-encoding'] = encoding;
  if (request.method === 'HEAD') {
    visit.bytes = 0;
    raw.writeHead(200, headers).end();
    return reply.hijack();
  }
  visit.cache = 'computed';
  const transfer = await lists.begin(list, format, encoding, {
    signal: leavingOf(request, reply),
    holder: visit.keyId ?? LOOPBACK,
    checkAccess: () => void accessControl.checkPage(request),
  });
  reply.hijack();
  visit.bytes = 0;
  const onBytes = (bytes: number): void => {
    visit.bytes = (visit.bytes ?? 0) + bytes;
  };
  try {
    // HTTP/1.0 has no chunks, so it has no trailers.
    if (request.raw.httpVersionMinor > 0) headers['trailer'] = 'X-Row-Count';
    raw.writeHead(200, headers);
    const rows = await transfer.send(raw, onBytes);
    raw.addTrailers({ 'X-Row-Count': String(rows) });
    raw.end();
  } catch (thrown) {
    // Reset the connection, so that no client takes the part that was sent for the complete list.
    if (visit.leaving?.signal.aborted !== true) request.log.error({ id: request.id, err: thrown });
    await transfer.cancel();
    request.raw.socket.resetAndDestroy();
  }
  return reply;
}

function notModified(exchange: Exchange): FastifyReply {
  exchange.request.visit.cache = 'unchanged';
  return write(exchange, 304, '');
}

function send(
  exchange: Exchange,
  { body, mediaType, encoding, nextCursor }: Content,
  cursorParameter: string,
): FastifyReply {
  const { headers, request } = exchange;
  headers['content-type'] = mediaType;
  headers['content-length'] = String(body.length);
  if (encoding !== null) headers['content-encoding'] = encoding;
  if (nextCursor !== null) {
    headers['x-next-cursor'] = nextCursor;
    headers['link'] =
      `<${basePathOf(request)}${withCursor(request.raw.url ?? '', cursorParameter, nextCursor)}>; rel="next"`;
  }
  return write(exchange, 200, body);
}

function withCursor(url: string, parameter: string, cursor: string): string {
  const [path, query] = splitUrl(url);
  const parameters = new URLSearchParams(query);
  parameters.set(parameter, cursor);
  return `${path}?${parameters}`;
}

// The hot path bypasses Fastify, which would set the headers one by one and write each response separately.
function write(
  { request, reply, headers, parts: { responseWriter } }: Exchange,
  status: number,
  body: Body,
): FastifyReply {
  const { raw } = reply;
  request.visit.bytes = request.method === 'HEAD' ? 0 : body.length;
  raw.writeHead(status, headers);
  reply.hijack();
  responseWriter.end(raw, body);
  return reply;
}

/** Abort reason of work whose client has disconnected; never sent. */
export class ClientLeft extends Error {
  constructor() {
    super('the client left');
    this.name = 'ClientLeft';
  }
}
