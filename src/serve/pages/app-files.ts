import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type { Asset } from '../../web/plain/asset.ts';
import { APP_FILE_PATH, APP_PATHS } from '../http/page-paths.ts';
import { basePathOf, type Handler, openRoute, type Route } from '../http/paths.ts';
import { nothingThere, Refusal } from '../http/refusal.ts';
import { type AssetHandler, createAssetHandler } from './asset-handler.ts';

/** Folder of the built data pages: `index.html`, and files with their hashes in their names. */
export const APP_FOLDER = new URL(
  // Sources that were not built use the built pages, because a browser cannot run TypeScript.
  import.meta.url.endsWith('.ts') ? '../../../dist/src/web/app/' : '../../web/app/',
  import.meta.url,
);

/** A file's name contains its hash, so it can be cached for 365 days, the customary maximum. */
const IMMUTABLE = 'public, max-age=31536000, immutable';

/** Maximum number of cached documents, one for each prefix. */
const DOCUMENTS_MAX = 1_000;

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  png: 'image/png',
  svg: 'image/svg+xml; charset=utf-8',
  woff2: 'font/woff2',
};

/** The data pages. */
export interface App {
  readonly routes: readonly Route[];
  /** Returns the document of the pages, with which a browser also shows that an address has no page. */
  document(request: Parameters<typeof basePathOf>[0]): Promise<Asset>;
}

/**
 * Creates the routes of the data pages, which need no key. All paths return the same document, which names the prefix of its workspace, if
 * the address has one, so that the browser adds it to every address. The files are read on first use.
 */
export function createApp(folder: URL = APP_FOLDER): App {
  const text = once(() => readDocument(folder));
  const documents = new Map<string, AssetHandler>();
  const documentOf = async (base: string): Promise<AssetHandler> => {
    const document = documents.get(base) ?? createAssetHandler(withBase(await text(), base));
    const [oldest] = documents.size >= DOCUMENTS_MAX ? documents.keys() : [];
    if (oldest !== undefined) documents.delete(oldest);
    documents.set(base, document);
    return document;
  };
  const names = once(async () => new Set((await readdir(new URL('assets/', folder))).filter(hasMediaType)));
  const handlers = new Map<string, Promise<AssetHandler>>();
  const open = async (name: string): Promise<AssetHandler> => {
    const path = new URL(`assets/${name}`, folder);
    return createAssetHandler(assetOf(name, await readFile(path)), IMMUTABLE);
  };
  const document: Handler = async (request, reply) =>
    (await documentOf(basePathOf(request)).catch(notBuilt))(request, reply);
  const file: Handler = async (request, reply) => {
    const { file: name = '' } = request.params as Record<string, string>;
    if (!(await names().catch(notBuilt)).has(name)) throw nothingThere();
    const handler = handlers.get(name) ?? open(name);
    handlers.set(name, handler);
    return (await handler)(request, reply);
  };
  const route = (path: string, handler: Handler): Route => ({ ...openRoute(path, handler), isPage: true });
  return {
    routes: [...APP_PATHS.map((path) => route(path, document)), route(APP_FILE_PATH, file)],
    document: async (request) => withBase(await text(), basePathOf(request)),
  };
}

async function readDocument(folder: URL): Promise<string> {
  const text = await readFile(new URL('index.html', folder), 'utf8');
  // Relative addresses would depend on the path of the page.
  return text.replaceAll(/\b(src|href)="(?:\.?\/)?assets\//g, '$1="/assets/');
}

function withBase(text: string, base: string): Asset {
  const html = text.replace(/(<meta name="sightline-base" content=")[^"]*/, `$1${base}`);
  return assetOf('index.html', Buffer.from(html), 'text/html; charset=utf-8');
}

function assetOf(name: string, bytes: Buffer, mediaType = MEDIA_TYPES[endingOf(name)] as string): Asset {
  return { name, mediaType, bytes, version: createHash('sha256').update(bytes).digest('hex').slice(0, 32) };
}

function hasMediaType(name: string): boolean {
  return MEDIA_TYPES[endingOf(name)] !== undefined;
}

function endingOf(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}

// The error is sent to the browser, so it must not contain the path.
function notBuilt(thrown: unknown): never {
  if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') throw thrown;
  throw new Refusal('not_found', 'The data pages are not built: run `npm run build` in the folder of sightline.');
}

// Keeps the first result. After an error the next call tries again.
function once<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | null = null;
  return () => {
    reading ??= read().catch((thrown: unknown) => {
      reading = null;
      throw thrown;
    });
    return reading;
  };
}
