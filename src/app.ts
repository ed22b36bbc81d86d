import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type Context, catalogue, noData, openNewest, publish, withWarehouse } from './app/workspace.ts';
import type { Clock } from './base/clock.ts';
import type { WorkspaceConfig } from './base/config.ts';
import { SightlineError, toSightlineError } from './base/errors.ts';
import { learnConventions } from './metrics/learn.ts';
import { mergeConventions, toOverrides } from './metrics/overrides.ts';
import { readConventions } from './metrics/stored.ts';
import { createService } from './serve/create.ts';
import { HTTP_LIMITS } from './serve/http/limits.ts';
import { type RunningServer, type ServerOptions, startServer } from './serve/http/server.ts';
import { openKeyring, readCursorSecret } from './serve/keys.ts';
import { type Streams, serveStdio } from './serve/mcp/stdio.ts';
import type { Freshness, Service } from './serve/service.ts';
import { exportSnapshot, type Snapshot } from './snapshot/export.ts';
import { layoutOf } from './snapshot/layout.ts';
import { runSync, type SyncOptions, type SyncSummary } from './sync/run.ts';
import type { Tally } from './sync/tally.ts';
import { type Budget, createBudget } from './upstream/budget.ts';
import { openBudgetFile } from './upstream/budget-file.ts';
import { createClient } from './upstream/client.ts';
import { UpstreamError } from './upstream/errors.ts';
import type { QueryResult } from './warehouse/reader.ts';
import { REPLICA_OPTIONS } from './warehouse/replica.ts';
import type { Warehouse } from './warehouse/warehouse.ts';

/** Syncs a workspace, then publishes the analysts' copy. */
export async function syncWorkspace(
  context: Context,
  options: SyncOptions,
  onProgress: (tally: Tally, budget: Budget) => void,
): Promise<SyncSummary> {
  const { config, clock, signal } = context;
  const upstream = config.upstream();
  for (const name of options.only ?? []) checkResource(name);
  // Pages are small: one thread writes them as fast as two, and what is not kept in memory is on disk already.
  return withWarehouse(context, { memoryLimitMb: 96, threads: 1 }, async ({ warehouse, layout, copy }) => {
    copy.isCurrent = false;
    const store = openBudgetFile(layout.budget, clock.now());
    const budget = createBudget({ clock, share: config.budgetShare, store });
    const { connections } = config;
    const client = createClient({ ...upstream, budget, clock, connections });
    try {
      const parts = { catalogue, warehouse, client, clock, connections, signal };
      const summary = await runSync({ ...parts, onProgress: (tally) => onProgress(tally, budget) }, options);
      const notes = await learn(warehouse, summary, clock);
      await publish(warehouse, layout, copy);
      const warnings = [...summary.warnings, ...notes];
      return { ...summary, warnings, error: withAddress(summary.error, upstream.baseUrl) };
    } finally {
      await client.close();
    }
  });
}

/** Publishes a Parquet snapshot of a workspace. */
export async function exportWorkspace(
  context: Context,
  onProgress: (progress: { table: string; done: number; of: number }) => void,
): Promise<Snapshot> {
  const { config, clock, signal } = context;
  if (!existsSync(layoutOf(config.folder).warehouse)) throw noData(config);
  return withWarehouse(context, {}, async ({ warehouse, layout, copy }) => {
    // A sync that was killed has committed pages that no copy holds.
    if (!copy.isCurrent) await publish(warehouse, layout, copy);
    const { compression } = config;
    return exportSnapshot(warehouse.database, catalogue, layout, { compression, clock, signal, onProgress });
  });
}

/** Runs SQL on a workspace's data, read-only, whoever else has them open. */
export async function queryWorkspace(config: WorkspaceConfig, sql: string): Promise<QueryResult> {
  const layout = layoutOf(config.folder);
  const { reader } = await openNewest(config, layout);
  try {
    return await reader.query(sql);
  } finally {
    reader.close();
  }
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
  const service = openService(config, clock, await cursorSecretOf(config), options.queryTimeoutMs);
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
  /** Takes the log, whole lines of JSON. */
  readonly log: (text: string) => void;
}

/** A workspace that is served, and how many keys open it so far. */
export interface ServedWorkspace extends RunningServer {
  readonly keys: number;
}

/** Serves a workspace over HTTP, also before it has data or keys; resolves once it listens. */
export async function serveWorkspace(
  { config, clock }: Pick<Context, 'config' | 'clock'>,
  { queryTimeoutMs, log, ...options }: ServeWorkspaceOptions,
): Promise<ServedWorkspace> {
  const keyring = openKeyring(config.folder);
  const keys = keyring.count();
  const secret = await readCursorSecret(config.folder).catch(() => randomBytes(32));
  const service = openService(config, clock, secret, queryTimeoutMs);
  try {
    // A connection stands still while its query runs.
    const idleTimeoutMs = Math.max(HTTP_LIMITS.idleTimeoutMs, 2 * queryTimeoutMs);
    const server = await startServer({ service, keyring, clock, log }, { ...options, limits: { idleTimeoutMs } });
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

// There need be no data yet; what is asked before is answered with that error.
function openService(config: WorkspaceConfig, clock: Clock, cursorSecret: Uint8Array, timeoutMs: number): Service {
  const overrides = toOverrides(config.conventions);
  return createService({
    catalogue,
    path: layoutOf(config.folder).analytics,
    clock,
    cursorSecret,
    replica: { ...REPLICA_OPTIONS, timeoutMs },
    readConventions: async (query) => mergeConventions(await readConventions(query), overrides),
  });
}

// Where nothing can be written cursors do not outlive the process, which is no reason to serve nothing.
async function cursorSecretOf({ folder }: WorkspaceConfig): Promise<Uint8Array> {
  if (!existsSync(folder)) return randomBytes(32);
  return readCursorSecret(folder).catch(() => randomBytes(32));
}

// Nobody's sync fails because upstream's numbers are hard to explain.
async function learn(warehouse: Warehouse, summary: SyncSummary, clock: Clock): Promise<SyncSummary['warnings']> {
  if (summary.error !== null) return [];
  const isChanged = Object.values(summary.tables).some((table) => table.inserted + table.updated + table.deleted > 0);
  const note = { chain: 'conventions', code: 'bad_answer' };
  try {
    const { database } = warehouse;
    const unexplained = await learnConventions(database, { now: clock.now(), onlyIfNone: !isChanged });
    if (unexplained.length === 0) return [];
    const names = unexplained.join(', ');
    const message = `upstream's numbers do not tell, so defaults hold for ${names}; see sync.conventions for why`;
    return [{ ...note, message }];
  } catch (thrown) {
    const { code, message } = toSightlineError(thrown);
    return [{ ...note, code, message: `how upstream computes its numbers could not be learned: ${message}` }];
  }
}

// What upstream said may be the fault of the address, so the message shows it.
function withAddress(error: SightlineError | null, baseUrl: string): SightlineError | null {
  if (!(error instanceof UpstreamError) || error.message.includes(new URL(baseUrl).origin)) return error;
  return new SightlineError(error.code, `${error.message}; the base URL is ${baseUrl}`, { cause: error });
}

function checkResource(name: string): void {
  if (catalogue.resources.some((resource) => resource.name === name)) return;
  const known = catalogue.resources.map((resource) => resource.name).join(', ');
  throw new SightlineError('usage', `there is no resource ${JSON.stringify(name)}; allowed: ${known}`);
}
