import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { declarations } from '../../schemas/catalogue.ts';
import { startSandboxWorkspace } from '../../schemas/fixtures/start.ts';
import type { Clock } from '../../src/base/clock.ts';
import { createBudget } from '../../src/budget/budget.ts';
import { type Catalogue, createCatalogue } from '../../src/contract/catalogue.ts';
import { runSync } from '../../src/sync/run-sync.ts';
import { createClient } from '../../src/upstream/client.ts';
import type { Database, ResultRow } from '../../src/warehouse/database.ts';
import { openWarehouse } from '../../src/warehouse/warehouse.ts';
import { hurriedClock, NOW_MS } from '../support/clocks.ts';

/** A synced warehouse that several tests share; the caller closes it. */
export interface OddWorkspace {
  readonly catalogue: Catalogue;
  readonly database: Database;
  readonly clock: Clock;
  readonly folder: string;
  query(sql: string): Promise<ResultRow[]>;
  run(...statements: string[]): Promise<void>;
  close(): Promise<void>;
}

/** Syncs a small workspace twice, so that some rows are changed and some deleted, and adds rows with every unusual value of a column. */
export async function openOddWorkspace(): Promise<OddWorkspace> {
  const sandbox = await startSandboxWorkspace({
    brands: 1,
    prompts: 4,
    days: 30,
    responsesPerDay: 8,
    rateLimit: 10_000,
    clock: () => NOW_MS,
  });
  const folder = await mkdtemp(join(tmpdir(), 'sightline-snapshot-'));
  const catalogue = createCatalogue(declarations);
  const warehouse = await openWarehouse(join(folder, 'warehouse.duckdb'), catalogue, {});
  const clock = hurriedClock(() => sandbox.world.now());
  const budget = createBudget({ clock });
  const { baseUrl, key } = sandbox;
  const client = createClient({ baseUrl, key, keyHeader: 'authorization', budget, clock, connections: 8 });
  const { signal } = new AbortController();
  const parts = { catalogue, warehouse, client, clock, connections: 8, signal };
  await runSync(parts, { only: null, range: null, brands: null });
  sandbox.advance({ deletedResponses: 5, editedResponses: 8, deletedCompetitors: 1 });
  await runSync(parts, { only: ['responses', 'competitors'], range: null, brands: null });
  await client.close();
  await sandbox.close();
  const { database } = warehouse;
  const run = (...statements: string[]): Promise<void> =>
    database.exclusive(async (session) => {
      for (const statement of statements) await session.run(statement);
    });
  await run(...oddities(catalogue));
  return {
    catalogue,
    database,
    clock,
    folder,
    query: (sql) => database.exclusive((session) => session.all(sql)),
    run,
    close: async () => {
      await warehouse.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function oddities(catalogue: Catalogue): string[] {
  const traffic = catalogue.tables.find(({ name }) => name === 'traffic_daily');
  const count = traffic?.columns.find(({ kind }) => kind === 'integer')?.name;
  const average = catalogue.tables
    .find(({ name }) => name === 'metrics')
    ?.columns.find(({ kind }) => kind === 'number');
  const at = (offset: number) => `id IN (SELECT id FROM responses ORDER BY id LIMIT 1 OFFSET ${offset})`;
  return [
    `UPDATE responses SET prompt = 'NUL ' || chr(0) || ' Zoë "日本" 🎉' || chr(13) || chr(10) || '\\ '', end'
      WHERE ${at(0)}`,
    `UPDATE responses SET created_at = TIMESTAMP '2026-03-01 00:00:00.000001' WHERE ${at(1)}`,
    `UPDATE responses SET created_at = NULL WHERE ${at(2)} OR ${at(3)}`,
    `INSERT INTO alerts (id, detected_at, headline) VALUES (uuid(), TIMESTAMP '1969-12-31 23:59:59.999999', ''),
      (uuid(), TIMESTAMP '2400-01-01 00:00:00', NULL)`,
    `INSERT INTO traffic_daily ("${count}") VALUES (9223372036854775807), (-9007199254740993), (NULL)`,
    `INSERT INTO metrics ("${average?.name}") VALUES ('NaN'), ('Infinity'), (-0.1), (1e-300), (NULL)`,
    'DELETE FROM article_sources',
  ];
}
