import type { Catalogue, WarehouseTable } from '../../contract/catalogue.ts';
import { type Column, isItemText } from '../../contract/tables.ts';
import type { Session } from '../../warehouse/database.ts';
import { quoted } from '../../warehouse/schema.ts';

/** Contents of a table of a snapshot: current rows, earlier versions of rows, or an analysis view. */
export const EXPORTED_KINDS = ['data', 'history', 'mart'] as const;
type ExportedKind = (typeof EXPORTED_KINDS)[number];

/** A table or view that snapshots contain. */
export interface ExportedTable extends Pick<WarehouseTable, 'name' | 'about' | 'key' | 'time'> {
  readonly columns: readonly Pick<Column, 'name' | 'kind' | 'about'>[];
  /** SQL of the rows' table or view; by default the table of that name in the replica. */
  readonly source?: string;
  /** Tables that determine the rows of each month, such as `"main"."responses"`; default: the table itself; null: unknown. */
  readonly reads?: readonly string[] | null;
  readonly kind?: ExportedKind;
}

/** Name under which the replica is attached while a snapshot is written. The warehouse may contain half-stored days. */
export const REPLICA = 'replica';

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
  return source ?? `${REPLICA}.main.${quoted(name)}`;
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
