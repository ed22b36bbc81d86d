import { randomUUID } from 'node:crypto';
import { rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SightlineError } from '../../base/errors.ts';
import type { SnapshotFile, SnapshotTable } from '../../snapshot/manifest.ts';
import { isTurnOf } from '../../snapshot/reuse.ts';
import type { FileCounts } from '../../snapshot/table-export.ts';
import type { ObjectStore } from '../../storage/object-store.ts';
import { inParallel } from '../../storage/parallel.ts';
import { hashFile } from '../../warehouse/file/hash-file.ts';
import type { Scratch } from '../../warehouse/scratch.ts';
import { TABLES } from '../pointer.ts';
import type { EngineFile, IcebergEngine } from './manifest-engine.ts';
import { sumRows } from './manifest-rows.ts';
import { describeManifest, type TimeBounds, writeManifest } from './manifests.ts';
import { type IcebergShape, newSnapshotId, shapeOf } from './metadata.ts';
import type { IcebergState, LakePart } from './publish-state.ts';

/** Dependencies that the tables of one snapshot share. */
export interface LakeParts {
  readonly store: ObjectStore;
  readonly engine: IcebergEngine;
  readonly scratch: Scratch;
  readonly signal: AbortSignal;
  /** The folder of the snapshot whose rows are written. */
  readonly folder: string;
  /** Folder for files that wait to be uploaded. */
  readonly aside: string;
  /** Epoch milliseconds. */
  readonly begunAt: number;
  /** Files and bytes uploaded so far; updated in place. */
  readonly sent: FileCounts;
}

/** Uploaded rows of a table that no reader sees yet. */
export interface LakeRows {
  readonly shape: IcebergShape;
  readonly parts: readonly LakePart[];
  /** Id of the Iceberg snapshot for which new parts were written. */
  readonly snapshotId: number;
  readonly sequence: number;
}

interface Source {
  readonly folder: string;
  readonly files: readonly SnapshotFile[];
  readonly fingerprint: string;
  readonly rows: number;
}

/**
 * Uploads the parts of a table whose rows changed; all others are reused.
 * @throws `publish_failed`, also if the written rows do not read back as those of the snapshot
 */
export async function bringRows(table: SnapshotTable, base: IcebergState | null, lake: LakeParts): Promise<LakeRows> {
  const location = `${lake.store.location}${TABLES}${table.name}`;
  const { shape, isKept } = shapeOf(base, location, table.columns, table.time ?? null);
  const snapshotId = newSnapshotId();
  const sequence = (base?.snapshot['sequence-number'] ?? 0) + 1;
  const parts: LakePart[] = [];
  for (const source of sourcesOf(table)) {
    lake.signal.throwIfAborted();
    const before = isKept ? base?.parts.find(({ folder }) => folder === source.folder) : undefined;
    const kept = before === undefined ? null : await keepPart(table, source, before, lake);
    parts.push(kept ?? (await writePart(table, shape, source, { sequence, snapshotId }, lake)));
  }
  return { shape, parts, snapshotId, sequence };
}

/**
 * Uploads a local file under an unused key, deletes it, and describes the object.
 * @throws `publish_failed`
 */
export async function sendAside(path: string, key: string, rows: number, { store, sent }: LakeParts) {
  const [{ size: bytes }, sha256] = [await stat(path), await hashFile(path)];
  await store.sendFile(key, { path, bytes, sha256 });
  await rm(path);
  sent.files += 1;
  sent.bytes += bytes;
  return { path: key, rows, bytes, sha256, min: null, max: null } satisfies SnapshotFile;
}

/**
 * Reports whether files are still in the store. Checks only those whose turn it is (see `isTurnOf`).
 * @throws `publish_failed`
 */
export async function areThere(
  files: readonly SnapshotFile[],
  { store, begunAt }: Pick<LakeParts, 'store' | 'begunAt'>,
): Promise<boolean> {
  for (const file of files.filter((each) => isTurnOf(each, begunAt))) {
    const there = await store.head(file.path);
    // The store has no SHA-256 of an object that was created conditionally.
    const isSame = there?.bytes === file.bytes && (there.sha256 ?? file.sha256) === file.sha256;
    if (!isSame) return false;
  }
  return true;
}

function sourcesOf(table: SnapshotTable): Source[] {
  const folders = new Map<string, SnapshotFile[]>();
  for (const file of table.files) {
    const folder = dirname(file.path);
    folders.set(folder, [...(folders.get(folder) ?? []), file]);
  }
  return [...folders].map(([folder, files]) => {
    const fingerprint = files.map((file) => file.fingerprint ?? file.sha256).join(' ');
    return { folder, files, fingerprint, rows: files.reduce((sum, { rows }) => sum + rows, 0) };
  });
}

