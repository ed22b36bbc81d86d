import type { Session } from '../../warehouse/database.ts';
import { type CopyContents, type Days, stateOf } from '../../warehouse/file/copy-contents.ts';
import { quoted } from '../../warehouse/schema.ts';
import type { Scratch } from '../../warehouse/scratch.ts';
import { type ExportedTable, isStored, withStoredRows } from './exported-table.ts';
import { digestOf, fingerprintOf } from './fingerprint.ts';
import type { SnapshotFile, SnapshotTable } from './manifest.ts';
import { copyPart, formOf, type ParquetForm, parquetColumns, settlePart, sortOf } from './parquet.ts';
import { filesByDay, type Part, type PartOptions, partsOf } from './parts.ts';
import type { Previous } from './reuse.ts';
import { createWorkQueue } from './work-queue.ts';

/** A number of files and bytes. */
export interface FileCounts {
  files: number;
  bytes: number;
}

/** A session of the warehouse and a database that reads written files back. Lanes work at the same time. */
export interface Lane {
  readonly session: Session;
  readonly scratch: Scratch;
}

/** Dependencies that the tables of one snapshot share. */
export interface TableExportParts extends Pick<PartOptions, 'month' | 'fileRows'> {
  /** Folder of the new snapshot. */
  readonly folder: string;
  readonly previous: Previous | null;
  readonly form: ParquetForm;
  /** Contents of the replica; null if they are unknown. */
  readonly contents: CopyContents | null;
  /** The lanes, which read the same state. */
  readonly lanes: readonly Lane[];
  readonly signal: AbortSignal;
  /** Called before each scan of a table and each file, with the number of complete tables. */
  readonly onProgress: (table: string, done: number) => void;
}

/** Runs work on a lane. Work with a higher priority runs first. */
type OnLane = <T>(work: (lane: Lane) => Promise<T>, priority: number) => Promise<T>;

/**
 * Adds the files of tables to a snapshot. Returns the tables with their files, and how much was written. Each lane writes one file at a
 * time and reads it back. After an error, no further file is begun; the error is thrown when all lanes are idle.
 */
export async function exportTables(
  tables: readonly ExportedTable[],
  parts: TableExportParts,
): Promise<{ tables: SnapshotTable[]; written: FileCounts }> {
  const { lanes, folder, previous, form, month, fileRows, contents, signal, onProgress } = parts;
  const queue = createWorkQueue(lanes.length, signal);
  const free = [...lanes];
  const onLane: OnLane = (work, priority) =>
    queue.add(async () => {
      const lane = free.pop() as Lane;
      try {
        return await work(lane);
      } finally {
        free.push(lane);
      }
    }, priority);
  // Another version of DuckDB may write the same rows differently.
  const [row] = await (lanes[0] as Lane).session.all('SELECT version() AS version');
  const writer = String(row?.['version']);
  const written = { files: 0, bytes: 0 };
  let done = 0;

  const begin = (table: ExportedTable): void => {
    onProgress(table.name, done);
    signal.throwIfAborted();
  };
  const originOf = (table: ExportedTable, days: Days): string | undefined => {
    const { reads = [`"main".${quoted(table.name)}`] } = table;
    if (contents === null || reads === null) return undefined;
    return digestOf([formOf(table, form, writer), stateOf(contents, reads, days)]);
  };
  const fileOf = async ({ session, scratch }: Lane, table: ExportedTable, part: Part): Promise<SnapshotFile> => {
    begin(table);
    const fingerprint = fingerprintOf(formOf(table, form, writer), part.sums);
    const reused = await previous?.reuse(part.folder, fingerprint, folder);
    if (reused) return reused;
    const aside = await copyPart(session, table, part, folder, form);
    const { path, bytes, sha256 } = await settlePart(scratch, table, part, folder, aside);
    written.files += 1;
    written.bytes += bytes;
    const { rows, min, max } = part.sums;
    return { path, rows, bytes, sha256, min, max, fingerprint };
  };
  const filesOf = async (table: ExportedTable, priority: number, on: OnLane): Promise<SnapshotFile[]> => {
    const [kept, found] = await on(async ({ session }) => {
      begin(table);
      const unchanged = (await previous?.keep(table.name, (days) => originOf(table, days), folder)) ?? [];
      return [unchanged, await partsOf(session, table, { month, fileRows, kept: unchanged })] as const;
    }, priority);
    const others = await Promise.all(found.map((part) => on((lane) => fileOf(lane, table, part), priority)));
    return filesByDay([...kept, ...others]).map(({ file, days }) => {
      return { ...file, origin: file.rows === 0 ? undefined : originOf(table, days) };
    });
  };
  const exportTable = async (table: ExportedTable, index: number): Promise<SnapshotTable> => {
    // The files of a table are written before the next table is scanned.
    const priority = tables.length - index;
    // Stored rows are in a temporary table, which only its session sees.
    const files = isStored(table)
      ? await onLane(
          (lane) => withStoredRows(lane.session, table, (stored) => filesOf(stored, priority, (work) => work(lane))),
          priority,
        )
      : await filesOf(table, priority, onLane);
    done += 1;
    return describe(table, files);
  };
  const exporting = tables.map(exportTable);
  try {
    return { tables: await Promise.all(exporting), written };
  } finally {
    // After an error, lanes finish the file that they write.
    await Promise.allSettled(exporting);
    await queue.idle();
  }
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
