import type { Choices } from '../../schemas/fixtures/choices.ts';
import type { WorkspaceSandbox } from '../../schemas/fixtures/start.ts';
import { serve } from '../cli/helpers.ts';
import { startWorldSandbox, type World } from '../support/worlds.ts';

export type Row = Record<string, unknown>;
export type Body = Row & { readonly data?: Row[] };

/** How responses of upstream deviate from those that were synced. */
export interface Alteration {
  /** Requests that are altered; default: all. */
  readonly path?: RegExp;
  /** Choices of the sandbox that answers instead. */
  readonly choices?: Partial<Choices>;
  /** Time that passed at upstream since the sync. */
  readonly laterMs?: number;
  /** Changes the request before the sandbox answers it. */
  rewrite?(query: URLSearchParams): void;
  /** Changes the response, or returns its status. */
  alter?(body: Body, url: URL): Body | number;
}

export type DeviatingUpstream = Awaited<ReturnType<typeof startDeviatingUpstream>>;

/** Starts the upstream of a world behind a proxy that can alter its responses. */
export async function startDeviatingUpstream(world: World) {
  const sandbox = await startWorldSandbox(world);
  let current: { readonly alteration: Alteration; readonly from: WorkspaceSandbox } | null = null;
  const forward = async (path: string) => {
    const asked = new URL(path, sandbox.baseUrl);
    const applies = current !== null && (current.alteration.path?.test(asked.pathname) ?? true) ? current : null;
    const url = new URL(path, (applies?.from ?? sandbox).baseUrl);
    applies?.alteration.rewrite?.(url.searchParams);
    const answer = await fetch(url, { headers: { authorization: `Bearer ${(applies?.from ?? sandbox).key}` } });
    const text = await answer.text();
    const headers = {
      'content-type': 'application/json',
      date: new Date(Date.parse(answer.headers.get('date') ?? '') + (applies?.alteration.laterMs ?? 0)).toUTCString(),
      'x-ratelimit-limit': '10000',
    };
    const alter = applies?.alteration.alter;
    if (alter === undefined || answer.status !== 200) return { status: answer.status, headers, body: text };
    const altered = alter(JSON.parse(text), asked);
    if (typeof altered === 'number') return { status: altered, headers, body: '{"error":{"code":"x","message":"x"}}' };
    return { status: 200, headers, body: JSON.stringify(altered) };
  };
  const proxy = await serve((request, response) => {
    forward(request.url ?? '').then(
      ({ status, headers, body }) => response.writeHead(status, headers).end(body),
      (thrown: unknown) => response.writeHead(500).end(String(thrown)),
    );
  });
  const stopOther = async (): Promise<void> => {
    if (current !== null && current.from !== sandbox) await current.from.close();
    current = null;
  };
  /** Sends a request to the sandbox, whose response is not altered. */
  const ask = async (path: string): Promise<Body> => {
    const headers = { authorization: `Bearer ${sandbox.key}` };
    return (await fetch(`${sandbox.baseUrl}${path}`, { headers })).json() as Promise<Body>;
  };
  return {
    ask,
    baseUrl: `${proxy.origin}/v1`,
    key: sandbox.key,
    /** Alters all further responses; null for none. */
    deviate: async (alteration: Alteration | null) => {
      await stopOther();
      if (alteration === null) return;
      current = {
        alteration,
        from: alteration.choices === undefined ? sandbox : await startWorldSandbox(world, alteration),
      };
    },
    close: async () => {
      await stopOther();
      await proxy.close();
      await sandbox.close();
    },
  };
}
