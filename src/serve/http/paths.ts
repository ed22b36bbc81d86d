import type { Catalogue } from '../../contract/catalogue.ts';

/** The path under which the API is served. */
export const BASE_PATH = '/v1';

/** What is served beside the resources. */
export const OPENAPI_PATH = `${BASE_PATH}/openapi.json`;
export const MCP_PATH = `${BASE_PATH}/mcp`;
export const LIVE_PATH = '/livez';
export const READY_PATH = '/readyz';

/** The path under which published snapshots are served, and what is there. */
export const SNAPSHOTS_PATH = '/snapshots';
export const SNAPSHOT_MANIFEST_PATH = `${SNAPSHOTS_PATH}/{id}/manifest.json`;
export const SNAPSHOT_FILE_PATHS = [
  `${SNAPSHOTS_PATH}/{id}/{table}/{file}`,
  `${SNAPSHOTS_PATH}/{id}/{table}/{month}/{file}`,
] as const;

/** The paths of the status page: the page itself, what it is made of, and what it asks for. */
export const PAGE_PATH = '/';
export const STATUS_PATH = '/status';
export const STATUS_PATHS = {
  access: `${STATUS_PATH}/access`,
  data: `${STATUS_PATH}/data`,
  chart: `${STATUS_PATH}/chart`,
  events: `${STATUS_PATH}/events`,
} as const;

const READ = ['GET', 'HEAD'] as const;

/** Something that is served: its path, parameters in braces, the methods it takes, and whether it wants a key. */
export interface Endpoint {
  readonly path: string;
  readonly methods: readonly string[];
  readonly isOpen: boolean;
  /** Of the status page: never for other sites' pages, and not counted among the requests of a key. */
  readonly isPage?: true;
}

/** What the status page is served by; `assets` are the paths of its files. */
export function pageEndpoints(assets: readonly string[]): Endpoint[] {
  const { access, data, chart, events } = STATUS_PATHS;
  const open = [...assets, access].map((path) => ({ path, methods: READ, isOpen: true, isPage: true }) as const);
  const closed = [data, chart].map((path) => ({ path, methods: READ, isOpen: false, isPage: true }) as const);
  return [...open, ...closed, { path: events, methods: ['GET'], isOpen: false, isPage: true }];
}

/** Whether a path is one of the status page's, or looks like one. */
export function isPagePath(path: string): boolean {
  return path === PAGE_PATH || path === STATUS_PATH || path.startsWith(`${STATUS_PATH}/`);
}

/** Everything that is served beside the status page. */
export function endpointsOf(catalogue: Catalogue): Endpoint[] {
  return [
    ...catalogue.resources.map(({ path }) => ({ path: `${BASE_PATH}${path}`, methods: READ, isOpen: false })),
    { path: OPENAPI_PATH, methods: READ, isOpen: true },
    { path: MCP_PATH, methods: ['POST', 'GET', 'DELETE'], isOpen: false },
    ...[SNAPSHOTS_PATH, SNAPSHOT_MANIFEST_PATH, ...SNAPSHOT_FILE_PATHS].map((path) => {
      return { path, methods: READ, isOpen: false };
    }),
    { path: LIVE_PATH, methods: READ, isOpen: true },
    { path: READY_PATH, methods: READ, isOpen: true },
  ];
}

/** Finds the endpoint at a path as a client wrote it, whichever method it takes. */
export function createFinder(endpoints: readonly Endpoint[]): (path: string) => Endpoint | undefined {
  const patterns = endpoints.map((endpoint) => {
    const text = endpoint.path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+');
    return { endpoint, pattern: new RegExp(`^${text}$`) };
  });
  return (path) => patterns.find(({ pattern }) => pattern.test(path))?.endpoint;
}

/** A path with parameters in braces, as Fastify writes them. */
export function toFastifyPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

/**
 * The address with its path written so that it can be decoded: a percent sign that begins no UTF-8 stands for itself,
 * and an address in absolute form is cut down to its path.
 */
export function toReadableUrl(url: string): string {
  if (url.startsWith('/') && !url.includes('%')) return url;
  const relative = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?#]*/i, '');
  const [path, query] = splitUrl(relative);
  if (!path.includes('%')) return relative;
  const readable = path
    .split('/')
    .map((segment) => (isDecodable(segment) ? segment : segment.replaceAll('%', '%25')))
    .join('/');
  return query === '' ? readable : `${readable}?${query}`;
}

/** An address as path and query, without the question mark between them. */
export function splitUrl(url: string): [path: string, query: string] {
  const at = url.indexOf('?');
  return at < 0 ? [url, ''] : [url.slice(0, at), url.slice(at + 1)];
}

function isDecodable(segment: string): boolean {
  try {
    decodeURIComponent(segment);
    return true;
  } catch {
    return false;
  }
}
