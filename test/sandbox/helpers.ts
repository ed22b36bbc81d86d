import { afterAll } from 'vitest';
import { startSandboxWorkspace, type WorkspaceOptions, type WorkspaceSandbox } from '../../schemas/fixtures/start.ts';

/** World time of these tests: an afternoon, so that today already has some responses. */
export const NOW_MS = Date.parse('2026-03-15T15:30:00Z');

// oxlint-disable-next-line typescript/no-explicit-any -- bodies are judged by assertions, not by types
export type Body = any;

/** A response with its complete body. */
export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Body;
}

/** A sandbox and its client. */
export interface Opened {
  readonly sandbox: WorkspaceSandbox;
  get(path: string, query?: Record<string, string | number | boolean>, init?: RequestInit): Promise<Answered>;
  /** Reads all pages of a list and returns the items. */
  walk(path: string, query?: Record<string, string | number | boolean>): Promise<Body[]>;
  /** Ids of the brands. */
  brandIds(): Promise<string[]>;
}

const PAGES_MAX = 5000;

const running = new Set<WorkspaceSandbox>();

afterAll(async () => {
  await Promise.all([...running].map((sandbox) => sandbox.close()));
});

/** Starts a small sandbox without rate limit; closed after the tests of the file. */
export async function open(options: WorkspaceOptions = {}): Promise<Opened> {
  const small = { brands: 2, prompts: 12, days: 20, rateLimit: 'off', clock: () => NOW_MS } as const;
  const sandbox = await startSandboxWorkspace({ ...small, ...options });
  running.add(sandbox);
  const get: Opened['get'] = async (path, query = {}, init = {}) => {
    const search = new URLSearchParams(
      Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
    );
    const url = `${sandbox.baseUrl}${path}${search.size === 0 ? '' : `?${search}`}`;
    const response = await fetch(url, { headers: { authorization: `Bearer ${sandbox.key}` }, ...init });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: parse(text) };
  };
  const walk: Opened['walk'] = async (path, query = {}) => {
    const items: Body[] = [];
    let cursor: string | null = null;
    for (let page = 0; page < PAGES_MAX; page++) {
      const { status, text, body } = await get(path, { ...query, ...(cursor === null ? {} : { cursor }) });
      if (status !== 200) throw new Error(`${path} answered ${status}: ${text}`);
      items.push(...body.data);
      cursor = body.nextCursor;
      if (cursor === null) return items;
    }
    throw new Error(`${path} has more than ${PAGES_MAX} pages`);
  };
  const brandIds = async (): Promise<string[]> => {
    const { body } = await get('/brands');
    return (Array.isArray(body) ? body : body.data).map((brand: Body) => brand.id);
  };
  return { sandbox, get, walk, brandIds };
}

function parse(text: string): Body {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
