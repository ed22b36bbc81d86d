import { basename } from 'node:path';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Asset } from '../../web/plain/asset.ts';
import { COMPRESSED_BYTES_MIN, compress } from '../http/content/compression.ts';
import { entityTag, isNotModified, matchesAnything } from '../http/content/etag.ts';
import { type Encoding, encodingOf, varyOf } from '../http/content/negotiation.ts';
import { REFERENCE_PATHS } from '../http/paths.ts';

/** Handles a request for a file of a page. */
export type AssetHandler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** Creates the handler of a file, which is compressed once per encoding. By default browsers ask for changes on each use. */
export function createAssetHandler({ bytes, mediaType, version }: Asset, cacheControl = 'no-cache'): AssetHandler {
  const packed = new Map<Encoding, Buffer>([['identity', bytes]]);
  return async (request, reply) => {
    const encoding = bytes.length < COMPRESSED_BYTES_MIN ? 'identity' : encodingOf(request.headers['accept-encoding']);
    const tag = entityTag(version, 'page', encoding);
    reply.headers({
      etag: tag,
      'cache-control': cacheControl,
      vary: varyOf(reply),
    });
    const condition = request.headers['if-none-match'];
    if (isNotModified(condition, tag) || matchesAnything(condition)) {
      request.visit.bytes = 0;
      return reply.code(304).send();
    }
    const body = packed.get(encoding) ?? (encoding === 'identity' ? bytes : await compress(bytes, encoding));
    packed.set(encoding, body);
    if (encoding !== 'identity') reply.header('content-encoding', encoding);
    return sendBytes(request, reply.header('content-type', mediaType), body);
  };
}

/** Creates the handler of the pages that document the API. Their files are read at the first request. */
export function createReferenceHandler(): AssetHandler {
  let reading: Promise<Reference> | null = null;
  return async (request, reply) => {
    reading ??= readReference();
    const { headers, handlers } = await reading;
    const { url = '' } = request.routeOptions;
    // Redirect, because the links of the page are relative. The target is relative too, because a proxy may add a path.
    if (url.endsWith('/')) return reply.redirect(`../${basename(url)}`, 308);
    const handle = handlers.get(url);
    if (handle === undefined) throw new TypeError(`no file for ${url}`);
    return handle(request, reply.headers(headers));
  };
}

interface Reference {
  readonly headers: Readonly<Record<string, string>>;
  /** Handlers of the files by path. */
  readonly handlers: ReadonlyMap<string, AssetHandler>;
}

async function readReference(): Promise<Reference> {
  const { readReferenceFiles, REFERENCE_HEADERS } = await import('../../web/reference/reference-files.ts');
  const [root] = REFERENCE_PATHS;
  const handlers = readReferenceFiles().map(
    (file) => [file.name === '' ? root : `${root}/${file.name}`, createAssetHandler(file)] as const,
  );
  return { headers: REFERENCE_HEADERS, handlers: new Map(handlers) };
}

/** Sends a body and records its length for the log. */
export function sendBytes(request: FastifyRequest, reply: FastifyReply, bytes: Buffer): FastifyReply {
  request.visit.bytes = request.method === 'HEAD' ? 0 : bytes.length;
  return reply.send(bytes);
}
