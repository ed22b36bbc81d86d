import { existsSync } from 'node:fs';
import { refreshCopy, withHome } from './app/home.ts';
import { monitoredOf } from './app/monitored.ts';
import { noData } from './app/newest.ts';
import { checkPublishable, type Publication, publishSnapshot } from './app/publish.ts';
import { cursorSecretOf, idleTimeoutFor, openService } from './app/service.ts';
import { statusPageOf } from './app/status-page.ts';
import { type Context, catalogue, type Opened, publish, withWarehouse } from './app/workspace.ts';
import type { WorkspaceConfig } from './base/config.ts';
import { inSpan } from './base/trace.ts';
import type { LogTarget } from './serve/http/log.ts';
import { type RunningServer, type ServerOptions, startServer } from './serve/http/server.ts';
import { openKeyring } from './serve/keys.ts';
import { type Streams, serveStdio } from './serve/mcp/stdio.ts';
import type { Freshness } from './serve/service.ts';
import type { StatusAccess } from './serve/status/parts.ts';
import { exportSnapshot, type Snapshot } from './snapshot/export.ts';
import { layoutOf } from './snapshot/layout.ts';

/** Sorting a month and writing it needs no more; what would goes to disk. The other core reads back what was written. */
const EXPORT_RESOURCES = { memoryLimitMb: 320, threads: 2 };

/** What an export is doing: writing a table's files, or sending files. */
export interface ExportProgress {
  readonly table: string | null;
  readonly done: number;
  readonly of: number;
}

type Exported = Snapshot & { readonly published: Publication | null };

/** Publishes a Parquet snapshot of a workspace: in its folder, and from there where the settings name another place too. */
export function exportWorkspace(
  context: Context,
  onProgress: (progress: ExportProgress) => void,
  changes: Partial<Pick<WorkspaceConfig, 'compression'>> = {},
): Promise<Exported> {
  // Published before others may check the workspace out: whoever has it by then publishes what is newer.
  return withHome(context, null, (inside) => exportHere(inside, onProgress, changes));
}

async function exportHere(
  context: Context,
  onProgress: (progress: ExportProgress) => void,
  changes: Partial<Pick<WorkspaceConfig, 'compression'>>,
): Promise<Exported> {
  const { clock, signal } = context;
  const config = { ...context.config, ...changes };
  if (!existsSync(layoutOf(config.folder).warehouse)) throw noData(config);
  const work = async ({ warehouse, layout, copy }: Opened): Promise<Snapshot> => {
    // A sync that was killed has committed pages that no copy holds.
    if (!copy.isCurrent) await publish(warehouse, layout, copy);
    const { compression, keep } = config;
    return exportSnapshot(warehouse.database, catalogue, layout, { compression, keep, clock, signal, onProgress });
  };
  return inSpan('export', {}, async () => {
    await checkPublishable(context);
    const snapshot = await withWarehouse(context, EXPORT_RESOURCES, work);
    // Others may have the warehouse meanwhile: a snapshot does not change.
    const published = await publishSnapshot(context, snapshot, (sent) => onProgress({ table: null, ...sent }));
    return { ...snapshot, published };
  });
}

/** How `mcpWorkspace` is run. */
export interface McpWorkspaceOptions {
  readonly streams: Streams;
  readonly queryTimeoutMs: number;
  /** Told once, before anything is served. */
  readonly onStart: (freshness: Freshness) => void;
  /** Told of errors that the client is not told the words of. */
  readonly onError: (error: Error) => void;
}

/** Serves a workspace over MCP on a pair of streams, until the input ends or the signal is aborted. */
export async function mcpWorkspace({ config, clock, signal }: Context, options: McpWorkspaceOptions): Promise<void> {
  // Where the home does not answer, what is here is better than nothing.
  await refreshCopy({ config, clock }).catch(() => undefined);
  const service = openService(
    config,
    clock,
    await cursorSecretOf(config, existsSync(config.folder)),
    options.queryTimeoutMs,
  );
  try {
    options.onStart(await service.freshness());
    await serveStdio(service, options.streams, signal, options);
  } finally {
    await service.close();
  }
}

/** How `serveWorkspace` serves. */
export interface ServeWorkspaceOptions extends Omit<ServerOptions, 'limits'> {
  readonly queryTimeoutMs: number;
  /** Who is shown the status page. */
  readonly statusPage: StatusAccess | 'off';
  /** Whether jobs run in this process when they are due. */
  readonly runsJobs: boolean;
  readonly log: LogTarget;
}

/** A workspace that is served, and how many keys open it so far. */
export interface ServedWorkspace extends RunningServer {
  readonly keys: number;
}

/** Serves a workspace over HTTP, also before it has data or keys; resolves once it listens. */
export async function serveWorkspace(
  { config, clock }: Pick<Context, 'config' | 'clock'>,
  { queryTimeoutMs, statusPage, runsJobs, log, ...options }: ServeWorkspaceOptions,
): Promise<ServedWorkspace> {
  const keyring = openKeyring(config.folder);
  const keys = keyring.count();
  const service = openService(config, clock, await cursorSecretOf(config, true), queryTimeoutMs);
  // The first question need not wait for the copy to be opened; where it cannot be, each question is told so.
  service.newest().catch(() => undefined);
  try {
    const { snapshots } = layoutOf(config.folder);
    const idleTimeoutMs = idleTimeoutFor(queryTimeoutMs);
    const status = statusPage === 'off' ? {} : { status: statusPageOf(config, statusPage, runsJobs) };
    const server = await startServer(
      { service, keyring, clock, log, snapshots, monitored: monitoredOf(config, clock), ...status },
      { ...options, limits: { idleTimeoutMs } },
    );
    const close = async (): Promise<void> => {
      await server.close();
      await service.close();
    };
    return { ...server, keys, close };
  } catch (thrown) {
    await service.close();
    throw thrown;
  }
}
