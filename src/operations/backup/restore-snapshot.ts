import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { isAbsolute, join, normalize } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { SightlineError } from '../../base/errors.ts';
import type { WarehouseTable } from '../../contract/catalogue.ts';
import type { HistoryTable } from '../../contract/histories.ts';
import { number, type ValueOf } from '../../contract/operation/json-parts.ts';
import { sumsOf } from '../../publish/snapshot/fingerprint.ts';
import { type Manifest, readManifest, type SnapshotFile, type SnapshotTable } from '../../publish/snapshot/manifest.ts';
import type { Session } from '../../warehouse/database.ts';
import { DamagedFile } from '../../warehouse/errors.ts';
import { hashFile } from '../../warehouse/file/hash-file.ts';
import { noteOrigin } from '../../warehouse/ledger/origin.ts';
import { checkSchemaVersion } from '../../warehouse/schema-version.ts';
import { fileLiteral, quoted, sqlTypes } from '../../warehouse/schema.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import { restoreItems } from '../../warehouse/write/restored-items.ts';

/** Tables and rows of a rebuilt warehouse. */
export const restoredSnapshot = z.object({
  tables: number,
  rows: number,
  missing: z
    .array(z.string())
    .describe(
      'tables of this version that the source lacks; a history starts with the current rows, the others are empty',
    ),
  unknown: z.array(z.string()).describe('tables of the source that this version does not know'),
});

/** Tables and rows of a rebuilt warehouse. */
export type RestoredSnapshot = ValueOf<typeof restoredSnapshot>;

/** Reads a snapshot's manifest. Throws `warehouse_invalid` if there is none or its schema is older, `warehouse_newer` if it is newer. */
export async function readSnapshot(folder: string): Promise<Manifest> {
  const manifest = await readManifest(folder);
  if (manifest === null) {
    throw new SightlineError('warehouse_invalid', `${folder} is not a snapshot: it has no readable manifest`);
  }
  try {
    checkSchemaVersion(folder, manifest.schemaVersion);
  } catch (thrown) {
    if (!(thrown instanceof DamagedFile)) throw thrown;
    const hint =
      'Restore it with the version of sightline that wrote it, or read all data again with `sightline sync`.';
    throw new SightlineError('warehouse_invalid', thrown.message, { hint, cause: thrown });
  }
  return manifest;
}

/** Describes each file of a snapshot that is missing or differs from the manifest, one sentence per file. */
export async function findDamagedFiles(folder: string, manifest: Manifest): Promise<string[]> {
  const damages: string[] = [];
  for (const { path, bytes, sha256 } of manifest.tables.flatMap(({ files }) => files)) {
    const full = join(folder, path);
    const isWithin = !isAbsolute(path) && !normalize(path).startsWith('..');
    if (!isWithin || !existsSync(full)) damages.push(`${path} is missing`);
    else if ((await stat(full)).size !== bytes) damages.push(`${path} does not have the size recorded in the manifest`);
    else if ((await hashFile(full)) !== sha256)
      damages.push(`${path} does not have the SHA-256 recorded in the manifest`);
  }
  return damages;
}

/**
 * Fills an empty warehouse from a snapshot's files, cast to the column types of the warehouse.
 *
 * @throws `warehouse_invalid` if a file is damaged or the restored rows differ from the manifest.
 */
export async function fillFromSnapshot(
  warehouse: Warehouse,
  folder: string,
  manifest: Manifest,
  signal: AbortSignal,
): Promise<RestoredSnapshot> {
  const damages = await findDamagedFiles(folder, manifest);
  if (damages.length > 0) throw new SightlineError('warehouse_invalid', `snapshot ${folder}: ${damages.join('; ')}`);
  const known: readonly (WarehouseTable | HistoryTable)[] = [
    ...warehouse.catalogue.tables,
    ...warehouse.catalogue.histories,
  ];
  // Marts are views, which every warehouse has.
  const stored = manifest.tables.filter(({ kind }) => kind !== 'mart');
  const sources = new Map(stored.map((table) => [table.name, table]));
  let rows = 0;
  await warehouse.database.transaction(async (session) => {
    for (const table of known) {
      signal.throwIfAborted();
      const source = sources.get(table.name);
      if (source !== undefined) rows += await fillTable(session, table, source, folder);
    }
    await restoreItems(session, warehouse.catalogue);
    await noteOrigin(session, `${manifest.id} ${createHash('sha256').update(JSON.stringify(manifest)).digest('hex')}`);
  });
  const names = new Set(known.map(({ name }) => name));
  return {
    tables: known.filter(({ name }) => sources.has(name)).length,
    rows,
    missing: known.map(({ name }) => name).filter((name) => !sources.has(name)),
    unknown: [...sources.keys()].filter((name) => !names.has(name)),
  };
}

async function fillTable(
  session: Session,
  table: WarehouseTable,
  { name, rows, files, columns }: SnapshotTable,
  folder: string,
): Promise<number> {
  if (files.length === 0) return 0;
  const source = sourceOf(files, folder);
  const there = new Set(columns.map((column) => column.name));
  const taken = table.columns.filter((column) => there.has(column.name));
  const list = taken.map((column) => quoted(column.name)).join(', ');
  const values = taken.map((column) => `CAST(${quoted(column.name)} AS ${sqlTypes[column.kind]})`).join(', ');
  await session.run(`INSERT INTO ${quoted(name)} (${list}) SELECT ${values} FROM ${source}`);
  const part = { ...table, columns: taken };
  const [read, written] = [await sumsOf(session, part, source), await sumsOf(session, part, quoted(name))];
  if (read.rows === rows && isDeepStrictEqual(read, written)) return rows;
  const counts = `the manifest counts ${rows} rows, its files have ${read.rows}, and ${written.rows} were restored`;
  throw new SightlineError('warehouse_invalid', `${name} was not restored completely: ${counts}`);
}

function sourceOf(files: readonly SnapshotFile[], folder: string): string {
  const paths = files.map(({ path }) => fileLiteral(join(folder, path))).join(', ');
  return `read_parquet([${paths}], hive_partitioning = false, union_by_name = true)`;
}
