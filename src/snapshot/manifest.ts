import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isRecord } from '../base/json.ts';
import type { ExportedKind } from './exported-table.ts';

/** The file that lists all others of a snapshot, written last. */
export const MANIFEST = 'manifest.json';

/** A Parquet file of a snapshot. */
export interface SnapshotFile {
  /** Relative to the snapshot. */
  readonly path: string;
  readonly rows: number;
  readonly bytes: number;
  /** Hexadecimal. */
  readonly sha256: string;
  /** Smallest and largest value of the table's time column, ISO 8601; null without rows or without such a column. */
  readonly min: string | null;
  readonly max: string | null;
  /** Equal for equal rows in the same form, in any order; files of the lake's metadata have none. */
  readonly fingerprint?: string;
}

/** One table of a snapshot. */
export interface SnapshotTable {
  readonly name: string;
  readonly about: string;
  readonly kind: ExportedKind;
  /** Time column by which the files are divided into months; null if there is one file. */
  readonly time: string | null;
  readonly rows: number;
  readonly bytes: number;
  readonly columns: readonly { readonly name: string; readonly type: string; readonly about: string }[];
  /** Columns by which the rows of each file are sorted. */
  readonly sortedBy: readonly string[];
  readonly files: readonly SnapshotFile[];
}

/** Content of `manifest.json`; times are ISO 8601, UTC. */
export interface Manifest {
  readonly format: 1;
  /** UTC time, such as `20261120T021500Z`. */
  readonly id: string;
  /** When the data were read. */
  readonly createdAt: string;
  /** When all files were written, just before the snapshot became the latest. */
  readonly publishedAt: string;
  /** Id of the previous latest snapshot; null for the first. */
  readonly previous: string | null;
  readonly schemaVersion: number;
  readonly tables: readonly SnapshotTable[];
  /** Ranges fetched from upstream, each with the time of its oldest fetch. */
  readonly coverage: readonly Readonly<Record<string, unknown>>[];
  /**
   * Day through which each brand's numbers agree with upstream's, without a gap. Brands that were never verified are
   * missing.
   */
  readonly verifiedThrough: readonly {
    readonly brandId: string;
    readonly through: string | null;
    readonly verifiedAt: string;
  }[];
}

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
    const isOne = isRecord(value) && value['format'] === 1 && areAll(value['tables'], isTable);
    const areTimes =
      isOne && [value['createdAt'], value['publishedAt']].every((time) => !Number.isNaN(Date.parse(String(time))));
    return areTimes && typeof value['id'] === 'string' ? (value as unknown as Manifest) : null;
  } catch {
    return null;
  }
}

function isTable(value: unknown): boolean {
  return (
    isRecord(value) && hasTexts(value, 'name') && areAll(value['columns'], isColumn) && areAll(value['files'], isFile)
  );
}

function isColumn(value: unknown): boolean {
  return isRecord(value) && hasTexts(value, 'name', 'type');
}

function isFile(value: unknown): boolean {
  return isRecord(value) && hasTexts(value, 'path', 'sha256') && Number.isInteger(value['bytes']);
}

function areAll(value: unknown, isOne: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isOne);
}

function hasTexts(value: Readonly<Record<string, unknown>>, ...names: readonly string[]): boolean {
  return names.every((name) => typeof value[name] === 'string');
}
