import { parseExactJson } from '../../base/json.ts';
import { BodyError } from '../../contract/body.ts';
import type { Catalogue, Resource } from '../../contract/catalogue.ts';
import { WHOLE_ITEM } from '../../contract/generic/generic-declarations.ts';
import { CHANGE, CHILDREN, type HistoryTable, VALID_FROM, VALID_TO } from '../../contract/histories.ts';
import { createRowReader, type Repeats, type Row, type RowReader, type Values } from '../../contract/rows.ts';
import { CONTENT_KEY, engineColumns, hasContentKey, OBSERVED_AT, type ResourceTable } from '../../contract/tables.ts';
import type { Session } from '../database.ts';
import { quoted } from '../schema.ts';
import { createChildWriter } from '../write/child-rows.ts';
import { stage, staged } from '../write/staging.ts';
import { insertSql, pickColumns, statementsOf } from '../write/statements.ts';

/** Rows that are decoded and inserted at once. */
const ROWS_AT_ONCE = 2_000;

/** A table with whole items that was moved aside, with its history. */
export interface SetAside {
  readonly table: ResourceTable;
  /** Names of the temporary tables. */
  readonly rows: string;
  readonly history: string | null;
}

/**
 * Moves the rows of a table with whole items, of its child tables and of its history into temporary tables, and drops the tables.
 * Call it within a transaction.
 */
export async function setAside(session: Session, table: ResourceTable, hasHistory: boolean): Promise<SetAside> {
  const move = async (name: string): Promise<string> => {
    const aside = `_aside_${name}`;
    await session.run(
      `CREATE OR REPLACE TEMP TABLE ${quoted(aside)} AS SELECT *, rowid AS _place FROM main.${quoted(name)}`,
    );
    await session.run(`DROP TABLE main.${quoted(name)}`);
    return aside;
  };
  const rows = await move(table.name);
  const history = hasHistory ? await move(`${table.name}_history`) : null;
  for (const child of table.children) await session.run(`DROP TABLE IF EXISTS main.${quoted(child.name)}`);
  return { table, rows, history };
}

/** Drops the temporary tables. */
export async function dropAside(session: Session, { rows, history }: SetAside): Promise<void> {
  for (const name of [rows, history]) if (name !== null) await session.run(`DROP TABLE IF EXISTS temp.${quoted(name)}`);
}

/**
 * Fills the empty tables of a resource from whole items that were set aside: decodes every item and every earlier version again, with
 * their times, runs and tombstones. Returns whether all of them could be stored.
 */
export async function refill(
  session: Session,
  aside: SetAside,
  catalogue: Catalogue,
  resource: Resource,
): Promise<boolean> {
  const [table] = resource.derived;
  if (table === undefined || table.fixed.length !== aside.table.fixed.length) return false;
  if (resource.change.kind === 'detail') return false;
  const parts: Parts = { session, aside, table, resource, reader: createRowReader(catalogue, resource) };
  if (resource.change.kind === 'value') return refillSeries(parts);
  const areComplete = await refillRows(parts);
  const history = catalogue.histories.find(({ of }) => of === table.name);
  return (history === undefined || (await refillHistory(parts, history))) && areComplete;
}

interface Parts {
  readonly session: Session;
  readonly aside: SetAside;
  readonly table: ResourceTable;
  readonly resource: Resource;
  readonly reader: RowReader;
}

// Deleted rows come first, so that a live row with the same key replaces them.
async function refillRows({ session, aside, table, ...parts }: Parts): Promise<boolean> {
  const columns = [...table.columns, ...engineColumns];
  const statements = statementsOf(columns, table.key, []);
  const insert = insertSql(table.name, columns, statements);
  const remove = statementsOf(
    columns.filter(({ name }) => table.key.includes(name)),
    table.key,
    [],
  );
  const children = createChildWriter(table, []);
  const decode = createDecoder({ session, aside, table, ...parts });
  let isComplete = true;
  for (const condition of ['_deleted_at IS NOT NULL', '_deleted_at IS NULL']) {
    const engine = ['_synced_at', '_run_id', '_deleted_at'];
    for await (const stored of storedRows(session, aside.rows, condition, aside.table, engine)) {
      const byKey = new Map<string, Row>();
      for (const one of stored) {
        const row = decode(one, '');
        isComplete &&= row !== null;
        if (row !== null) byKey.set(JSON.stringify(row.key), row);
      }
      const rows = [...byKey.values()];
      const keys = stage(rows.map(({ key }) => pickColumns(key, remove.staged)));
      await children.remove(session, rows, {});
      await session.run(
        `DELETE FROM ${quoted(table.name)} t USING ${staged(remove.staged, '$1')} s WHERE ${remove.matches}`,
        [keys],
      );
      await session.run(
        insert,
        statements.parameters(
          stage(rows.map((row) => pickColumns({ ...row.values, _row_hash: row.hash, _extra: row.extra }, columns))),
          {},
        ),
      );
      await children.insert(session, rows, {});
    }
  }
  return isComplete;
}

