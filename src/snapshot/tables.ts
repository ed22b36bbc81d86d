import type { WarehouseTable } from '../contract/catalogue.ts';
import type { Session } from '../warehouse/database.ts';
import { fingerprintOf } from './fingerprint.ts';
import type { SnapshotFile, SnapshotTable } from './manifest.ts';
import { formOf, parquetColumns, writePart } from './parquet.ts';
import { type Part, partsOf } from './parts.ts';
import type { Previous } from './reuse.ts';

/** How much was written. */
export interface Tally {
  files: number;
  bytes: number;
}

/** What the tables of one snapshot share. */
export interface TableExportParts {
  /** The folder of the snapshot to be. */
  readonly folder: string;
  readonly previous: Previous | null;
  readonly compression: string;
  /** Month of an empty table, YYYY-MM. */
  readonly month: string;
  readonly signal: AbortSignal;
}

/** Puts a table's files into the snapshot, adds those that had to be written to the tally, and describes them. */
export type TableExport = (table: WarehouseTable, written: Tally) => Promise<SnapshotTable>;

/** Builds it for one snapshot, whose tables are read within one transaction. */
export async function createTableExport(session: Session, parts: TableExportParts): Promise<TableExport> {
  const { folder, previous, compression, month, signal } = parts;
  // Another version may write the same rows in another way.
  const [row] = await session.all('SELECT version() AS version');
  const writer = String(row?.['version']);
  const fileOf = async (table: WarehouseTable, part: Part, written: Tally): Promise<SnapshotFile> => {
    const fingerprint = fingerprintOf(formOf(table, compression, writer), part.sums);
    const reused = (await previous?.reuse(part.folder, fingerprint, folder)) ?? null;
    if (reused !== null) return reused;
    const { path, bytes, sha256 } = await writePart(session, table, part, folder, compression);
    written.files += 1;
    written.bytes += bytes;
    const { rows, min, max } = part.sums;
    return { path, rows, bytes, sha256, min, max, fingerprint };
  };
  return async (table, written) => {
    const files: SnapshotFile[] = [];
    for (const part of await partsOf(session, table, month)) {
      signal.throwIfAborted();
      files.push(await fileOf(table, part, written));
    }
    const sum = (of: (file: SnapshotFile) => number): number => files.reduce((total, file) => total + of(file), 0);
    return {
      name: table.name,
      about: table.about,
      rows: sum((file) => file.rows),
      bytes: sum((file) => file.bytes),
      columns: parquetColumns(table),
      files,
    };
  };
}
