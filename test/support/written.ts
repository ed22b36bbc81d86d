import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { readConventions } from '../../src/metrics/calibration/findings.ts';
import type { MetricsSource } from '../../src/read/metrics/table-result.ts';
import { openServedReplica } from '../../src/read/open-replica.ts';
import type { Database, Query, ResultRow } from '../../src/warehouse/database.ts';
import { publishAnalytics, REPLICA_OPTIONS } from '../../src/warehouse/replica.ts';
import { openWarehouse } from '../../src/warehouse/warehouse.ts';
import { builtInCatalogue as catalogue } from '../../src/workspace/catalogues.ts';
import { createEmptyWarehouse } from './empty-warehouse.ts';
import { temporaryFolder } from './folders.ts';
import { timed } from './work-times.ts';

/** A new warehouse with the marts, to which a test writes rows. */
export interface Written {
  readonly database: Database;
  /** Runs statements in order. */
  run(...statements: readonly string[]): Promise<void>;
  /** Reads rows as objects, or as lists. */
  all(sql: string): Promise<ResultRow[]>;
  readonly query: Query;
  /** Publishes a replica and returns its path, by default a temporary one. */
  publish(path?: string): Promise<string>;
  /** Publishes a replica, by default to a temporary path, and opens it for the metrics layer. */
  source(nowMs: number, path?: string): Promise<MetricsSource>;
}

/** Returns SQL that stores that the responses and visits of all brands were read completely for a range of days. */
export function coverageOf(from: string, to: string, closedAt: string): string {
  return `INSERT INTO sync.coverage BY NAME SELECT 'all' AS slice, unnest(['responses', 'traffic']) AS resource, id AS brand_id, DATE '${from}' AS range_from,
    DATE '${to}' AS range_to, uuid() AS run_id, uuid() AS pass_id, TIMESTAMP '${closedAt}' AS closed_at, 1 AS rows FROM brands`;
}

/** Opens an empty warehouse with the marts; closed after the test. */
export async function openWritten(): Promise<Written> {
  const folder = await temporaryFolder();
  // Random values of SQL depend on the order of rows, which only one thread keeps.
  const path = join(folder, 'warehouse.duckdb');
  await createEmptyWarehouse(path, { hasMarts: true });
  const { database, close } = await timed('warehouse opened', () => openWarehouse(path, catalogue, { threads: 1 }));
  onTestFinished(() => close());
  const publish = async (given?: string): Promise<string> => {
    const path = given ?? join(await temporaryFolder(), 'analytics.duckdb');
    await publishAnalytics(database, path);
    return path;
  };
  return {
    database,
    run: (...statements) =>
      database.exclusive(async (session) => {
        for (const sql of statements) await session.run(sql);
      }),
    all: (sql) => database.exclusive((session) => session.all(sql)),
    query: (sql, values) => database.exclusive((session) => session.query(sql, values)),
    publish,
    source: async (nowMs, path) => {
      const replica = await openServedReplica(await publish(path), {
        catalogue,
        replica: REPLICA_OPTIONS,
        readConventions,
      });
      onTestFinished(() => replica.replica.close());
      return { replica, catalogue, nowMs };
    },
  };
}
