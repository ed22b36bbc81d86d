import type { WarehouseTable } from '../contract/catalogue.ts';
import type { Session } from '../warehouse/database.ts';
import type { Scratch } from '../warehouse/scratch.ts';
import { fingerprintOf } from './fingerprint.ts';
import type { SnapshotFile, SnapshotTable } from './manifest.ts';
import { copyPart, formOf, parquetColumns, settlePart } from './parquet.ts';
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
  /** Reads back what was written. */
  readonly scratch: Scratch;
  readonly signal: AbortSignal;
}

/** Puts a table's files into the snapshot and describes them, once they are settled. */
export interface TableExport {
  add(table: WarehouseTable): Promise<void>;
  /** All tables that were added, and what had to be written for them. */
  finish(): Promise<{ tables: SnapshotTable[]; written: Tally }>;
  /** Waits until nothing is under way, however it ends. */
  settled(): Promise<void>;
}

/**
 * Builds it for one snapshot, whose tables are read within one transaction. One file is read back and hashed while the next
 * one is written: that takes about the time that a sorting COPY leaves of two cores.
 */
export async function createTableExport(session: Session, parts: TableExportParts): Promise<TableExport> {
  const { folder, previous, compression, month, scratch, signal } = parts;
  // Another version may write the same rows in another way.
  const [row] = await session.all('SELECT version() AS version');
  const writer = String(row?.['version']);
  const written = { files: 0, bytes: 0 };
  const all: { table: WarehouseTable; files: (() => SnapshotFile)[] }[] = [];
  let settling: Promise<void> = Promise.resolve();

  const write = async (table: WarehouseTable, part: Part, fingerprint: string): Promise<() => SnapshotFile> => {
    const aside = await copyPart(session, table, part, folder, compression);
    await settling;
    let file: SnapshotFile | null = null;
    settling = settlePart(scratch, table, part, folder, aside).then((settled) => {
      const { rows, min, max } = part.sums;
      file = { path: settled.path, rows, bytes: settled.bytes, sha256: settled.sha256, min, max, fingerprint };
      written.files += 1;
      written.bytes += settled.bytes;
    });
    // It is waited for before the next one; until then its failure is nobody's.
    settling.catch(() => undefined);
    return () => file as unknown as SnapshotFile;
  };
  return {
    add: async (table) => {
      const files: (() => SnapshotFile)[] = [];
      for (const part of await partsOf(session, table, month)) {
        signal.throwIfAborted();
        const fingerprint = fingerprintOf(formOf(table, compression, writer), part.sums);
        const reused = (await previous?.reuse(part.folder, fingerprint, folder)) ?? null;
        files.push(reused === null ? await write(table, part, fingerprint) : () => reused);
      }
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

function describe(table: WarehouseTable, files: readonly SnapshotFile[]): SnapshotTable {
  const sum = (of: (file: SnapshotFile) => number): number => files.reduce((total, file) => total + of(file), 0);
  return {
    name: table.name,
    about: table.about,
    rows: sum((file) => file.rows),
    bytes: sum((file) => file.bytes),
    columns: parquetColumns(table),
    files,
  };
}
