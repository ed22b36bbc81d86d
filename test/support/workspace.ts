import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import type { WorkspaceOptions, WorkspaceSandbox } from '../../schemas/fixtures/start.ts';
import type { Clock } from '../../src/base/clock.ts';
import { type Catalogue, createCatalogue } from '../../src/contract/catalogue.ts';
import { runSync, type SyncParts, type SyncSummary } from '../../src/sync/run-sync.ts';
import type { SyncOptions } from '../../src/sync/sync-options.ts';
import { withAllowance } from '../../src/upstream/allowance.ts';
import { createBudget } from '../../src/upstream/budget/budget.ts';
import { CLIENT_LIMITS, type ClientLimits, createClient } from '../../src/upstream/client.ts';
import type { ResultRow } from '../../src/warehouse/database.ts';
import { openWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts';
import { skippingClock } from './clocks.ts';
import { createEmptyWarehouse } from './empty-warehouse.ts';
import { temporaryFolder } from './folders.ts';
import { timed } from './work-times.ts';
import { originalOf, startWorldSandbox, type World } from './worlds.ts';

/** Options of a run. */
export type RunChanges = Partial<SyncOptions> &
  Partial<
    Pick<SyncParts, 'signal' | 'connections' | 'onProgress' | 'onRead' | 'clock' | 'clockPolicy' | 'archive' | 'drift'>
  > & {
    readonly limits?: Partial<ClientLimits>;
  };

/** A sandbox, a warehouse, and a function that syncs one into the other. */
export interface TestWorkspace {
  readonly sandbox: WorkspaceSandbox;
  readonly catalogue: Catalogue;
  readonly clock: Clock;
  readonly path: string;
  /** Returns the open warehouse; a new object after `reopen`. */
  readonly warehouse: () => Warehouse;
  sync(changes?: RunChanges): Promise<SyncSummary>;
  query(sql: string): Promise<ResultRow[]>;
  /** Closes the warehouse and opens it again, like the next process. */
  reopen(): Promise<void>;
}

/** Options of a workspace. */
export type TestWorkspaceOptions = WorkspaceOptions & {
  /** Starts a server between the sandbox and sightline, and returns its base URL. */
  readonly between?: (sandboxUrl: string) => Promise<string>;
  /** Opens a copy of this world, which is synced, instead of an empty warehouse. */
  readonly world?: World;
  /** Whether an empty warehouse has the marts; default false. */
  readonly hasMarts?: boolean;
};

/** Starts a small sandbox without a rate limit and opens an empty warehouse or one of a world. Both are closed when the test ends. */
export async function openWorkspace({
  between,
  world,
  hasMarts = false,
  ...options
}: TestWorkspaceOptions = {}): Promise<TestWorkspace> {
  const sandbox = await startWorldSandbox(world ?? 'small', options);
  onTestFinished(() => sandbox.close());
  const baseUrl = (await between?.(sandbox.baseUrl)) ?? sandbox.baseUrl;
  const catalogue = createCatalogue([...declarations, ...(options.declarations ?? [])]);
  const path = join(await temporaryFolder(), 'warehouse.duckdb');
  if (world !== undefined) await copyFile(join(await originalOf(world), 'data/default/warehouse.duckdb'), path);
  else if (options.declarations === undefined) await createEmptyWarehouse(path, { hasMarts });
  let warehouse = await timed('warehouse opened', () => openWarehouse(path, catalogue, {}));
  onTestFinished(async () => {
    // The file is removed with its folder, so writing the log into it would be of no use. Fails if a test has closed it.
    await warehouse.database
      .exclusive(({ run }) => run('PRAGMA disable_checkpoint_on_shutdown'))
      .catch(() => undefined);
    await warehouse.close();
  });
  const clock = skippingClock(() => sandbox.world.now());
  const sync = async (changes: RunChanges = {}): Promise<SyncSummary> => {
    const {
      limits,
      only = null,
      range = null,
      brands = null,
      full = false,
      acceptDeletions = false,
      acceptPlan = false,
      probe = false,
      allowance,
      rereads = 0,
      ...parts
    } = changes;
    const budget = createBudget({ clock });
    const client = createClient({
      baseUrl,
      key: sandbox.key,
      keyHeader: 'authorization',
      budget: allowance === undefined ? budget : withAllowance(budget, allowance, clock),
      clock,
      connections: 8,
      limits: { ...CLIENT_LIMITS, ...limits },
    });
    const { signal } = new AbortController();
    try {
      return await timed('sync', () =>
        runSync(
          { catalogue, warehouse, client, clock, connections: 8, signal, ...parts },
          {
            only,
            range,
            brands,
            full,
            acceptDeletions,
            acceptPlan,
            probe,
            rereads,
            ...(allowance === undefined ? {} : { allowance }),
          },
        ),
      );
    } finally {
      await client.close();
    }
  };
  const query = (sql: string): Promise<ResultRow[]> => warehouse.database.exclusive((session) => session.all(sql));
  const reopen = async (): Promise<void> => {
    await warehouse.close();
    warehouse = await openWarehouse(path, catalogue, {});
  };
  return { sandbox, catalogue, clock, path, warehouse: () => warehouse, sync, query, reopen };
}

/** Returns the number of changed rows per table, without unchanged tables. */
export function changesOf(
  summary: SyncSummary,
): Record<string, { inserted: number; updated: number; deleted: number }> {
  return Object.fromEntries(
    Object.entries(summary.tables)
      .filter(([, { inserted, updated, deleted }]) => inserted + updated + deleted > 0)
      .map(([name, { inserted, updated, deleted }]) => [name, { inserted, updated, deleted }]),
  );
}
