import { existsSync } from 'node:fs';
import { SightlineError } from '../../base/errors.ts';
import type { Catalogue, WarehouseTable } from '../../contract/catalogue.ts';
import { type Column, isItemText } from '../../contract/tables.ts';
import type { Database, Session } from '../../warehouse/database.ts';
import { literal, quoted } from '../../warehouse/schema.ts';
import type { Layout } from './layout.ts';

/** Contents of a table of a snapshot: current rows, earlier versions of rows, or an analysis view. */
export const EXPORTED_KINDS = ['data', 'history', 'mart'] as const;
type ExportedKind = (typeof EXPORTED_KINDS)[number];

/** A table or view that snapshots contain. */
export interface ExportedTable extends Pick<WarehouseTable, 'name' | 'about' | 'key' | 'time'> {
  readonly columns: readonly Pick<Column, 'name' | 'kind' | 'about'>[];
  /** SQL of the rows' table or view; by default the table of that name. */
  readonly source?: string;
  readonly kind?: ExportedKind;
}

/**
 * Name under which the replica is attached while a snapshot is written. Views are read from the replica, because the views of the
 * warehouse contain half-stored days.
 */
export const REPLICA = 'replica';

/**
 * Attaches the replica if there are marts to read. Returns a function that detaches it.
 * @throws `no_data` if there is no replica
 */
export async function attachReplica(
  database: Database,
  marts: readonly ExportedTable[],
  { analytics }: Pick<Layout, 'analytics'>,
): Promise<() => Promise<void>> {
  if (marts.length === 0) return async () => undefined;
  if (!existsSync(analytics)) throw new SightlineError('no_data', `there is no replica ${analytics}`);
  await database.exclusive((session) => session.run(`ATTACH ${literal(analytics)} AS ${REPLICA} (READ_ONLY)`));
  return async () => {
    await database.exclusive((session) => session.run(`DETACH ${REPLICA}`));
  };
}

/** Name of the temporary table with the rows of a view. */
const STORED_VIEW = 'temp.snapshot_view';

/** The tables and histories of a catalogue, without the text of the items, which the other columns repeat. */
export function catalogueTables({ tables, histories }: Catalogue): ExportedTable[] {
  return [
    ...tables.map((table) => ({
      ...table,
      columns: table.columns.filter((column) => !isItemText(column)),
      kind: 'data' as const,
    })),
    ...histories.map((table) => ({ ...table, kind: 'history' as const })),
  ];
}

/** SQL of the rows of a table. */
export function sourceOf({ name, source }: ExportedTable): string {
  return source ?? quoted(name);
}

/** Reports whether the export stores the rows of a table first. It does so for views without a time; those with a time are large. */
export function isStored({ kind, time }: ExportedTable): boolean {
  return kind === 'mart' && time === undefined;
}

/**
 * Stores the rows of a view in a temporary table, runs `work` and drops the table. If `work` throws, the caller's rollback drops the table.
 * An export reads rows twice, and a view may return another of several equal values the second time.
 */
export async function withStoredRows<T>(
  session: Session,
  view: ExportedTable,
  work: (stored: ExportedTable) => Promise<T>,
): Promise<T> {
  await session.run(`CREATE OR REPLACE TEMP TABLE ${STORED_VIEW} AS FROM ${sourceOf(view)}`);
  const value = await work({ ...view, source: STORED_VIEW });
  await session.run(`DROP TABLE ${STORED_VIEW}`);
  return value;
}
