import type { WorkspaceSandbox } from '../../schemas/fixtures/start.ts';
import { type Exchange, openLiar } from '../hostile/liar.ts';
import { startWorldSandbox } from '../support/worlds.ts';
import { type Json, type JsonObject, toJsonText } from './exact-json.ts';
import { makeItems, operationOf, pathParametersOf, type Shape } from './shape.ts';

/** One list of an endpoint: a concrete path, and the value of the required parameter if there is one. */
export interface UpstreamList {
  readonly shape: Shape;
  /** Path below the base URL with the ids of the parents. */
  readonly path: string;
  readonly brandId: string | null;
  /** The required parameter and its value. */
  readonly query: Readonly<Record<string, string>>;
  /** The current items, which tests may replace; null if the endpoint answers 404. */
  items: Json[] | null;
}

/** A request that reached the upstream. */
export type UpstreamRequest = Pick<Exchange, 'path' | 'target'> & { readonly query: string };

/** A sandbox of the specified API with additional endpoints. */
export interface Upstream {
  readonly sandbox: WorkspaceSandbox;
  readonly baseUrl: string;
  /** Requests to paths that the sandbox does not have, in order of arrival. */
  readonly requests: UpstreamRequest[];
  /** All present lists of an endpoint. */
  lists(shape: Shape): UpstreamList[];
  close(): Promise<void>;
}

/** Settings of the upstream. */
export interface UpstreamOptions {
  readonly shapes: readonly Shape[];
  readonly nowMs: number;
  /** Number of brands, each with little data; default: 1. */
  readonly brands?: number;
  /** Changes the text of the OpenAPI document before it is sent. */
  readonly alterDocument?: (document: JsonObject) => string;
  /** Answers requests to other paths; returns null for those it does not know. */
  readonly others?: (path: string, query: URLSearchParams) => Reply | null;
  /** Called before each request to an additional endpoint is answered. */
  readonly onRequest?: (request: UpstreamRequest) => void;
}

