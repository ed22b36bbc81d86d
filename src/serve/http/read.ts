import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Resource } from '../../contract/catalogue.ts';
import type { Question, Service } from '../service.ts';
import type { Answers } from './answers.ts';
import type { Content } from './cache.ts';
import { entityTag, isNotModified, matchesAnything } from './etag.ts';
import { type Encoding, encodingOf, type Format, formatOf } from './negotiation.ts';
import { splitUrl } from './paths.ts';

/** Answers a request for a resource. */
export type ReadHandler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** Builds the handler of a resource: from what the client has already, from what is kept, or computed. */
export function createReadHandler(service: Service, answers: Answers, resource: Resource, vary: string): ReadHandler {
  return async (request, reply) => {
    const [, query] = splitUrl(request.raw.url ?? '');
    const path = request.params as Record<string, string>;
    const question = await service.ask(resource, path, new URLSearchParams(query));
    const format = formatOf(request.headers.accept);
    // Parquet is packed within.
    const encoding = format === 'parquet' ? 'identity' : encodingOf(request.headers['accept-encoding']);
    const tag = entityTag(question.version, format, encoding);
    const headers = headersOf(question, tag, vary);
    const condition = request.headers['if-none-match'];
    if (isNotModified(condition, tag)) return notModified(request, reply, headers);
    const content = await contentOf(answers, question, format, encoding, request, reply);
    if (matchesAnything(condition)) return notModified(request, reply, headers);
    return send(request, reply, headers, content);
  };
}

type Headers = Record<string, string>;

function headersOf({ asOf, partial }: Question, tag: string, vary: string): Headers {
  const headers: Headers = {
    etag: tag,
    'cache-control': 'private, no-cache',
    vary,
    'x-data-coverage': partial ? 'partial' : 'complete',
  };
  if (asOf !== null) headers['x-data-as-of'] = new Date(asOf).toISOString();
  return headers;
}

async function contentOf(
  answers: Answers,
  question: Question,
  format: Format,
  encoding: Encoding,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Content> {
  const { visit } = request;
  const kept = answers.kept(question, format, encoding);
  visit.cache = kept === undefined ? 'computed' : 'kept';
  if (kept !== undefined) return kept;
  const leaving = new AbortController();
  visit.leaving = leaving;
  // It may have left while the question was being checked.
  if (reply.raw.destroyed) leaving.abort(new ClientLeft());
  return answers.compute(question, format, encoding, leaving.signal);
}

function notModified(request: FastifyRequest, reply: FastifyReply, headers: Headers): FastifyReply {
  request.visit.cache = 'unchanged';
  request.visit.bytes = 0;
  return reply.code(304).headers(headers).send();
}

function send(request: FastifyRequest, reply: FastifyReply, headers: Headers, content: Content): FastifyReply {
  const { bytes, mediaType, encoding, nextCursor } = content;
  headers['content-type'] = mediaType;
  headers['content-length'] = String(bytes.length);
  if (encoding !== null) headers['content-encoding'] = encoding;
  if (nextCursor !== null) headers['x-next-cursor'] = nextCursor;
  request.visit.bytes = request.method === 'HEAD' ? 0 : bytes.length;
  return reply.headers(headers).send(bytes);
}

/** Why work was aborted: whoever wanted it has left, so nobody is told. */
export class ClientLeft extends Error {
  constructor() {
    super('the client left');
    this.name = 'ClientLeft';
  }
}
