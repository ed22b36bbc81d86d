import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { onTestFinished } from 'vitest';
import type { Clock } from '../../../src/base/clock.ts';
import { type Conventions, defaultConventions } from '../../../src/metrics/calibration/conventions.ts';
import { createService } from '../../../src/read/create-service.ts';
import type { Question, Service } from '../../../src/read/service.ts';
import { createKey, openKeyring } from '../../../src/serve/auth/keys.ts';
import type { OAuth } from '../../../src/serve/auth/oauth/oauth.ts';
import type { HttpLimits } from '../../../src/serve/http/http-limits.ts';
import { type ServerOptions, startServer } from '../../../src/serve/http/http-server.ts';
import type { SiteParts, SiteSurroundings } from '../../../src/serve/http/site.ts';
import { REPLICA_OPTIONS } from '../../../src/warehouse/replica.ts';
import { builtInCatalogue as catalogue } from '../../../src/workspace/catalogues.ts';
import { until } from '../../cli/helpers.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { originalOf, type World } from '../../support/worlds.ts';
import { OPEN_OPTIONS } from '../fleet-server.ts';
import { type CloseLater, readWorkspace, sharedBefore, stillClock, type WorldWorkspace } from '../served-world.ts';

/** A server with one key. */
export type TestServer = Awaited<ReturnType<typeof startTestServer>>;

/** Options of a test server. */
export interface TestServerOptions extends Partial<Omit<ServerOptions, 'limits'>> {
  readonly limits?: Partial<HttpLimits>;
  /** Default: the time of worlds. */
  readonly clock?: Clock;
  /** Folder of the keys, to start a server again; default: a new one. */
  readonly folder?: string;
  /** The calibration; default: the default conventions. */
  readonly conventions?: () => Conventions;
  /** Folder of published snapshots. */
  readonly snapshots?: string;
  readonly oauth?: OAuth;
  /** Dependencies of the pages; default: no pages. */
  readonly pages?: Pick<SiteParts, 'status'> & Partial<Pick<SiteSurroundings, 'app'>>;
  /** Wraps the query layer, for example to delay responses. */
  readonly around?: (service: Service) => Service;
}

/** A server over a world's replica, and what the world contains. */
type WorldServer = TestServer & WorldWorkspace;

/** Starts a server over the replica of a world before the tests of a file; returns a function that returns it. */
export function serverBefore(options: TestServerOptions = {}, world: World = 'tiny'): () => WorldServer {
  return sharedBefore(async (closeLater) => {
    const workspace = await readWorkspace(await originalOf(world));
    return { ...workspace, ...(await startTestServer(workspace.copy, options, closeLater)) };
  });
}

/** Starts a server without data before the tests of a file; returns a function that returns it. */
export function emptyServerBefore(options: TestServerOptions = {}): () => TestServer {
  return sharedBefore((closeLater) => startTestServer(NO_REPLICA, options, closeLater));
}

/** Starts a server over a replica that may not exist; closed after the test. */
export function openServer(copy: string, options: TestServerOptions = {}): Promise<TestServer> {
  return startTestServer(copy, options, onTestFinished);
}

/** Name of the workspace of test servers. */
export const WORKSPACE = 'acme';

/** Status of a server without jobs, for its pages. */
export const PAGE_STATUS = {
  access: 'key',
  workspace: WORKSPACE,
  folder: '/nowhere',
  runsJobs: false,
  reportedLimit: async () => null,
  destinations: async () => [],
  jobs: async () => [],
} as const;

/** Path at which there is no replica. */
export const NO_REPLICA = '/nowhere/analytics.duckdb';

