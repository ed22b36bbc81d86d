import type { Catalogue } from '../../contract/catalogue.ts';

/** Base path of the API. */
export const BASE_PATH = '/v1';

/** Paths served besides the resources. */
export const OPENAPI_PATH = `${BASE_PATH}/openapi.json`;
export const MCP_PATH = `${BASE_PATH}/mcp`;

/** Paths of the reference for people: the page, the list of errors, and all of its files. */
const REFERENCE_PATH = `${BASE_PATH}/docs`;
export const ERRORS_PATH = `${REFERENCE_PATH}/errors`;
export const REFERENCE_PATHS = [
  REFERENCE_PATH,
  ERRORS_PATH,
  ...['page.css', 'page.js', 'renderer.js'].map((name) => `${REFERENCE_PATH}/${name}`),
] as const;

export const LIVE_PATH = '/livez';
export const READY_PATH = '/readyz';

/** Base path of the published snapshots, and the paths below it. */
export const SNAPSHOTS_PATH = '/snapshots';
export const SNAPSHOT_MANIFEST_PATH = `${SNAPSHOTS_PATH}/{id}/manifest.json`;
export const SNAPSHOT_FILE_PATHS = [
  `${SNAPSHOTS_PATH}/{id}/{table}/{file}`,
  `${SNAPSHOTS_PATH}/{id}/{table}/{month}/{file}`,
] as const;

/** Paths of the status page: the page, its files, and its data. */
export const PAGE_PATH = '/';
export const STATUS_PATH = '/status';
export const STATUS_PATHS = {
  access: `${STATUS_PATH}/access`,
  data: `${STATUS_PATH}/data`,
  chart: `${STATUS_PATH}/chart`,
  events: `${STATUS_PATH}/events`,
} as const;

const READ = ['GET', 'HEAD'] as const;

/** A served path, with parameters in braces, its methods, and whether it is open without a key. */
export interface Endpoint {
  readonly path: string;
  readonly methods: readonly string[];
  readonly isOpen: boolean;
  /** Set for the status page: not available to other sites' pages, and not counted against the key's rate limit. */
  readonly isPage?: true;
}

/** Returns the endpoints of the status page; `assets` are the paths of its files. */
export function pageEndpoints(assets: readonly string[]): Endpoint[] {
  const { access, data, chart, events } = STATUS_PATHS;
  const open = [...assets, access].map((path) => ({ path, methods: READ, isOpen: true, isPage: true }) as const);
  const closed = [data, chart].map((path) => ({ path, methods: READ, isOpen: false, isPage: true }) as const);
  return [...open, ...closed, { path: events, methods: ['GET'], isOpen: false, isPage: true }];
}

/** Returns whether a path belongs to the status page or is below it. */
export function isPagePath(path: string): boolean {
  return path === PAGE_PATH || path === STATUS_PATH || path.startsWith(`${STATUS_PATH}/`);
}

/** Returns endpoints that are open without a key. */
export function openEndpoints(paths: readonly string[]): Endpoint[] {
  return paths.map((path) => ({ path, methods: READ, isOpen: true }));
}

/** Returns all endpoints except those of the status page and of OAuth. */
export function endpointsOf(catalogue: Catalogue): Endpoint[] {
  return [
    ...catalogue.resources.map(({ path }) => ({ path: `${BASE_PATH}${path}`, methods: READ, isOpen: false })),
    { path: OPENAPI_PATH, methods: READ, isOpen: true },
    ...REFERENCE_PATHS.map((path) => ({ path, methods: READ, isOpen: true })),
    { path: MCP_PATH, methods: ['POST', 'GET', 'DELETE'], isOpen: false },
    ...[SNAPSHOTS_PATH, SNAPSHOT_MANIFEST_PATH, ...SNAPSHOT_FILE_PATHS].map((path) => {
      return { path, methods: READ, isOpen: false };
    }),
    { path: LIVE_PATH, methods: READ, isOpen: true },
    { path: READY_PATH, methods: READ, isOpen: true },
  ];
}

/** Creates a function that finds the endpoint of a path as sent by a client, for any method. */
export function createFinder(endpoints: readonly Endpoint[]): (path: string) => Endpoint | undefined {
  const patterns = endpoints.map((endpoint) => {
    const text = endpoint.path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+');
    return { endpoint, pattern: new RegExp(`^${text}$`) };
  });
  return (path) => patterns.find(({ pattern }) => pattern.test(path))?.endpoint;
}

/** Converts path parameters from braces to Fastify's notation. */
export function toFastifyPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

/**
 * Returns the URL with a decodable path: a percent sign that does not begin valid UTF-8 is escaped, and an absolute URL
 * is reduced to its path.
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

/** Splits a URL into path and query, without the question mark. */
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