async function refillHistory(parts: Parts, history: HistoryTable): Promise<boolean> {
  const { session, aside } = parts;
  if (aside.history === null) return true;
  const statements = statementsOf(history.columns, history.key, []);
  const insert = insertSql(history.name, history.columns, statements);
  const decode = createDecoder(parts);
  let isComplete = true;
  for await (const stored of storedRows(session, aside.history, 'true', aside.table, [
    VALID_FROM,
    VALID_TO,
    CHANGE,
    '_run_id',
  ])) {
    const rows = stored.flatMap((one) => {
      const row = decode(one, String(one.engine[VALID_FROM]));
      isComplete &&= row !== null;
      if (row === null) return [];
      const nested = Object.fromEntries(
        row.children.map(({ table: { name }, rows: elements }) => [
          name,
          elements.map(({ values, extra }) => ({ ...withoutOrdinal(values), _extra: extra })),
        ]),
      );
      const values = { ...row.values, _row_hash: row.hash, _extra: row.extra, ...one.engine, [CHILDREN]: nested };
      return [pickColumns(values, history.columns)];
    });
    await session.run(insert, statements.parameters(stage(rows), {}));
  }
  return isComplete;
}

// Every version of an object is a row of its series.
async function refillSeries(parts: Parts): Promise<boolean> {
  const { session, aside, table } = parts;
  if (aside.history === null) return false;
  const columns = [...table.columns, ...engineColumns];
  const statements = statementsOf(columns, table.key, []);
  const insert = insertSql(table.name, columns, statements);
  const decode = createDecoder(parts);
  let isComplete = true;
  const versions = storedRows(session, aside.history, `change <> 'deleted'`, aside.table, [VALID_FROM, '_run_id']);
  for await (const stored of versions) {
    const rows = stored.flatMap((one) => {
      const row = decode(one, '');
      isComplete &&= row !== null;
      if (row === null) return [];
      const time = one.engine[VALID_FROM];
      const values = { ...row.values, _row_hash: row.hash, _extra: row.extra, _run_id: one.engine['_run_id'] };
      return [pickColumns({ ...values, [OBSERVED_AT]: time, _synced_at: time, _deleted_at: null }, columns)];
    });
    await session.run(insert, statements.parameters(stage(rows), {}));
  }
  return isComplete;
}

interface StoredRow {
  readonly fixed: readonly unknown[];
  readonly item: unknown;
  readonly contentKey: string | null;
  readonly engine: Readonly<Record<string, unknown>>;
}

async function* storedRows(
  session: Session,
  name: string,
  condition: string,
  table: ResourceTable,
  engine: readonly string[],
): AsyncGenerator<StoredRow[], void, undefined> {
  const text = (column: string): string => `CAST(${quoted(column)} AS VARCHAR)`;
  const contentKey = hasContentKey(table) ? quoted(CONTENT_KEY) : 'NULL';
  const selected = [text(WHOLE_ITEM), contentKey, '_place', ...table.fixed.map(text), ...engine.map(text)];
  for (let last = -1; ;) {
    const rows = await session.query(
      `SELECT ${selected.join(', ')} FROM temp.${quoted(name)} WHERE ${condition} AND _place > $1
       ORDER BY _place LIMIT ${ROWS_AT_ONCE}`,
      [last],
    );
    if (rows.length === 0) return;
    last = Number(rows.at(-1)?.[2]);
    yield rows.map(([item, key, , ...others]) => ({
      item: parseExactJson(String(item ?? 'null')),
      contentKey: key as string | null,
      fixed: others.slice(0, table.fixed.length),
      engine: Object.fromEntries(engine.map((column, index) => [column, others[table.fixed.length + index] ?? null])),
    }));
  }
}

// Returns the decoder of stored items; null for items that the declaration rejects. Path parameters keep their order.
function createDecoder({ table, reader }: Parts): (stored: StoredRow, version: string) => Row | null {
  const repeats = new Map<string, Repeats>();
  return ({ fixed, item, contentKey, engine }, version) => {
    const values: Values = Object.fromEntries(table.fixed.map((name, index) => [name, fixed[index]]));
    const scope = JSON.stringify([fixed, version]);
    const counted = repeats.get(scope) ?? new Map<string, number>();
    repeats.set(scope, counted);
    const options = { itemsMax: Number.POSITIVE_INFINITY, bytes: 0, isDamaged: false, repeats: counted };
    let row: Row | undefined;
    try {
      row = reader.read(bodyOf(table, item), values, options)[0]?.rows[0];
    } catch (thrown) {
      if (!(thrown instanceof BodyError)) throw thrown;
    }
    if (row === undefined) return null;
    const identity = contentKey !== null && hasContentKey(table) ? { [CONTENT_KEY]: contentKey } : {};
    const provenance = {
      _synced_at: engine['_synced_at'],
      _run_id: engine['_run_id'],
      _deleted_at: engine['_deleted_at'],
    };
    return {
      ...row,
      key: { ...row.key, ...identity },
      values: { ...row.values, ...identity, ...provenance },
      children: row.children.map((child) => ({
        ...child,
        inherited: { ...child.inherited, ...linked(child.inherited, identity), ...provenance },
      })),
    };
  };
}

function linked(inherited: Values, identity: Values): Values {
  return Object.fromEntries(Object.entries(identity).filter(([name]) => Object.hasOwn(inherited, name)));
}

function bodyOf({ declaration: { at } }: ResourceTable, item: unknown): unknown {
  if (at === 'body') return item;
  return at.list.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), [item]);
}

function withoutOrdinal({ ordinal: _ordinal, ...values }: Values): Values {
  return values;
}