/** Starts a server over a replica that may not exist. */
export async function startTestServer(copy: string, options: TestServerOptions, closeLater: CloseLater) {
  const { clock = stillClock, around = (service: Service) => service, snapshots, oauth, pages, ...others } = options;
  const { folder = await temporaryFolder(closeLater), conventions = () => defaultConventions, ...given } = others;
  const { key, text } = await createKey(folder, 'test', null, clock.now());
  const service = around(
    createService({
      catalogue,
      path: copy,
      clock,
      cursorSecret: randomBytes(32),
      replica: REPLICA_OPTIONS,
      readConventions: async () => conventions(),
    }),
  );
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  const { app, ...page } = pages ?? {};
  const keyring = openKeyring(folder);
  const parts = { service, keyring, ...(snapshots === undefined ? {} : { snapshots }), ...page };
  const server = await startServer(
    {
      clock,
      log: write,
      workspaces: WORKSPACE,
      open: async () => ({ parts, close: async () => undefined }),
      version: () => '',
      ...(oauth === undefined ? {} : { oauth }),
      ...(app === undefined ? {} : { app }),
    },
    { ...OPEN_OPTIONS, rateLimit: 1_000_000, ...given },
  );
  closeLater(async () => {
    await server.close();
    await service.close();
  });
  const { origin, port } = new URL(server.baseUrl);
  return {
    ...{ ...server, origin, port: Number(port), service },
    /** Folder of its keys. */
    folder,
    ...{ key: text, keyId: key.id },
    /** Sends a request below /v1, with the key unless other headers are given. */
    get: (path: string, init: RequestInit = {}): Promise<Response> =>
      fetch(`${server.baseUrl}${path}`, { ...init, headers: { 'x-api-key': text, ...init.headers } }),
    /** Sends a request with the key on a connection of its own; `target` is not normalized. */
    raw: async (target: string, headers: Readonly<Record<string, string>> = {}, method = 'GET') => {
      const all = { Authorization: `Bearer ${text}`, ...headers };
      return readRaw(await sendRaw(Number(port), requestText(method, target, all)));
    },
    /** Returns the log lines since the last call, parsed. */
    log: async () => {
      // A log line is written in the event loop turn after the end of its request.
      await new Promise((resolve) => setTimeout(resolve, 20));
      const taken = lines.splice(0).join('').split('\n');
      return taken.filter((line) => line !== '').map((line) => JSON.parse(line) as Record<string, unknown>);
    },
  };
}

/** Reads a list page by page as JSON; `path` has a question mark. */
export async function pagedItems(server: Pick<TestServer, 'get'>, path: string): Promise<Record<string, unknown>[]> {
  const items: Record<string, unknown>[] = [];
  let cursor: string | null = null;
  do {
    const more: string = cursor === null ? '' : `&cursor=${cursor}`;
    const page = (await (await server.get(`${path}&limit=100${more}`)).json()) as {
      data: Record<string, unknown>[];
      nextCursor: string | null;
    };
    items.push(...page.data);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return items;
}

/** Creates an open gate before the real query layer, whose responses wait while it is shut; `seen` counts what was asked. */
export function createGate() {
  const seen = { asked: 0, aborted: 0 };
  let opened: Promise<void> = Promise.resolve();
  let open = (): void => undefined;
  const around = (service: Service): Service => ({
    ...service,
    ask: async (...given): Promise<Question> => {
      const question = await service.ask(...given);
      const answer: Question['answer'] = async (signal) => {
        seen.asked += 1;
        signal?.addEventListener('abort', () => {
          seen.aborted += 1;
        });
        await opened;
        return question.answer(signal);
      };
      return { ...question, answer };
    },
  });
  const shut = (): void => {
    opened = new Promise((resolve) => {
      open = resolve;
    });
  };
  /** Resolves when so many responses have been asked for since the start. */
  const asked = (count: number): Promise<void> => until(`${count} responses are computed`, () => seen.asked >= count);
  return { seen, around, shut, open: () => open(), asked };
}

/** Sends raw bytes and returns everything received until the server closes the connection. */
export function sendRaw(port: number, ...pieces: readonly (string | Buffer)[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', reject);
    socket.on('close', () => resolve(Buffer.concat(chunks).toString()));
    for (const piece of pieces) socket.write(piece);
  });
}

/** Returns the text of a request that asks to close the connection. */
export function requestText(method: string, target: string, headers: Readonly<Record<string, string>> = {}): string {
  const all = { Host: '127.0.0.1', Connection: 'close', ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

/** Parses a response: status, headers with lower-case names, body. */
export function readRaw(text: string) {
  const at = text.indexOf('\r\n\r\n');
  const [first = '', ...lines] = text.slice(0, at).split('\r\n');
  const headers: Record<string, string> = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  return { status: Number(first.split(' ')[1]), headers, body: text.slice(at + 4), text };
}
