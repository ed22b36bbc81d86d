import type { Session } from '../warehouse/database.ts';
import type { HiddenRows } from '../warehouse/file/copy-database.ts';
import type { Scratch } from '../warehouse/scratch.ts';
import { type ExportedTable, withStoredRows } from './exported-table.ts';
import { fingerprintOf } from './fingerprint.ts';
import type { SnapshotFile, SnapshotTable } from './manifest.ts';
import { copyPart, formOf, type ParquetForm, parquetColumns, settlePart, sortOf } from './parquet.ts';
import { type Part, partsOf } from './parts.ts';
import type { Previous } from './reuse.ts';

/** A number of files and bytes. */
export interface FileCounts {
  files: number;
  bytes: number;
}

/** Dependencies that the tables of one snapshot share. */
export interface TableExportParts {
  /** Folder of the new snapshot. */
  readonly folder: string;
  readonly previous: Previous | null;
  readonly form: ParquetForm;
  /** Month of an empty table, YYYY-MM. */
  readonly month: string;
  /** Rows that the snapshot must not contain. */
  readonly hidden: readonly HiddenRows[];
  /** Reads written files back. */
  readonly scratch: Scratch;
  readonly signal: AbortSignal;
}

/** Adds the files of tables to a snapshot and describes them. */
export interface TableExport {
  add(table: ExportedTable): Promise<void>;
  /** Returns the added tables and how much was written for them. */
  finish(): Promise<{ tables: SnapshotTable[]; written: FileCounts }>;
  /** Waits until nothing is in progress; ignores errors. */
  settled(): Promise<void>;
}

/**
 * Creates the export of the tables of one snapshot, which are read in one transaction. A file is read back and hashed
 * while the next one is written, which takes about the time that a sorting COPY leaves free on two cores.
 */
export async function createTableExport(session: Session, parts: TableExportParts): Promise<TableExport> {
  const { folder, previous, form, month, hidden, scratch, signal } = parts;
  // Another version of DuckDB may write the same rows differently.
  const [row] = await session.all('SELECT version() AS version');
  const writer = String(row?.['version']);
  const written = { files: 0, bytes: 0 };
  const all: { table: ExportedTable; files: (() => SnapshotFile)[] }[] = [];
  let settling: Promise<void> = Promise.resolve();

  const write = async (table: ExportedTable, part: Part, fingerprint: string): Promise<() => SnapshotFile> => {
    const aside = await copyPart(session, table, part, folder, form);
    await settling;
    let file: SnapshotFile | null = null;
    settling = settlePart(scratch, table, part, folder, aside).then((settled) => {
      const { rows, min, max } = part.sums;
      file = { path: settled.path, rows, bytes: settled.bytes, sha256: settled.sha256, min, max, fingerprint };
      written.files += 1;
      written.bytes += settled.bytes;
    });
    // It is awaited before the next file; until then a rejection must not count as unhandled.
    settling.catch(() => undefined);
    return () => file as unknown as SnapshotFile;
  };
  return {
    add: async (table) => {
      const files: (() => SnapshotFile)[] = [];
      await withStoredRows(session, table, async (stored) => {
        for (const part of await partsOf(session, stored, month, hidden)) {
          signal.throwIfAborted();
          const fingerprint = fingerprintOf(formOf(stored, form, writer), part.sums);
          const reused = (await previous?.reuse(part.folder, fingerprint, folder)) ?? null;
          files.push(reused === null ? await write(stored, part, fingerprint) : () => reused);
        }
      });
      all.push({ table, files });
    },
    finish: async () => {
      await settling;
      return {
        tables: all.map(({ table, files }) =>
          describe(
            table,
            files.map((file) => file()),
          ),
        ),
        written,
      };
    },
    settled: () => settling.catch(() => undefined),
  };
}

function describe(table: ExportedTable, files: readonly SnapshotFile[]): SnapshotTable {
  const sum = (of: (file: SnapshotFile) => number): number => files.reduce((total, file) => total + of(file), 0);
  return {
    name: table.name,
    about: table.about,
    kind: table.kind ?? 'data',
    time: table.time ?? null,
    rows: sum((file) => file.rows),
    bytes: sum((file) => file.bytes),
    columns: parquetColumns(table),
    sortedBy: sortOf(table),
    files,
  };
}
