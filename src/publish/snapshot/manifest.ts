import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { number, time, type ValueOf } from '../../contract/operation/json-parts.ts';
import { EXPORTED_KINDS } from './exported-table.ts';

/** The file that lists all others of a snapshot, written last. */
export const MANIFEST = 'manifest.json';

/** Id of a snapshot. */
export const snapshotId = z.string().describe('`20260315T021500Z`: id of the snapshot, a UTC time');

const file = z.object({
  path: z.string().describe('relative to the manifest'),
  rows: number,
  bytes: number,
  sha256: z.string().describe('in hex'),
  min: z.string().nullable().describe("smallest value of the table's time column; null if it has none"),
  max: z.string().nullable().describe("largest value of the table's time column; null if it has none"),
  fingerprint: z
    .string()
    .optional()
    .describe('equal for equal rows in the same form, in any order; files of older snapshots have none'),
  origin: z.string().optional().describe('equal for the same rows of a refreshed replica; older files have none'),
});

const table = z.object({
  name: z.string(),
  about: z.string(),
  kind: z.enum(EXPORTED_KINDS),
  time: z.string().nullable().describe('time column by which the files are divided into months; null for one file'),
  rows: number.describe('rows of all files'),
  bytes: number.describe('bytes of all files'),
  columns: z.array(z.object({ name: z.string(), type: z.string().describe('SQL type'), about: z.string() })),
  sortedBy: z.array(z.string()).describe('columns by which the rows of each file are sorted'),
  files: z.array(file),
});

/** Content of `manifest.json`. */
export const manifest = z.object({
  format: z.literal(1).describe('version of the format'),
  id: snapshotId,
  createdAt: time.refine(isTime).describe('when the data were read'),
  publishedAt: time.refine(isTime).describe('when all files were written'),
  previous: z.string().nullable().describe('id of the previous snapshot; null for the first'),
  schemaVersion: z.int().describe('version of the tables'),
  tables: z.array(table),
  coverage: z
    .array(z.record(z.string(), z.unknown()))
    .describe('ranges fetched from upstream, each with the time of its oldest fetch'),
  verifiedThrough: z
    .array(z.object({ brandId: z.string(), through: z.string().nullable(), verifiedAt: z.string() }))
    .describe("day through which the numbers of each brand that was verified agree with upstream's, without a gap"),
});

/** Content of `manifest.json`; times are ISO 8601, UTC. */
export type Manifest = ValueOf<typeof manifest>;
/** One table of a snapshot. */
export type SnapshotTable = ValueOf<typeof table>;
/** A Parquet file of a snapshot. */
export type SnapshotFile = ValueOf<typeof file>;

const ID = /^\d{8}T\d{6}Z(?:-\d{1,3})?$/;

/** Reports whether a name has the form of a snapshot id. */
export function isSnapshotId(name: string): boolean {
  return ID.test(name);
}

/** Reads a snapshot's manifest; null if it is missing or invalid. */
export async function readManifest(folder: string): Promise<Manifest | null> {
  try {
    return toManifest(await readFile(join(folder, MANIFEST), 'utf8'));
  } catch {
    return null;
  }
}

/** Returns the manifests of the snapshots in a folder, the oldest first. A folder without a manifest is not a snapshot. */
export async function listSnapshots(folder: string): Promise<Manifest[]> {
  const manifests: Manifest[] = [];
  for (const name of (await readdir(folder)).filter(isSnapshotId)) {
    const manifest = await readManifest(join(folder, name));
    if (manifest !== null) manifests.push({ ...manifest, id: name });
  }
  return manifests.sort((a, b) => Date.parse(a.createdAt) - Date.parse(b.createdAt) || numberOf(a.id) - numberOf(b.id));
}

/** Returns the number of a snapshot among those of the same second; the first has none in its id. */
export function numberOf(id: string): number {
  return Number(id.split('-')[1] ?? 1);
}

/** Parses a manifest; null if it is invalid. */
export function toManifest(text: string): Manifest | null {
  try {
    const value: unknown = JSON.parse(text);
    return manifest.safeParse(value).success ? (value as Manifest) : null;
  } catch {
    return null;
  }
}

function isTime(text: string): boolean {
  return !Number.isNaN(Date.parse(text));
}