/** A response of the upstream. */
interface Reply {
  readonly status: number;
  readonly body: Json;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Starts the upstream on a free port of the loopback interface. */
export async function startUpstream(options: UpstreamOptions): Promise<Upstream> {
  const { shapes, nowMs, brands = 1, onRequest = () => undefined } = options;
  const sandbox = await startWorldSandbox('tiny', { brands, prompts: 1, days: 1, clock: () => nowMs });
  const store = createStore(shapes, sandbox, nowMs);
  const requests: UpstreamRequest[] = [];
  const { baseUrl, tell, close: closeProxy } = await openLiar(sandbox.baseUrl);
  const answer = (exchange: Exchange): void => {
    const { path, query, target } = exchange;
    const send = (status: number, text: string, headers: Readonly<Record<string, string>> = {}): void => {
      Object.assign(exchange, { status, body: Buffer.from(text) });
      for (const [name, value] of Object.entries(headers)) exchange.headers[name.toLowerCase()] = value;
    };
    if (path === '/openapi.json') {
      const merged = mergeDocument(JSON.parse(exchange.body.toString()) as JsonObject, shapes, baseUrl);
      send(200, (options.alterDocument ?? toJsonText)(merged));
      return;
    }
    // The sandbox rejects a wrong key before it looks at the path.
    if (exchange.status !== 404) return;
    const seen = { path, query: query.size === 0 ? '' : `?${query}`, target };
    requests.push(seen);
    const list = store.find(path, query);
    const other = list === undefined ? options.others?.(path, query) : undefined;
    if (list === undefined && (other === null || other === undefined)) return;
    try {
      onRequest(seen);
      const reply = other ?? replyOf(list as Found, query, nowMs);
      send(reply.status, toJsonText(reply.body), reply.headers);
    } catch {
      // Ends the connection without a response.
      exchange.raw = Buffer.alloc(0);
    }
  };
  tell(answer);
  const close = async (): Promise<void> => {
    await closeProxy();
    await sandbox.close();
  };
  return { sandbox, baseUrl, requests, lists: store.lists, close };
}

interface Found {
  readonly shape: Shape;
  /** The list; undefined if a required parameter is missing or not allowed. */
  readonly list: UpstreamList | undefined;
}

/** The lists of all endpoints, made when they are first used. */
interface Store {
  lists(shape: Shape): UpstreamList[];
  find(path: string, query: URLSearchParams): Found | undefined;
}

function createStore(shapes: readonly Shape[], sandbox: WorkspaceSandbox, nowMs: number): Store {
  const known = new Map<string, UpstreamList>();
  const brands = sandbox.world.brands.map(({ id }) => id);

  // The values of the path parameters of every list of an endpoint.
  const parentsOf = (shape: Shape): string[][] => {
    const names = pathParametersOf(shape);
    if (names.length === 0) return [[]];
    if (names.length === 1) return brands.map((id) => [id]);
    const outerPath = shape.path.slice(0, shape.path.lastIndexOf('/{'));
    const outer = shapes.find(({ path }) => path === outerPath);
    if (outer === undefined) throw new Error(`no endpoint ${outerPath}`);
    return parentsOf(outer).flatMap((parent) => {
      const { items } = listOf(outer, parent, 0, '');
      return (items ?? []).map((item) => [...parent, idOf(item as JsonObject)]);
    });
  };
  const listOf = (shape: Shape, parent: readonly string[], parentIndex: number, variant: string): UpstreamList => {
    let place = 0;
    const path = shape.path.replace(/\{\w+\}/g, () => parent[place++] ?? '');
    const key = `${path}?${variant}`;
    const present = known.get(key);
    if (present !== undefined) return present;
    const query: Record<string, string> = shape.variants === undefined ? {} : { [shape.variants.parameter]: variant };
    const items = makeItems(shape, { parent, parentIndex, variant, nowMs });
    const made = { shape, path, brandId: shape.path.startsWith('/brands/') ? (parent[0] ?? null) : null, query, items };
    known.set(key, made);
    return made;
  };
  const lists = (shape: Shape): UpstreamList[] =>
    parentsOf(shape).flatMap((parent, index) =>
      (shape.variants?.values ?? ['']).map((variant) => listOf(shape, parent, index, variant)),
    );
  const find = (path: string, query: URLSearchParams): Found | undefined => {
    const shape = shapes.find(({ path: pattern }) =>
      new RegExp(`^${pattern.replace(/\{\w+\}/g, '[^/]+')}$`).test(path),
    );
    if (shape === undefined) return undefined;
    const wanted = shape.variants === undefined ? '' : query.get(shape.variants.parameter);
    const list = lists(shape).find(
      (one) => one.path === path && Object.values(one.query).every((value) => value === wanted),
    );
    return { shape, list };
  };
  return { lists, find };
}

function idOf(item: JsonObject): string {
  return String(item['id'] ?? item['adGroupId']);
}

function errorOf(status: number, code: string): Reply {
  return { status, body: { error: { code, message: code, requestId: '00000000-0000-4000-8000-000000000000' } } };
}

function replyOf({ shape, list }: Found, query: URLSearchParams, nowMs: number): Reply {
  if (shape.variants !== undefined && !shape.variants.values.includes(query.get(shape.variants.parameter) ?? '')) {
    return errorOf(400, 'invalid_parameter');
  }
  if (list === undefined || list.items === null) return errorOf(404, 'not_found');
  const inRange = shape.isRange === true ? itemsInRange(list.items, query, nowMs) : list.items;
  const chosen = inRange.filter((item) =>
    (shape.filters ?? []).every((name) => !query.has(name) || (item as JsonObject)[name] === query.get(name)),
  );
  const part = shape.paging.cut(chosen, query);
  return { status: 200, body: shape.envelope.wrap(part) };
}

function itemsInRange(items: readonly Json[], query: URLSearchParams, nowMs: number): Json[] {
  const to = query.get('to') ?? new Date(nowMs).toISOString().slice(0, 10);
  const from = query.get('from') ?? new Date(Date.parse(to) - 29 * 86_400_000).toISOString().slice(0, 10);
  return items.filter((item) => {
    const day = String((item as JsonObject)['date']);
    return from <= day && day <= to;
  });
}

function mergeDocument(document: JsonObject, shapes: readonly Shape[], baseUrl: string): JsonObject {
  const { paths, components } = document as { paths: JsonObject; components: JsonObject };
  return {
    ...document,
    servers: [{ url: baseUrl }],
    paths: { ...paths, ...Object.fromEntries(shapes.map((shape) => [shape.path, { get: operationOf(shape) }])) },
    components: {
      ...components,
      schemas: {
        ...(components['schemas'] as JsonObject),
        ...Object.assign({}, ...shapes.map((shape) => shape.components ?? {})),
      },
    },
  };
}
