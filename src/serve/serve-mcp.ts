import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { WorkspaceConfig } from '../base/config/config.ts';
import { SightlineError } from '../base/errors.ts';
import { createSqlService } from '../operations/sql/sql-service.ts';
import type { Freshness } from '../query/service.ts';
import { builtInCatalogue } from '../session/catalogues.ts';
import { refreshReplica } from '../session/remote-replica.ts';
import { readServerOrigin } from '../session/server-record.ts';
import type { Context } from '../session/workspace.ts';
import { layoutOf } from '../snapshot/layout.ts';
import type { Served, ServedWorkspace } from './mcp/served.ts';
import type { Streams } from './mcp/stdio.ts';
import { cursorSecretOf, openService } from './open-service.ts';

/** Workspaces that are open at the same time; the least recently used is closed first. */
const OPEN_MAX = 8;

/** Options of `mcpWorkspace`. */
export interface McpWorkspaceOptions {
  readonly streams: Streams;
  readonly queryTimeoutMs: number;
  /** Called once, before the first request is served. */
  readonly onStart: (freshness: Freshness) => void;
  /** Called with internal errors, because their messages are not sent to the client. */
  readonly onError: (error: Error) => void;
}

/** Serves a workspace over MCP on a pair of streams, until the input ends or the signal is aborted. */
export async function mcpWorkspace({ config, clock, signal }: Context, options: McpWorkspaceOptions): Promise<void> {
  const workspace = await openWorkspace({ config, clock }, options.queryTimeoutMs);
  try {
    const [{ serveStdio }, { servedOne }] = await Promise.all([import('./mcp/stdio.ts'), import('./mcp/served.ts')]);
    options.onStart(await workspace.service.freshness());
    const served = servedOne(workspace, clock);
    const use: Served['use'] = async (_, work) => work({ ...workspace, pageUrl: await findPageUrl(config) });
    await serveStdio({ ...served, use }, options.streams, signal, options);
  } finally {
    await workspace.close();
  }
}

/** Serves several workspaces like `mcpWorkspace`; each call names its workspace. They are opened when they are used. */
export async function mcpWorkspaces(
  configs: ReadonlyMap<string, WorkspaceConfig>,
  { clock, signal }: Pick<Context, 'clock' | 'signal'>,
  options: Omit<McpWorkspaceOptions, 'onStart'>,
): Promise<void> {
  const { serveStdio } = await import('./mcp/stdio.ts');
  const pool = createPool(OPEN_MAX, (name) => {
    const config = configs.get(name);
    if (config === undefined) throw new SightlineError('not_found', `the workspace ${name} does not exist`);
    return openWorkspace({ config, clock }, options.queryTimeoutMs);
  });
  const served: Served = {
    catalogue: builtInCatalogue,
    clock,
    workspaces: [...configs.keys()],
    hasSql: true,
    use: (name, work) =>
      pool.use(name ?? '', async (workspace) => {
        const config = configs.get(name ?? '');
        return work({ ...workspace, pageUrl: config === undefined ? null : await findPageUrl(config) });
      }),
  };
  try {
    await serveStdio(served, options.streams, signal, options);
  } finally {
    await pool.close();
  }
}

// A server may be started or stopped between two calls. Several workspaces have a server in the folder above theirs.
async function findPageUrl({ folder, name }: WorkspaceConfig): Promise<string | null> {
  const own = await readServerOrigin(folder);
  if (own !== null) return own;
  const all = await readServerOrigin(dirname(folder));
  return all === null ? null : `${all}/w/${encodeURIComponent(name)}`;
}

type OpenWorkspace = ServedWorkspace & { close(): Promise<void> };

async function openWorkspace(
  { config, clock }: Pick<Context, 'config' | 'clock'>,
  timeoutMs: number,
): Promise<OpenWorkspace> {
  // If the remote warehouse cannot be reached, serve the replica that is already here.
  await refreshReplica({ config, clock }).catch(() => undefined);
  const secret = await cursorSecretOf(config, existsSync(config.folder));
  const service = openService(config, clock, secret, timeoutMs, OPEN_MAX);
  const sql = createSqlService({ path: layoutOf(config.folder).analytics, catalogue: service.catalogue, clock });
  const close = async (): Promise<void> => {
    await Promise.all([service.close(), sql.close()]);
  };
  return { service, sql, pageUrl: null, close };
}

/** Open workspaces by name. */
export interface Pool<W> {
  /** Runs `work` with a workspace, which stays open until it ends. */
  use<T>(name: string, work: (workspace: W) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** Creates a pool of at most `openMax` workspaces that nobody uses, and of those in use. */
export function createPool<W extends { close(): Promise<void> }>(
  openMax: number,
  open: (name: string) => Promise<W>,
): Pool<W> {
  const opened = new Map<string, { readonly workspace: Promise<W>; users: number }>();
  const closeUnused = async (): Promise<void> => {
    const unused = [...opened].filter(([, { users }]) => users === 0);
    const excess = unused.slice(0, Math.max(0, opened.size - openMax));
    for (const [name] of excess) opened.delete(name);
    await Promise.all(excess.map(async ([, { workspace }]) => (await workspace).close()));
  };
  const enter = (name: string): { readonly workspace: Promise<W>; users: number } => {
    const one = opened.get(name) ?? { workspace: open(name), users: 0 };
    // Moves it to the end, after those that were used earlier.
    opened.delete(name);
    opened.set(name, one);
    one.users += 1;
    return one;
  };
  return {
    use: async (name, work) => {
      const one = enter(name);
      try {
        return await work(await one.workspace);
      } catch (thrown) {
        // A workspace that cannot be opened is tried again.
        one.workspace.catch(() => opened.delete(name));
        throw thrown;
      } finally {
        one.users -= 1;
        await closeUnused();
      }
    },
    close: async () => {
      const all = [...opened.values()];
      opened.clear();
      await Promise.all(all.map(async ({ workspace }) => (await workspace).close()));
    },
  };
}
