import type { Catalogue } from '../../contract/catalogue.ts';
import type { Database, Session } from '../database.ts';
import { literal, quoted } from '../schema.ts';
import { sameKey } from '../write/staging.ts';
import { copyDatabase } from './copy-database.ts';

/** Number of rows of a table that one warehouse has and another lacks. */
export interface MissingRows {
  readonly table: string;
  readonly rows: number;
}

/** Tables of schema `sync` that a replay fills. The others cannot be rebuilt from pages, so `carryOver` copies them. */
const REPLAYED = [
  'meta',
  'coverage',
  'checkpoints',
  'quarantine',
  'drift',
  'vocabulary',
  'listings',
  'unconfirmed_deletions',
  'echoed_days',
  'raw_pages',
];
/** Replayed tables with a column `resource`. */
const BY_RESOURCE = REPLAYED.filter((table) => table !== 'meta');
const OTHER = 'other_warehouse';

/** Copies the complete warehouse into a new file at `path`. */
export async function copyWarehouse(database: Database, path: string): Promise<void> {
  await database.exclusive((session) => copyDatabase(session, path, { forReaders: false }));
}

/** Deletes all rows of the resources and the state of their slices. */
export async function emptyResources(
  database: Database,
  catalogue: Catalogue,
  resources: ReadonlySet<string>,
): Promise<void> {
  const names = [...resources];
  await database.transaction(async (session) => {
    for (const table of tablesOf(catalogue, resources)) await session.run(`DELETE FROM ${quoted(table.name)}`);
    for (const table of BY_RESOURCE) {
      await session.run(`DELETE FROM sync.${table} WHERE list_contains($1, resource)`, [names]);
    }
  });
}

/**
 * Completes the warehouse at `path`, which was rebuilt from raw pages. Copies the ledgers that pages do not contain,
 * and sets a data version higher than that of either warehouse, so that readers notice the change.
 */
export async function carryOver(database: Database, path: string): Promise<void> {
  await withOther(database, path, async (session) => {
    const rows = await session.all(
      "SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = 'sync'",
    );
    for (const name of rows.map((row) => String(row['table_name'])).filter((table) => !REPLAYED.includes(table))) {
      const table = `${OTHER}.sync.${quoted(name)}`;
      const own = `sync.${quoted(name)}`;
      if (name === 'runs') await session.run(`DELETE FROM ${table} WHERE run_id IN (SELECT run_id FROM ${own})`);
      const [firstRow] = name === 'runs' ? [] : await session.all(`SELECT 1 FROM ${table} LIMIT 1`);
      if (firstRow === undefined) await session.run(`INSERT INTO ${table} BY NAME SELECT * FROM ${own}`);
    }
    const latest = (database: string): string => `SELECT max(data_version) AS version FROM ${database}sync.runs
      UNION ALL SELECT max(data_version) FROM ${database}sync.requests`;
    await session.run(`UPDATE ${OTHER}.sync.runs SET data_version = (SELECT coalesce(max(version), 0) + 1
      FROM (${latest('')} UNION ALL ${latest(`${OTHER}.`)}))
      WHERE rowid = (SELECT max(rowid) FROM ${OTHER}.sync.runs)`);
  });
}

/** Counts rows of this warehouse, deleted rows and history included, whose key the warehouse at `path` lacks. */
export async function findMissing(database: Database, path: string, catalogue: Catalogue): Promise<MissingRows[]> {
  return withOther(database, path, async (session) => {
    const missing: MissingRows[] = [];
    for (const { name, key } of [...catalogue.tables, ...catalogue.histories]) {
      // A table without its own key has one row per scope, so comparing counts is enough.
      const lacking =
        key.length === 0
          ? `(SELECT count(*) FROM ${quoted(name)}) - (SELECT count(*) FROM ${OTHER}.main.${quoted(name)})`
          : `(SELECT count(*) FROM ${quoted(name)} a WHERE NOT EXISTS
              (SELECT 1 FROM ${OTHER}.main.${quoted(name)} b WHERE ${sameKey('a', 'b', key)}))`;
      const [row] = await session.all(`SELECT CAST(${lacking} AS BIGINT) AS rows`);
      const rows = Number(row?.['rows'] ?? 0);
      if (rows > 0) missing.push({ table: name, rows });
    }
    return missing;
  });
}

function tablesOf(catalogue: Catalogue, resources: ReadonlySet<string>) {
  const own = catalogue.resources.filter(({ name }) => resources.has(name)).flatMap(({ derived }) => derived);
  const names = new Set(own.map(({ name }) => name));
  const children = own.flatMap((table) => table.children);
  return [
    ...catalogue.tables.filter(({ name }) => names.has(name) || children.some((child) => child.name === name)),
    ...catalogue.histories.filter(({ of }) => names.has(of)),
  ];
}

async function withOther<T>(database: Database, path: string, work: (session: Session) => Promise<T>): Promise<T> {
  return database.exclusive(async (session) => {
    await session.run(`ATTACH ${literal(path)} AS ${OTHER}`);
    try {
      const result = await work(session);
      // A session that keeps its own log would also keep the log of the other file.
      await session.run(`CHECKPOINT ${OTHER}`);
      return result;
    } finally {
      await session.run(`DETACH ${OTHER}`);
    }
  });
}
