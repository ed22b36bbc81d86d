import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Resource } from '../../contract/catalogue.ts';
import type { Question, Running, Service } from '../../query/service.ts';
import type { Content } from './content/content-cache.ts';
import { entityTag, isNotModified, matchesAnything } from './content/etag.ts';
import { type Encoding, encodingOf, type Format, formatOf } from './content/negotiation.ts';
import { splitUrl } from './paths.ts';
import type { ResponseWriter } from './response-writer.ts';
import type { Answers } from './responses.ts';

/** Handles a request for a resource. */
export type ReadHandler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** Dependencies shared by the handlers. */
export interface ReadParts {
  readonly service: Service;
  readonly answers: Answers;
  readonly responseWriter: ResponseWriter;
  /** Value of the Vary header. */
  readonly vary: string;
  /** Whether any origin is allowed, so that responses may have CORS headers. */
  readonly hasPages: boolean;
}

/** A request in progress and the headers of its response. */
interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly headers: Headers;
  readonly responseWriter: ResponseWriter;
}

/** Creates the handler of a resource: 304 if the client is up to date, otherwise a cached or computed response. */
export function createReadHandler(parts: ReadParts, resource: Resource): ReadHandler {
  const { service, answers, responseWriter, vary, hasPages } = parts;
  return async (request, reply) => {
    const [, query] = splitUrl(request.raw.url ?? '');
    const path = request.params as Record<string, string>;
    const question = await service.ask(resource, path, new URLSearchParams(query));
    const format = formatOf(request.headers.accept);
    // Parquet is already compressed internally.
    const encoding = format === 'parquet' ? 'identity' : encodingOf(request.headers['accept-encoding']);
    const tag = entityTag(question.version, format, encoding);
    const running = await service.running();
    const headers = Object.assign(headersOf(question, tag, vary, running), request.visit.headers);
    if (hasPages) Object.assign(headers, reply.getHeaders(), { vary });
    const exchange = { request, reply, headers, responseWriter };
    const condition = request.headers['if-none-match'];
    if (isNotModified(condition, tag)) return notModified(exchange);
    const content = await contentOf(answers, question, format, encoding, exchange);
    return matchesAnything(condition) ? notModified(exchange) : send(exchange, content);
  };
}

type Headers = OutgoingHttpHeaders;

function headersOf({ asOf, partial }: Question, tag: string, vary: string, running: Running | null): Headers {
  const headers: Headers = {
    etag: tag,
    'cache-control': 'private, no-cache',
    vary,
    'x-data-coverage': partial ? 'partial' : 'complete',
  };
  if (asOf !== null) headers['x-data-as-of'] = new Date(asOf).toISOString();
  if (running !== null) headers['x-sync-progress'] = `${running.done}/${running.expected}`;
  return headers;
}

async function contentOf(
  answers: Answers,
  question: Question,
  format: Format,
  encoding: Encoding,
  { request, reply }: Exchange,
): Promise<Content> {
  const { visit } = request;
  const kept = answers.kept(question, format, encoding);
  visit.cache = kept === undefined ? 'computed' : 'kept';
  if (kept !== undefined) return kept;
  const leaving = new AbortController();
  visit.leaving = leaving;
  // The client may have disconnected during validation.
  if (reply.raw.destroyed) leaving.abort(new ClientLeft());
  return answers.compute(question, format, encoding, leaving.signal);
}

function notModified(exchange: Exchange): FastifyReply {
  exchange.request.visit.cache = 'unchanged';
  return write(exchange, 304, '');
}

function send(exchange: Exchange, { body, mediaType, encoding, nextCursor }: Content): FastifyReply {
  const { headers } = exchange;
  headers['content-type'] = mediaType;
  headers['content-length'] = String(body.length);
  if (encoding !== null) headers['content-encoding'] = encoding;
  if (nextCursor !== null) headers['x-next-cursor'] = nextCursor;
  return write(exchange, 200, body);
}

// The hot path bypasses Fastify, which would set the headers one by one and write each response separately.
function write(
  { request, reply, headers, responseWriter }: Exchange,
  status: number,
  body: string | Buffer,
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
