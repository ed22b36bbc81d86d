import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { startSandboxWorkspace, type WorkspaceOptions, type WorkspaceSandbox } from '../../schemas/fixtures/start.ts';
import { systemClock } from '../../src/base/clock.ts';
import { loadConfig, type WorkspaceConfig } from '../../src/base/config/config.ts';
import { syncWorkspace } from '../../src/operations/sync.ts';
import { createKey } from '../../src/serve/auth/keys.ts';
import type { StatusReport } from '../../src/serve/pages/status-report.ts';
import { type ServedWorkspace, type ServeWorkspaceOptions, serveWorkspace } from '../../src/serve/serve-workspace.ts';
import { NO_PROBES } from '../support/no-probes.ts';

/** A synced workspace for all tests of a file. */
export interface StatusWorkspace {
  readonly sandbox: WorkspaceSandbox;
  readonly config: WorkspaceConfig;
  readonly key: string;
  sync(): Promise<void>;
}

/** Creates a small synced workspace with a key before the tests of a file; returns a function that returns it. */
export function workspaceBefore(days = 15, options: WorkspaceOptions = {}): () => StatusWorkspace {
  const made: { workspace: StatusWorkspace | null } = { workspace: null };
  let clean = async (): Promise<void> => undefined;
  beforeAll(async () => {
    const sandbox = await startSandboxWorkspace({ brands: 1, prompts: 3, days, rateLimit: 10_000, ...options });
    const folder = await mkdtemp(join(tmpdir(), 'sightline-status-'));
    clean = async () => {
      await sandbox.close();
      await rm(folder, { recursive: true, force: true });
    };
    const workspace = await openIn(folder, sandbox);
    await workspace.sync();
    made.workspace = workspace;
  });
  afterAll(() => clean());
  return () => {
    if (made.workspace === null) throw new Error('there is no workspace');
    return made.workspace;
  };
}

/** A workspace in an unsynced folder, over a sandbox that may be shared. */
export async function openIn(folder: string, sandbox: WorkspaceSandbox): Promise<StatusWorkspace> {
  const environment = { ...NO_PROBES, SIGHTLINE_BASE_URL: sandbox.baseUrl, SIGHTLINE_API_KEY: sandbox.key };
  const config = loadConfig({ flags: {}, environment, folder });
  const { text: key } = await createKey(config.folder, 'test', null, systemClock.now());
  const sync = async (): Promise<void> => {
    const { signal } = new AbortController();
    const context = { config, clock: systemClock, signal, command: 'sync' };
    const { status, error } = await syncWorkspace(context, { only: null, range: null, brands: null }, () => undefined);
    if (status !== 'complete') throw error ?? new Error(`the sync ended ${status}`);
  };
  return { sandbox, config, key, sync };
}

/** A server for one test over a workspace. */
export interface StatusServer extends ServedWorkspace {
  readonly origin: string;
  /** Requests a path of the page with the workspace's key, unless other headers are given. */
  ask(path: string, headers?: Readonly<Record<string, string>>): Promise<Response>;
  /** Returns the page's data. */
  data(): Promise<StatusReport>;
}

/** Serves a workspace until the test ends. */
export async function serveStatus(
  { config, key }: Pick<StatusWorkspace, 'config' | 'key'>,
  changes: Partial<ServeWorkspaceOptions> = {},
): Promise<StatusServer> {
  const server = await serveQuietly(config, changes);
  let isClosed = false;
  const close = async (): Promise<void> => {
    if (!isClosed) await server.close();
    isClosed = true;
  };
  onTestFinished(close);
  const { origin } = new URL(server.baseUrl);
  const ask: StatusServer['ask'] = (path, headers = { authorization: `Bearer ${key}` }) =>
    fetch(`${origin}${path}`, { headers });
  const data = async (): Promise<StatusReport> => (await (await ask('/status/data')).json()) as StatusReport;
  return { ...server, close, origin, ask, data };
}

/** Serves a workspace at a free port of this machine, without jobs and without a log. */
export function serveQuietly(
  config: WorkspaceConfig,
  changes: Partial<ServeWorkspaceOptions> = {},
): Promise<ServedWorkspace> {
  return serveWorkspace(
    { config, clock: systemClock },
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
