import { stat } from 'node:fs/promises';
import { SightlineError } from '../../base/errors.ts';
import { DETAIL_ITEM, WHOLE_ITEM } from '../../contract/tables.ts';
import { openDatabase, type Session } from '../database.ts';
import { toOpenError } from '../errors.ts';
import { literal, quoted } from '../schema.ts';
import { removeDatabase } from './copy-database.ts';
import { registerOpen } from './open-files.ts';

const COPY_MEMORY_MB = 256;
const TRIES_MAX = 3;
const SOURCE = 'copied_from';
const TARGET = 'copied_to';
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Tables of the whole workspace that marts and readers need. `hidden` are columns that count rows of all brands. */
const SHARED_SYNC: Readonly<Record<string, { readonly hidden: Readonly<Record<string, string>> }>> = {
  meta: { hidden: {} },
  shapes: { hidden: {} },
  calibration: {
    hidden: { compared: '0', agreed: '0', note: "''", candidates: 'NULL', confidence: 'NULL' },
  },
};

/** Tables without the column `brand_id`. */
export interface BrandTables {
  /** Table of the brands, by its column `id`. */
  readonly brands: string;
  /** Tables without data of a brand: their JSON columns become null, because they contain whole items of upstream. */
  readonly shared: readonly string[];
}

/** Options of `copyBrands`. */
export interface BrandCopyOptions extends BrandTables {
  /** Ids of the brands; may be empty. */
  readonly ids: readonly string[];
  readonly temporaryFolder: string;
}

/**
 * Copies a replica with the rows of some brands only: rows of tables with `brand_id`, by that column; the brands; and the
 * shared tables. All other tables are in the copy, but empty. Rows of other brands are never written, so no query of the
 * copy can find them. Returns the identity of the copied file.
 *
 * @throws `no_data` if the replica is replaced again and again during the copy
 */
export async function copyBrands(from: string, to: string, options: BrandCopyOptions): Promise<string> {
  const wrong = options.ids.find((id) => !UUID.test(id));
  if (wrong !== undefined) throw new SightlineError('internal', `${JSON.stringify(wrong)} is not the id of a brand`);
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const before = await fileIdentity(from);
    await copyOnce(from, to, options);
    if (before !== null && before === (await fileIdentity(from))) return before;
  }
  throw new SightlineError('no_data', 'the replica was replaced while it was copied; try again');
}

/** Identifies the content of a published file, which never changes; null if there is none. */
export async function fileIdentity(path: string): Promise<string | null> {
  const found = await stat(path, { bigint: true }).catch(() => null);
  return found === null ? null : `${found.dev}:${found.ino}:${found.mtimeNs}:${found.size}`;
}

async function copyOnce(from: string, to: string, options: BrandCopyOptions): Promise<void> {
  await removeDatabase(to);
  const release = registerOpen(from, 'read');
  const { temporaryFolder } = options;
  const database = await openDatabase(':memory:', { memoryLimitMb: COPY_MEMORY_MB, temporaryFolder });
  try {
    await database.exclusive(async (session) => {
      await session.run(`ATTACH ${literal(from)} AS ${SOURCE} (READ_ONLY)`);
      await session.run(`ATTACH ${literal(to)} AS ${TARGET}`);
      await session.run(`COPY FROM DATABASE ${SOURCE} TO ${TARGET} (SCHEMA)`);
      for (const table of await tablesOf(session)) {
        const select = selectOf(table, options);
        const name = `${quoted(table.schema)}.${quoted(table.name)}`;
        if (select !== null) await session.run(`INSERT INTO ${TARGET}.${name} ${select(`${SOURCE}.${name}`)}`);
      }
      await session.run(`CHECKPOINT ${TARGET}`);
      await session.run(`DETACH ${TARGET}`);
    });
  } catch (thrown) {
    throw toOpenError(from, thrown);
  } finally {
    await database.close();
    release();
  }
}

interface Table {
  readonly schema: string;
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
}

async function tablesOf({ query }: Session): Promise<Table[]> {
  const rows = await query(
    `SELECT schema_name, table_name, column_name, data_type FROM duckdb_columns()
     JOIN duckdb_tables() USING (database_name, schema_name, table_name)
     WHERE database_name = '${SOURCE}' ORDER BY schema_name, table_name, column_index`,
  );
  const tables = new Map<string, Table & { columns: { name: string; type: string }[] }>();
  for (const [schema, name, column, type] of rows.map((row) => row.map(String) as [string, string, string, string])) {
    const table = tables.get(`${schema}.${name}`) ?? { schema, name, columns: [] };
    tables.set(`${schema}.${name}`, table);
    table.columns.push({ name: column, type });
  }
  return [...tables.values()];
}

// Returns null for a table that stays empty.
function selectOf(table: Table, { brands, shared, ids }: BrandCopyOptions): ((from: string) => string) | null {
  const { schema, name, columns } = table;
  const isMain = schema === 'main';
  const key = isMain && [brands, `${brands}_history`].includes(name) ? 'id' : 'brand_id';
  const column = columns.find((candidate) => candidate.name === key);
  if (column !== undefined) {
    if (ids.length === 0) return null;
    const allowed = ids.map((id) => `CAST(${literal(id)} AS ${column.type})`).join(', ');
    return (from) => `SELECT * FROM ${from} WHERE ${quoted(key)} IN (${allowed})`;
  }
  const isShared = isMain && [...shared, ...shared.map((one) => `${one}_history`)].includes(name);
  const sync = schema === 'sync' ? SHARED_SYNC[name] : undefined;
  if (!isShared && sync === undefined) return null;
  const values = columns.map(({ name: one, type }) => {
    if (sync !== undefined) return sync.hidden[one] ?? quoted(one);
    return type === 'JSON' || ['_extra', WHOLE_ITEM, DETAIL_ITEM].includes(one) ? 'NULL' : quoted(one);
  });
  return (from) => `SELECT ${values.join(', ')} FROM ${from}`;
}
