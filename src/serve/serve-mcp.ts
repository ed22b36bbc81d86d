import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { WorkspaceConfig } from '../base/config/config.ts';
import { SightlineError } from '../base/errors.ts';
import type { Freshness } from '../read/service.ts';
import { builtInCatalogue } from '../workspace/catalogues.ts';
import { refreshReplica } from '../workspace/home-replica.ts';
import { readServerOrigin } from '../workspace/server-record.ts';
import type { Context } from '../workspace/workspace.ts';
import type { Served } from './mcp/served.ts';
import type { Streams } from './mcp/stdio.ts';
import { cursorSecretOf } from './open-service.ts';
import { openData, type WorkspaceData } from './open-workspace.ts';
import { createPool } from './pool.ts';

/** Workspaces that are open at the same time; the least recently used is closed first. */
const OPEN_MAX = 8;

/** Options of `serveMcp`. */
export interface ServeMcpOptions {
  readonly streams: Streams;
  readonly queryTimeoutMs: number;
  /** Called once for the only workspace, before the first request is served. */
  readonly onStart: (freshness: Freshness) => void;
  /** Called with internal errors, because their messages are not sent to the client. */
  readonly onError: (error: Error) => void;
}

/**
 * Serves workspaces over MCP on a pair of streams, until the input ends or the signal is aborted. If there are several, each call names its
 * workspace, which is opened when it is used.
 */
export async function serveMcp(
  configs: readonly WorkspaceConfig[],
  { clock, signal }: Pick<Context, 'clock' | 'signal'>,
  { queryTimeoutMs, onStart, ...options }: ServeMcpOptions,
): Promise<void> {
  const named = new Map(configs.map((config) => [config.name, config]));
  const pool = createPool<WorkspaceData & { readonly config: WorkspaceConfig }>({
    openMax: OPEN_MAX,
    open: async (name) => {
      const config = named.get(name);
      if (config === undefined) throw new SightlineError('not_found', `the workspace ${name} does not exist`);
      // If the home cannot be reached, serve the replica that is already here.
      await refreshReplica({ config, clock }).catch(() => undefined);
      const cursorSecret = await cursorSecretOf(config, existsSync(config.folder));
      return { config, ...openData(config, { clock, cursorSecret, queryTimeoutMs }) };
    },
    close: ({ close }) => close(),
  });
  const only = configs.length === 1 ? (configs[0]?.name ?? null) : null;
  const use: Served['use'] = (name, work) =>
    pool.use(name ?? only ?? '', async ({ config, service, sql }) =>
      work({ service, sql, pageUrl: await findPageUrl(config) }),
    );
  try {
    const { serveStdio } = await import('./mcp/stdio.ts');
    const catalogue =
      only === null
        ? builtInCatalogue
        : await pool.use(only, async ({ service }) => {
            onStart(await service.freshness());
            return service.catalogue;
          });
    const workspaces = only === null ? [...named.keys()] : null;
    await serveStdio({ catalogue, clock, workspaces, hasSql: true, use }, options.streams, signal, options);
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
