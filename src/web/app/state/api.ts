/** A request that failed. `code` is `network` if there was no response. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly requestId: string | null;

  constructor(status: number, code: string, message: string, requestId: string | null) {
    super(message);
    this.status = status;
    this.code = code;
    this.requestId = requestId;
  }
}

/** The response of `/data/me`. */
export interface Me {
  readonly access: 'key' | 'loopback' | 'none';
  readonly signedIn: boolean;
  readonly key: { readonly name: string } | null;
  readonly scopes: readonly string[];
  readonly workspace: string | null;
  readonly workspaces: readonly string[] | null;
  readonly csrf: string | null;
  readonly version: string;
  /** Whether the workspace has data; null without a workspace. */
  readonly hasData: boolean | null;
  readonly features: {
    readonly sql: boolean;
    /** Whether the reader may write marks and reports. */
    readonly writing: boolean;
    readonly operations: boolean;
    readonly setup: boolean;
  };
}

/** Parameters of a request. An array is sent as repeated parameters; null and undefined are left out. */
export type Params = Readonly<Record<string, string | number | boolean | readonly string[] | null | undefined>>;

/** Place of a request among those that wait: before the others, in the order of the calls, or after the others because it takes long. */
export type Turn = 'first' | 'next' | 'last';

/** Requests to the server of the pages. Paths begin with a slash and do not include the base path. */
export interface Api {
  /** The base path of the workspace, such as `/w/NAME`; empty for a single workspace. */
  readonly base: string;
  /** Returns JSON. Equal requests under way are shared; the request is aborted when all its callers have aborted. */
  get<T>(path: string, params: Params, signal: AbortSignal, turn?: Turn): Promise<T>;
  /** Returns a result that was fetched in this data version, without a request; null if there is none. */
  peek<T>(path: string, params: Params): T | null;
  /** Sends a request that changes something or runs long. The token against forged requests is added. */
  send(method: string, path: string, body: unknown, options?: SendOptions): Promise<Response>;
  /** Calls `listener` after the data of the server have changed; returns the function that removes the listener. */
  onChange(listener: () => void): () => void;
  /** Forgets fetched results and calls the listeners. */
  changed(): void;
  /** Calls `listener` when the server rejects the session; returns the function that removes the listener. */
  onRefused(listener: () => void): () => void;
  /** Forgets who is signed in and calls the listeners. */
  refused(): void;
  /** Remembers the token against forged requests. */
  setCsrf(token: string | null): void;
}

interface SendOptions {
  readonly accept?: string;
  readonly signal?: AbortSignal;
  /** Further headers, such as conditions. */
  readonly headers?: Readonly<Record<string, string>>;
}

interface Flight {
  readonly controller: AbortController;
  readonly result: Promise<unknown>;
  waiting: number;
}

/** Results kept for the pages that were left. */
const RESULTS_MAX = 200;
/**
 * Requests under way. A browser sends six at once, but then the blocks at the top of a page, which ask first, share the processors
 * of the server with those that are not visible yet.
 */
const PARALLEL_MAX = 3;
const CSRF_HEADER = 'x-sightline-csrf';
const ME = '/data/me';

