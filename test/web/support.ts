import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import type { WorkspaceSandbox } from '../../schemas/fixtures/start.ts';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { loadConfig, type WorkspaceConfig } from '../../src/base/config/config.ts';
import { syncWorkspace } from '../../src/operations/sync.ts';
import type { TableResult } from '../../src/query/metrics/table-result.ts';
import { createKey } from '../../src/serve/auth/keys.ts';
import type { StatusReport } from '../../src/serve/pages/status-report.ts';
import { type ServedWorkspace, type ServeWorkspaceOptions, serveWorkspace } from '../../src/serve/serve-workspace.ts';
import { NOW_MS } from '../support/clocks.ts';
import { NO_PROBES } from '../support/no-probes.ts';
import { copyWorld, startWorldSandbox, type World } from '../support/worlds.ts';

/** Real time for sleeps, at the time of the worlds. */
export const worldTime: Clock = { ...systemClock, now: () => NOW_MS };

/** A synced workspace for all tests of a file. */
export interface StatusWorkspace {
  readonly sandbox: WorkspaceSandbox;
  readonly config: WorkspaceConfig;
  readonly clock: Clock;
  readonly key: string;
  /** Syncs everything, or these resources. */
  sync(only?: readonly string[]): Promise<void>;
}

/** Copies a world, with its upstream and a key, before the tests of a file; returns a function that returns it. */
export function worldBefore(world: World): () => StatusWorkspace {
  return before(async (folder) => {
    await copyWorld(world, folder);
    return openIn(folder, await startWorldSandbox(world), worldTime);
  });
}

function before(open: (folder: string) => Promise<StatusWorkspace>): () => StatusWorkspace {
  const made: { workspace: StatusWorkspace | null } = { workspace: null };
  let clean = async (): Promise<void> => undefined;
  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sightline-status-'));
    const workspace = await open(folder);
    made.workspace = workspace;
    clean = async () => {
      await workspace.sandbox.close();
      await rm(folder, { recursive: true, force: true });
    };
  });
  afterAll(() => clean());
  return () => {
    if (made.workspace === null) throw new Error('there is no workspace');
    return made.workspace;
  };
}

/** A workspace in a folder, over a sandbox that may be shared. */
export async function openIn(folder: string, sandbox: WorkspaceSandbox, clock = systemClock): Promise<StatusWorkspace> {
  const environment = { ...NO_PROBES, SIGHTLINE_BASE_URL: sandbox.baseUrl, SIGHTLINE_API_KEY: sandbox.key };
  const config = loadConfig({ flags: {}, environment, folder });
  const { text: key } = await createKey(config.folder, 'test', null, clock.now());
  const sync = async (only: readonly string[] | null = null): Promise<void> => {
    const { signal } = new AbortController();
    const context = { config, clock, signal, command: 'sync' };
    const { status, error } = await syncWorkspace(context, { only, range: null, brands: null }, () => undefined);
    if (status !== 'complete') throw error ?? new Error(`the sync ended ${status}`);
  };
  return { sandbox, config, clock, key, sync };
}

/** A server over a workspace. */
export interface StatusServer extends ServedWorkspace {
  readonly origin: string;
  /** Requests a path of the page with the workspace's key, unless other headers are given. */
  ask(path: string, headers?: Readonly<Record<string, string>>): Promise<Response>;
  /** Returns the JSON of a path. */
  json<T>(path: string): Promise<T>;
  /** Returns the rows of a table as objects. */
  records(path: string): Promise<Record<string, unknown>[]>;
  /** Returns the page's data. */
  data(): Promise<StatusReport>;
}

type Served = Pick<StatusWorkspace, 'config' | 'key'> & Partial<Pick<StatusWorkspace, 'clock'>>;

/** Serves a workspace until the test ends. */
export async function serveStatus(served: Served, changes: Partial<ServeWorkspaceOptions> = {}): Promise<StatusServer> {
  const server = await startStatus(served, changes);
  onTestFinished(server.close);
  return server;
}

/** Serves a workspace without sign-in for all tests of a file. */
export function serverBefore(workspace: () => StatusWorkspace): () => StatusServer {
  const started: { server: StatusServer | null } = { server: null };
  beforeAll(async () => {
    started.server = await startStatus(workspace(), { pages: 'loopback', rateLimit: 'off' });
  });
  afterAll(() => started.server?.close());
  return () => {
    if (started.server === null) throw new Error('there is no server');
    return started.server;
  };
}

async function startStatus(
  { config, key, clock }: Served,
  changes: Partial<ServeWorkspaceOptions>,
): Promise<StatusServer> {
  const server = await serveQuietly(config, changes, clock);
  let isClosed = false;
  const close = async (): Promise<void> => {
    if (!isClosed) await server.close();
    isClosed = true;
  };
  const { origin } = new URL(server.baseUrl);
  const ask: StatusServer['ask'] = (path, headers = { authorization: `Bearer ${key}` }) =>
    fetch(`${origin}${path}`, { headers });
  const json = async <T>(path: string): Promise<T> => {
    const response = await ask(path);
    if (!response.ok) throw new Error(`${path} returned ${response.status}: ${await response.text()}`);
    return (await response.json()) as T;
  };
  const records = async (path: string): Promise<Record<string, unknown>[]> => {
    const { columns, rows } = await json<TableResult>(path);
    return rows.map((row) => Object.fromEntries(row.map((value, index) => [columns[index]?.name ?? '', value])));
  };
  return { ...server, close, origin, ask, json, records, data: () => json<StatusReport>('/status/data') };
}

/** Serves a workspace at a free port of this machine, without jobs and without a log. */
export function serveQuietly(
  config: WorkspaceConfig,
  changes: Partial<ServeWorkspaceOptions> = {},
  clock = systemClock,
): Promise<ServedWorkspace> {
  return serveWorkspace(
    { config, clock },
    {
      host: '127.0.0.1',
      port: 0,
      metricsPort: null,
      rateLimit: 120,
      corsOrigins: [],
      allowedHosts: [],
      logLevel: 'silent',
      queryTimeoutMs: 30_000,
      pages: 'key',
      runsJobs: false,
      log: () => undefined,
      ...changes,
    },
  );
}

/** Returns the next event of a stream; null once it has ended. */
export function eventsOf(response: Response): () => Promise<{ event: string; data: unknown } | null> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  return async () => {
    for (;;) {
      const at = rest.indexOf('\n\n');
      if (at >= 0) {
        const lines = rest.slice(0, at).split('\n');
        rest = rest.slice(at + 2);
        const event = lines.find((line) => line.startsWith('event: '))?.slice(7);
        const data = lines.find((line) => line.startsWith('data: '))?.slice(6);
        if (event !== undefined) return { event, data: JSON.parse(data ?? 'null') as unknown };
      } else {
        const { done = true, value = '' } = (await reader?.read()) ?? {};
        if (done) return null;
        rest += value;
      }
    }
  };
}
