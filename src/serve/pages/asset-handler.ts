import { basename } from 'node:path';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Asset } from '../../web/plain/asset.ts';
import { entityTag } from '../http/content/etag.ts';
import type { Encoding } from '../http/content/negotiation.ts';
import { sendEncoded } from '../http/content/send.ts';
import { REFERENCE_PATHS } from '../http/paths.ts';

/** Handles a request for a file of a page. */
export type AssetHandler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** Creates the handler of a file, which is compressed once per encoding. By default browsers ask for changes on each use. */
export function createAssetHandler({ bytes, mediaType, version }: Asset, cacheControl = 'no-cache'): AssetHandler {
  const packed = new Map<Encoding, Buffer>();
  const tagOf = (encoding: Encoding): string => entityTag(version, 'page', encoding);
  const file = { mediaType, cacheControl, length: bytes.length, tagOf, read: () => bytes, packed };
  return (request, reply) => sendEncoded(request, reply, file);
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
