import { onTestFinished } from 'vitest';
import type { WorkspaceSandbox } from '../../schemas/fixtures/start.ts';
import { systemClock } from '../../src/base/clock.ts';
import { loadConfig } from '../../src/base/config/config.ts';
import { syncWorkspace } from '../../src/operations/sync.ts';
import type { TableResult } from '../../src/read/metrics/table-result.ts';
import { createKey } from '../../src/serve/auth/keys.ts';
import type { ServeWorkspaceOptions } from '../../src/serve/serve-workspace.ts';
import type { OperationsReport } from '../../src/web/page-data/operations-report.ts';
import { type CloseLater, serveWorld, sharedBefore, stillClock } from '../serve/served-world.ts';
import { temporaryFolder } from '../support/folders.ts';
import { NO_PROBES } from '../support/no-probes.ts';
import { copyWorld, startWorldSandbox, type World } from '../support/worlds.ts';

/** A synced workspace for all tests of a file. */
export type StatusWorkspace = Awaited<ReturnType<typeof openIn>>;

/** Copies a world, with its upstream and a key, before the tests of a file; returns a function that returns it. */
export function worldBefore(world: World): () => StatusWorkspace {
  return sharedBefore(async (closeLater) => {
    const folder = await temporaryFolder(closeLater);
    await copyWorld(world, folder);
    const sandbox = await startWorldSandbox(world);
    closeLater(() => sandbox.close());
    return openIn(folder, sandbox, stillClock);
  });
}

/** A workspace in a folder, over a sandbox that may be shared. */
export async function openIn(folder: string, sandbox: WorkspaceSandbox, clock = systemClock) {
  const environment = { ...NO_PROBES, SIGHTLINE_BASE_URL: sandbox.baseUrl, SIGHTLINE_API_KEY: sandbox.key };
  const config = loadConfig({ flags: {}, environment, folder });
  const { text: key } = await createKey(config.folder, 'test', null, clock.now());
  /** Syncs everything, or these resources. */
  const sync = async (only: readonly string[] | null = null): Promise<void> => {
    const { signal } = new AbortController();
    const context = { config, clock, signal, command: 'sync' };
    const { status, error } = await syncWorkspace(context, { only, range: null, brands: null }, () => undefined);
    if (status !== 'complete') throw error ?? new Error(`the sync ended ${status}`);
  };
  return { sandbox, config, clock, key, sync };
}

/** A server over a workspace. */
export type StatusServer = Awaited<ReturnType<typeof serveStatus>>;

type Served = Pick<StatusWorkspace, 'config' | 'key'> & Partial<Pick<StatusWorkspace, 'clock'>>;

/** Serves a workspace, until the test ends by default. */
export async function serveStatus(
  { config, key, clock }: Served,
  changes: Partial<ServeWorkspaceOptions> = {},
  closeLater: CloseLater = onTestFinished,
) {
  const server = await serveWorld(config, changes, clock);
  let isClosed = false;
  const close = async (): Promise<void> => {
    if (!isClosed) await server.close();
    isClosed = true;
  };
  closeLater(close);
  const { origin } = new URL(server.baseUrl);
  /** Requests a path of the page with the workspace's key, unless other headers are given. */
  const ask = (path: string, headers: Readonly<Record<string, string>> = { authorization: `Bearer ${key}` }) =>
    fetch(`${origin}${path}`, { headers });
  const json = async <T>(path: string): Promise<T> => {
    const response = await ask(path);
    if (!response.ok) throw new Error(`${path} returned ${response.status}: ${await response.text()}`);
    return (await response.json()) as T;
  };
  /** Returns the rows of a table as objects. */
  const records = async (path: string): Promise<Record<string, unknown>[]> => {
    const { columns, rows } = await json<TableResult>(path);
    return rows.map((row) => Object.fromEntries(row.map((value, index) => [columns[index]?.name ?? '', value])));
  };
  return { ...server, close, origin, ask, json, records, data: () => json<OperationsReport>('/status/data') };
}

/** Serves a workspace without sign-in for all tests of a file. */
export function serverBefore(workspace: () => StatusWorkspace): () => StatusServer {
  return sharedBefore((closeLater) => serveStatus(workspace(), { pages: 'loopback' }, closeLater));
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
