import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Scope } from '../../workspace/stored-keys.ts';

/** Base path of the API. */
export const BASE_PATH = '/v1';

/** Paths served besides the resources. */
export const OPENAPI_PATH = `${BASE_PATH}/openapi.json`;
export const MCP_PATH = `${BASE_PATH}/mcp`;

/** Paths of the reference for people: the page, with and without a slash, the list of errors, and all of its files. */
const REFERENCE_PATH = `${BASE_PATH}/docs`;
export const ERRORS_PATH = `${REFERENCE_PATH}/errors`;
export const REFERENCE_PATHS = [
  REFERENCE_PATH,
  `${REFERENCE_PATH}/`,
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

/** Methods of routes that change nothing. */
export const READ = ['GET', 'HEAD'] as const;

/** Rights that an endpoint requires. */
export interface RequiredRights {
  /** The request needs at least one of these scopes; default: none. */
  readonly scopes?: readonly Scope[];
  /** Whether keys that are limited to brands are rejected, because the data of all brands are sent. */
  readonly forAllBrands?: true;
  /** Whether keys and their sessions are rejected: only a session of a sign-in link, or loopback, is the owner of the folder. */
  readonly forOwner?: true;
}

/** Rights to write marks and reports, which all readers of a workspace see: as for saved queries. */
export const WRITING: RequiredRights = { scopes: ['sql'], forAllBrands: true };

/** A served path, with parameters in braces, its methods, and whether it is open without a key. */
export interface Endpoint extends RequiredRights {
  readonly path: string;
  readonly methods: readonly string[];
  readonly isOpen: boolean;
  /** Set for pages and their data: not available to other sites' pages, and not counted against the key's rate limit. */
  readonly isPage?: true;
}

/** Handles an admitted request. */
export type Handler = (request: FastifyRequest, reply: FastifyReply) => unknown;

/** An endpoint and its handler. */
export interface Route extends Endpoint {
  readonly handler: Handler;
  /** Maximum size of a request's body; default: the limit of the server. */
  readonly bodyBytesMax?: number;
}

/** Returns a route that is open without a key. */
export function openRoute(path: string, handler: Handler): Route {
  return { path, methods: READ, isOpen: true, handler };
}

/** Creates a function that finds the endpoint of a path as sent by a client, for any method. All endpoints must exist at its first call. */
export function createFinder(endpoints: readonly Endpoint[]): (path: string) => Endpoint | undefined {
  let patterns: readonly { readonly endpoint: Endpoint; readonly pattern: RegExp }[] | null = null;
  return (path) => {
    patterns ??= endpoints.map((endpoint) => {
      const text = endpoint.path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+');
      return { endpoint, pattern: new RegExp(`^${text}$`) };
    });
    return patterns.find(({ pattern }) => pattern.test(path))?.endpoint;
  };
}

/** Prefix of the addresses of a workspace, if a server has several. */
const WORKSPACE_PREFIX = /^\/w\/([a-z0-9][a-z0-9_-]{0,63})(?=[/?]|$)/;

/** Splits the prefix that names a workspace from a URL; `workspace` is null without one, and `rest` begins with a slash. */
export function splitWorkspace(url: string): { readonly workspace: string | null; readonly rest: string } {
  const [prefix = '', workspace] = WORKSPACE_PREFIX.exec(url) ?? [];
  if (workspace === undefined) return { workspace: null, rest: url };
  const rest = url.slice(prefix.length);
  return { workspace, rest: rest.startsWith('/') ? rest : `/${rest}` };
}

/** Returns the prefix with which a client named the workspace, such as `/w/acme`; empty without one. */
export function basePathOf({ originalUrl }: { readonly originalUrl: string }): string {
  const { workspace } = splitWorkspace(toReadableUrl(originalUrl));
  return workspace === null ? '' : `/w/${workspace}`;
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
