import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../../src/base/clock.ts';
import type { Catalogue, WarehouseTable } from '../../../src/contract/catalogue.ts';
import type { Column } from '../../../src/contract/tables.ts';
import type { Database, ResultRow } from '../../../src/warehouse/database.ts';
import { openWarehouse } from '../../../src/warehouse/warehouse.ts';
import { builtInCatalogue as catalogue } from '../../../src/workspace/catalogues.ts';
import { originalOf, worldClock } from '../../support/worlds.ts';

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

/**
 * Opens a world with responses in two months, some of them deleted, rows in every table except article_sources, and rows with every
 * unusual value of a column.
 */
export async function openOddWorkspace(): Promise<OddWorkspace> {
  const folder = await mkdtemp(join(tmpdir(), 'sightline-snapshot-'));
  const path = join(folder, 'warehouse.duckdb');
  await copyFile(join(await originalOf('small'), 'data/default/warehouse.duckdb'), path);
  const warehouse = await openWarehouse(path, catalogue, {});
  const { database } = warehouse;
  const query = (sql: string): Promise<ResultRow[]> => database.exclusive((session) => session.all(sql));
  const run = (...statements: string[]): Promise<void> =>
    database.exclusive(async (session) => {
      for (const statement of statements) await session.run(statement);
    });
  await run(...oddities());
  for (const table of [...catalogue.tables, ...catalogue.histories]) {
    const [row] = await query(`SELECT count(*) AS n FROM "${table.name}"`);
    if (row?.['n'] === 0n && table.name !== 'article_sources') await run(rowsFor(table));
  }
  const close = async (): Promise<void> => {
    await warehouse.close();
    await rm(folder, { recursive: true, force: true });
  };
  return { catalogue, database, clock: worldClock(), folder, query, run, close };
}

function oddities(): string[] {
  const columnOf = (table: string, kind: Column['kind']): string =>
    catalogue.tables.find(({ name }) => name === table)?.columns.find((column) => column.kind === kind)?.name ?? '';
  const at = (offset: number) => `id IN (SELECT id FROM responses ORDER BY id LIMIT 1 OFFSET ${offset})`;
  return [
    ...['responses', 'response_citations', 'response_competitors'].map(
      (name) => `UPDATE ${name} SET created_at = created_at - INTERVAL 15 DAY WHERE created_at < DATE '2026-03-11'`,
    ),
    `UPDATE responses SET _deleted_at = TIMESTAMP '2026-03-15 12:00:00' WHERE id IN (SELECT id FROM responses ORDER BY id DESC LIMIT 5)`,
    `UPDATE responses SET prompt = 'NUL ' || chr(0) || ' Zoë "日本" 🎉' || chr(13) || chr(10) || '\\ '', end' WHERE ${at(0)}`,
    `UPDATE responses SET created_at = TIMESTAMP '2026-03-01 00:00:00.000001' WHERE ${at(1)}`,
    `UPDATE responses SET created_at = NULL WHERE ${at(2)} OR ${at(3)}`,
    `INSERT INTO alerts (id, detected_at, headline) VALUES (uuid(), TIMESTAMP '1969-12-31 23:59:59.999999', ''),
      (uuid(), TIMESTAMP '2400-01-01 00:00:00', NULL)`,
    `INSERT INTO traffic_daily ("${columnOf('traffic_daily', 'integer')}") VALUES (9223372036854775807), (-9007199254740993), (NULL)`,
    `INSERT INTO metrics ("${columnOf('metrics', 'number')}") VALUES ('NaN'), ('Infinity'), (-0.1), (1e-300), (NULL)`,
    'DELETE FROM article_sources',
  ];
}

const VALUES: Readonly<Record<Column['kind'], string>> = {
  uuid: 'uuid()',
  text: "'text ' || i",
  json: `'{"a": [1]}'`,
  integer: 'i',
  number: 'i / 3',
  boolean: 'i = 1',
  timestamp: "TIMESTAMP '2026-03-01 12:00:00' + INTERVAL (i) DAY",
  day: "DATE '2026-03-01' + i::INTEGER",
};

function rowsFor({ name, columns }: WarehouseTable): string {
  const list = columns.map((column) => `"${column.name}"`).join(', ');
  return `INSERT INTO "${name}" (${list}) SELECT ${columns.map(({ kind }) => VALUES[kind]).join(', ')} FROM range(3) r(i)`;
}