/** Creates the client of a page. */
export function createApi(base: string, request: typeof fetch = fetch.bind(globalThis)): Api {
  const flights = new Map<string, Flight>();
  const results = new Map<string, unknown>();
  const changes = createListeners();
  const refusals = createListeners();
  const inTurn = createTurns(PARALLEL_MAX);
  let csrf: string | null = null;

  const fetchJson = async (url: string, signal: AbortSignal, turn: Turn): Promise<unknown> => {
    const result = await inTurn(turn, async (): Promise<unknown> => {
      signal.throwIfAborted();
      return (await checked(request(url, { signal, headers: { accept: 'application/json' } }))).json();
    });
    results.delete(url);
    results.set(url, result);
    for (const oldest of [...results.keys()].slice(0, Math.max(0, results.size - RESULTS_MAX))) results.delete(oldest);
    return result;
  };

  const fly = (url: string, turn: Turn): Flight => {
    const known = flights.get(url);
    if (known !== undefined) return known;
    const controller = new AbortController();
    const result = fetchJson(url, controller.signal, turn).finally(() => {
      if (flights.get(url)?.controller === controller) flights.delete(url);
    });
    const flight = { controller, result, waiting: 0 };
    flights.set(url, flight);
    return flight;
  };

  const refused = (): void => {
    results.delete(`${base}${ME}`);
    refusals.call();
  };

  return {
    base,
    async get<T>(path: string, params: Params, signal: AbortSignal, turn: Turn = 'next'): Promise<T> {
      signal.throwIfAborted();
      const url = `${base}${path}${queryOf(params)}`;
      const flight = fly(url, turn);
      flight.waiting += 1;
      const leave = (): void => {
        flight.waiting -= 1;
        if (flight.waiting > 0) return;
        if (flights.get(url) === flight) flights.delete(url);
        flight.controller.abort();
      };
      signal.addEventListener('abort', leave, { once: true });
      try {
        return (await flight.result) as T;
      } catch (error) {
        if (error instanceof ApiError && error.status === 401) refused();
        throw error;
      } finally {
        signal.removeEventListener('abort', leave);
      }
    },
    peek: <T>(path: string, params: Params) => (results.get(`${base}${path}${queryOf(params)}`) ?? null) as T | null,
    send(method, path, body, { accept = 'application/json', signal, headers: more = {} } = {}) {
      const headers: Record<string, string> = { accept, ...more };
      if (body !== null) headers['content-type'] = 'application/json';
      if (csrf !== null) headers[CSRF_HEADER] = csrf;
      const sent = { method, headers, body: body === null ? null : JSON.stringify(body), signal: signal ?? null };
      return checked(request(`${base}${path}`, sent));
    },
    onChange: changes.add,
    changed() {
      results.clear();
      changes.call();
    },
    onRefused: refusals.add,
    refused,
    setCsrf(token) {
      csrf = token;
    },
  };
}

function createListeners(): { add: (listener: () => void) => () => void; call: () => void } {
  const listeners = new Set<() => void>();
  return {
    add: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    call: () => {
      for (const listener of listeners) listener();
    },
  };
}

// Returns a function that runs tasks by their turn, at most `max` at a time.
function createTurns(max: number): <T>(turn: Turn, task: () => Promise<T>) => Promise<T> {
  const waiting: Readonly<Record<Turn, (() => void)[]>> = { first: [], next: [], last: [] };
  let running = 0;
  const startNext = (): void => {
    const start = running < max && (waiting.first.shift() ?? waiting.next.shift() ?? waiting.last.shift());
    if (!start) return;
    running += 1;
    start();
  };
  return async (turn, task) => {
    const started = new Promise<void>((resolve) => waiting[turn].push(resolve));
    // All blocks of a page call in one task. Their requests are ordered before the first is sent.
    queueMicrotask(startNext);
    await started;
    try {
      return await task();
    } finally {
      running -= 1;
      startNext();
    }
  };
}

/** Returns parameters as the query of a URL with its question mark, in the order of their names; empty without any. */
export function queryOf(params: Params): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(params).sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (value === null || value === undefined || value === '') continue;
    for (const each of Array.isArray(value) ? value : [value]) search.append(name, String(each));
  }
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}

/** Returns the path and parameters of a declared query. */
export function queryPath(name: string): string {
  return `/data/queries/${encodeURIComponent(name)}`;
}

async function checked(sent: Promise<Response>): Promise<Response> {
  let response: Response;
  try {
    response = await sent;
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') throw error;
    throw new ApiError(0, 'network', 'The server does not respond. Check that `sightline serve` is running.', null);
  }
  if (response.ok) return response;
  const { error } = (await response.json().catch(() => ({}))) as { error?: Partial<Record<string, string>> };
  throw new ApiError(
    response.status,
    error?.['code'] ?? `http_${response.status}`,
    error?.['message'] ?? `The server responded with status ${response.status}.`,
    error?.['requestId'] ?? null,
  );
}
