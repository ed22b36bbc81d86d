import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { COMPRESSED_BYTES_MIN, compress } from './compression.ts';
import { entityTag, isNotModified, matchesAnything } from './etag.ts';
import { contentTypeOf, type Encoding, encodingOf, varyOf } from './negotiation.ts';

/** A body before it is encoded for a client. */
export interface Sendable {
  readonly mediaType: string;
  readonly cacheControl: string;
  /** Length in bytes; 0 if the body must not be compressed. Short bodies are not compressed. */
  readonly length: number;
  /** Returns the entity tag of an encoding; absent if clients do not keep the body. */
  readonly tagOf?: (encoding: Encoding) => string;
  read(): Buffer | Promise<Buffer>;
  /** The forms that were sent before. */
  readonly packed?: Map<Encoding, Buffer>;
}

/** Sends a body, compressed if the client accepts it, or 304 if the client has it. */
export async function sendEncoded(
  request: FastifyRequest,
  reply: FastifyReply,
  { mediaType, cacheControl, length, tagOf, read, packed }: Sendable,
): Promise<FastifyReply> {
  const encoding = length < COMPRESSED_BYTES_MIN ? 'identity' : encodingOf(request.headers['accept-encoding']);
  reply.headers({ 'cache-control': cacheControl, vary: varyOf(reply) });
  if (tagOf !== undefined) {
    const tag = tagOf(encoding);
    reply.header('etag', tag);
    if (isCurrent(request, tag)) return notModified(request, reply);
  }
  const plain = packed?.get(encoding) ?? (await read());
  const body = encoding === 'identity' || packed?.has(encoding) === true ? plain : await compress(plain, encoding);
  packed?.set(encoding, body);
  if (encoding !== 'identity') reply.header('content-encoding', encoding);
  return sendBytes(request, reply.header('content-type', mediaType), body);
}

/** Returns whether a client has the current version of an existing body. */
export function isCurrent({ headers }: FastifyRequest, tag: string): boolean {
  const condition = headers['if-none-match'];
  return isNotModified(condition, tag) || matchesAnything(condition);
}

/** Sends 304, for a client that has the current version. */
export function notModified(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  request.visit.cache = 'unchanged';
  request.visit.bytes = 0;
  return reply.code(304).send();
}

/** Sends a body and records its length for the log. */
export function sendBytes(request: FastifyRequest, reply: FastifyReply, bytes: Buffer): FastifyReply {
  request.visit.bytes = request.method === 'HEAD' ? 0 : bytes.length;
  return reply.send(bytes);
}

/** Sends a value as JSON, which by default must not be cached. */
export function sendJson(
  request: FastifyRequest,
  reply: FastifyReply,
  value: unknown,
  cacheControl = 'no-store',
): FastifyReply {
  reply.headers({ 'content-type': contentTypeOf('json'), 'cache-control': cacheControl });
  return sendBytes(request, reply, Buffer.from(JSON.stringify(value)));
}

/** Sends a small value as JSON, or 304 if the browser already has it. */
export async function sendValue(request: FastifyRequest, reply: FastifyReply, value: unknown): Promise<FastifyReply> {
  const plain = Buffer.from(JSON.stringify(value));
  const version = createHash('sha256').update(plain).digest('hex').slice(0, 32);
  return sendEncoded(request, reply, {
    mediaType: contentTypeOf('json'),
    cacheControl: 'private, no-cache',
    length: plain.length,
    tagOf: (encoding) => entityTag(version, 'json', encoding),
    read: () => plain,
  });
}
