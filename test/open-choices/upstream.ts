import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { WorkspaceSandbox } from '../../schemas/fixtures/start.ts';
import { toDay } from '../../src/sandbox/days.ts';
import { startStillSandbox } from '../support/still-sandbox.ts';
import type { Choices } from './choices.ts';
import { inListOrder, withEqualTimes, writeBody } from './forms.ts';

/** A response. */
export interface Reply {
  readonly status: number;
  readonly body: unknown;
}

/** A sandbox behind a server that writes its responses in other forms. */
export interface Upstream {
  readonly baseUrl: string;
  readonly sandbox: WorkspaceSandbox;
  /** Answers a request. */
  ask(path: string): Promise<Reply>;
  /** Requests of others that were not answered with 200. */
  readonly rejected: readonly string[];
  close(): Promise<void>;
}

type Answer = Reply & { readonly headers: Headers };

export const PAGED = /\/(responses|alerts|forum\/opportunities)$/;
const LIMIT = 25;
const LIMIT_MAX = 100;

/** Starts an upstream that makes the given choices. */
export async function startUpstream(
  { world, forms }: Choices,
  options: { readonly seed: number; readonly brands: number; readonly prompts: number; readonly days: number },
  nowMs: number,
): Promise<Upstream> {
  const sandbox = await startStillSandbox({ ...options, responsesPerDay: options.prompts, choices: world }, nowMs);
  sandbox.world.advance({ deletedPrompts: 1, deletedCompetitors: 1 });
  const get = async (url: URL): Promise<Answer> => {
    const response = await fetch(url, { headers: { authorization: `Bearer ${sandbox.key}` } });
    return { status: response.status, body: await response.json(), headers: response.headers };
  };
  const answer = async (path: string): Promise<Answer> => {
    const url = new URL(`${sandbox.baseUrl}${path}`);
    const query = new URLSearchParams(url.search);
    const endpoint = url.pathname.replace(/^\/v1\/(brands\/[^/]+\/)?/, '');
    const found = PAGED.test(url.pathname) ? await readPage(url, endpoint) : await get(url);
    if (found.status !== 200) return found;
    return { ...found, body: writeBody({ endpoint, query, today: toDay(nowMs), body: found.body }, world, forms) };
  };
  // Pages are cut from the whole list in the order of the upstream. A cursor is an offset.
  const readPage = async (url: URL, endpoint: string): Promise<Answer> => {
    const [limit, offset] = [Number(url.searchParams.get('limit') ?? LIMIT), Number(url.searchParams.get('cursor'))];
    const first = await get(url);
    if (first.status !== 200 && offset === 0) return first;
    url.searchParams.set('limit', String(LIMIT_MAX));
    url.searchParams.delete('cursor');
    const items: unknown[] = [];
    for (let cursor: unknown = ''; cursor !== null;) {
      if (cursor !== '') url.searchParams.set('cursor', String(cursor));
      const { body } = (await get(url)) as unknown as { body: { data: unknown[]; nextCursor: string | null } };
      items.push(...body.data);
      cursor = body.nextCursor;
    }
    const data = inListOrder(endpoint, withEqualTimes(endpoint, items, world), forms).slice(offset, offset + limit);
    const nextCursor = offset + limit < items.length ? String(offset + limit) : null;
    return { status: 200, headers: first.headers, body: { data, nextCursor } };
  };
  const rejected: string[] = [];
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = (request.url ?? '').replace(/^\/v1/, '');
    const { status, body, headers } = await answer(path);
    if (status !== 200) rejected.push(path);
    const names = ['content-type', 'date', 'x-ratelimit-limit', 'x-ratelimit-remaining', 'retry-after'];
    const passed = names.flatMap((name) => (headers.get(name) === null ? [] : [[name, headers.get(name) as string]]));
    response.sendDate = false;
    response.writeHead(status, Object.fromEntries(passed)).end(JSON.stringify(body));
  };
  const server = createServer((request, response) => {
    receive(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await sandbox.close();
  };
  return { baseUrl: `http://127.0.0.1:${port}/v1`, sandbox, ask: answer, rejected, close };
}
