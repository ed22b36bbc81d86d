import { existsSync } from 'node:fs';
import type { WorkspaceConfig } from '../base/config/config.ts';
import { SightlineError } from '../base/errors.ts';
import type { Freshness, Service } from '../query/service.ts';
import { refreshReplica } from '../session/remote-replica.ts';
import { type Context, catalogue } from '../session/workspace.ts';
import type { Served } from './mcp/served.ts';
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
  const service = await openReplica({ config, clock }, options.queryTimeoutMs);
  try {
    const [{ serveStdio }, { servedOne }] = await Promise.all([import('./mcp/stdio.ts'), import('./mcp/served.ts')]);
    options.onStart(await service.freshness());
    await serveStdio(servedOne(service), options.streams, signal, options);
  } finally {
    await service.close();
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
    return openReplica({ config, clock }, options.queryTimeoutMs);
  });
  const served: Served = {
    catalogue,
    workspaces: [...configs.keys()],
    use: (name, work) => pool.use(name ?? '', work),
  };
  try {
    await serveStdio(served, options.streams, signal, options);
  } finally {
    await pool.close();
  }
}

async function openReplica({ config, clock }: Pick<Context, 'config' | 'clock'>, timeoutMs: number): Promise<Service> {
  // If the remote warehouse cannot be reached, serve the replica that is already here.
  await refreshReplica({ config, clock }).catch(() => undefined);
  return openService(config, clock, await cursorSecretOf(config, existsSync(config.folder)), timeoutMs);
}

/** Open services by name. */
export interface Pool {
  /** Runs `work` with a service, which stays open until it ends. */
  use<T>(name: string, work: (service: Service) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

interface Opened {
  readonly service: Promise<Service>;
  users: number;
}

/** Creates a pool of at most `openMax` services that nobody uses, and of those in use. */
export function createPool(openMax: number, open: (name: string) => Promise<Service>): Pool {
  const opened = new Map<string, Opened>();
  const closeUnused = async (): Promise<void> => {
    const unused = [...opened].filter(([, { users }]) => users === 0);
    const excess = unused.slice(0, Math.max(0, opened.size - openMax));
    for (const [name] of excess) opened.delete(name);
    await Promise.all(excess.map(async ([, { service }]) => (await service).close()));
  };
  const enter = (name: string): Opened => {
    const one = opened.get(name) ?? { service: open(name), users: 0 };
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
        return await work(await one.service);
      } catch (thrown) {
        // A workspace that cannot be opened is tried again.
        one.service.catch(() => opened.delete(name));
        throw thrown;
      } finally {
        one.users -= 1;
        await closeUnused();
      }
    },
    close: async () => {
      const all = [...opened.values()];
      opened.clear();
      await Promise.all(all.map(async ({ service }) => (await service).close()));
    },
  };
}