// Returns the earlier part if its rows are the same. The file can differ in form only, for example if empty columns
// were added.
async function keepPart(
  table: SnapshotTable,
  source: Source,
  before: LakePart,
  lake: LakeParts,
): Promise<LakePart | null> {
  const files = [...before.files, ...(before.manifest === null ? [] : [before.manifest.file])];
  if (before.rows !== source.rows || !(await areThere(files, lake))) return null;
  if (before.fingerprint === source.fingerprint) return before;
  const columns = table.columns.filter(({ name }) => before.columns.includes(name));
  const others = table.columns.filter(({ name }) => !before.columns.includes(name));
  if (columns.length < before.columns.length) return null;
  const paths = source.files.map(({ path }) => join(lake.folder, path));
  const { rows, sum, xor, others: filled } = await sumRows(lake.scratch, paths, columns, others);
  const isSame = rows === before.rows && sum === before.sum && xor === before.xor && filled === 0;
  return isSame ? { ...before, fingerprint: source.fingerprint } : null;
}

async function writePart(
  table: SnapshotTable,
  shape: IcebergShape,
  source: Source,
  added: { sequence: number; snapshotId: number },
  lake: LakeParts,
): Promise<LakePart> {
  const { engine, scratch, folder, signal } = lake;
  const sources = source.files.map(({ path }) => join(folder, path));
  const { rows, sum, xor } = await sumRows(scratch, sources, table.columns, []);
  if (rows !== source.rows) {
    throw new SightlineError(
      'publish_failed',
      `${source.folder} of the snapshot is damaged: it has ${rows} rows of ${source.rows}; run the export again`,
    );
  }
  const columns = table.columns.map(({ name }) => name);
  const part = { folder: source.folder, fingerprint: source.fingerprint, rows, columns, sum, xor };
  if (rows === 0) return { ...part, manifest: null, files: [] };
  const written: EngineFile[] = [];
  for (const path of sources) {
    const files = engine.write(shape, table.columns, path);
    written.push(...(await files.catch((thrown) => Promise.reject(named(thrown, source.folder)))));
  }
  const read = await sumRows(
    scratch,
    written.map(({ file }) => file),
    table.columns,
    [],
  );
  const reported = written.reduce((total, file) => total + file.rows, 0);
  if (read.rows !== rows || read.sum !== sum || read.xor !== xor || reported !== rows) {
    const message = `${source.folder}: the Iceberg engine wrote other rows than it was given: ${rows} given, ${reported} reported, ${read.rows} read back`;
    throw new SightlineError('publish_failed', message);
  }
  const data = written.map((file) => ({ ...file, path: `${shape.location}/data/${nameOf(file.path)}` }));
  const files: SnapshotFile[] = [];
  const below = `${TABLES}${table.name}`;
  await inParallel(data, signal, async ({ file, path, rows: count }) => {
    files.push(await sendAside(file, `${below}/data/${nameOf(path)}`, count, lake));
  });
  const head = { ...added, month: shape.partition === null ? null : monthOf(source.folder) };
  const bytes = writeManifest(shape, data, boundsOf(shape, source.files), head);
  const name = `${randomUUID()}-m0.avro`;
  await writeFile(join(lake.aside, name), bytes);
  const file = await sendAside(join(lake.aside, name), `${below}/metadata/${name}`, 0, lake);
  const entry = describeManifest(`${shape.location}/metadata/${name}`, bytes.length, data, head);
  return { ...part, manifest: { entry, file }, files };
}

// Adds the part to an error of the engine, which does not name it.
function named(thrown: unknown, folder: string): unknown {
  if (!(thrown instanceof SightlineError) || thrown.code !== 'publish_failed') return thrown;
  return new SightlineError('publish_failed', `${folder}: ${thrown.message}`, { cause: thrown });
}

// Returns the months since January 1970 of a part called `…/month=2026-11`; null for the part `month=unknown`.
function monthOf(folder: string): number | null {
  const name = folder.slice(folder.lastIndexOf('=') + 1);
  if (name === 'unknown') return null;
  const [, year, month] = /^(-?\d+)-(\d\d)$/.exec(name) ?? [];
  if (year === undefined)
    throw new SightlineError('publish_failed', `the month of ${folder} is invalid; allowed: YYYY-MM`);
  return (Number(year) - 1970) * 12 + Number(month) - 1;
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function boundsOf(shape: IcebergShape, files: readonly SnapshotFile[]): TimeBounds | null {
  const column = shape.schemas.at(-1)?.fields.find(({ id }) => id === shape.partition?.sourceId);
  if (column?.type !== 'timestamptz') return null;
  const times = files.flatMap(({ min, max }) => [toMicroseconds(min), toMicroseconds(max)]);
  const known = times.filter((time) => time !== null).sort((a, b) => (a < b ? -1 : 1));
  const [min] = known;
  const max = known.at(-1);
  return min === undefined || max === undefined || known.length < times.length
    ? null
    : { columnId: column.id, min, max };
}

// Returns null for a year that does not have four digits.
function toMicroseconds(text: string | null): bigint | null {
  const [, seconds, fraction] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{6})Z$/.exec(text ?? '') ?? [];
  if (seconds === undefined || fraction === undefined) return null;
  return BigInt(Date.parse(`${seconds}Z`)) * 1000n + BigInt(fraction);
}
