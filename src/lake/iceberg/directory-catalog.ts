import { createHash } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { SightlineError, toSightlineError } from '../../base/errors.ts';
import type { ObjectStore } from '../../storage/object-store.ts';
import { inParallel } from '../../storage/parallel.ts';
import { POINTER, readPointer, readStoredManifest, TABLES, toBody } from '../pointer.ts';
import { type IcebergState, stateOf } from './publish-state.ts';

// An Iceberg table has two kinds of readers. Those that follow `latest.json` get the address of a metadata file in
// `tables/<name>/catalog/`. Those that open the table's folder find the metadata by name in `metadata/`:
//
// - Iceberg's hadoop tables (Spark, Flink, Hive) start at `version-hint.text`, or without it at the highest `v<N>.*`, and go on
//   to N + 1 as long as that exists (HadoopTableOperations.findVersion and refresh, apache/iceberg).
// - ClickHouse takes the highest number of all `*.metadata.json` (docs: "Metadata file resolution" of the iceberg function).
// - DuckDB's iceberg_scan, PyIceberg's StaticTable and icebird read `version-hint.text`; the first and the last of them guess the
//   highest number without it.
//
// All of them would read a file there whether or not its publish was committed. So nothing is written to `metadata/` but
// manifests until `latest.json` has moved, which is the commit. Then the committed metadata are copied to the next number.
// Folder readers lag behind by that copy, or by a whole publish if the process dies before it; the next publish or retention
// catches up.

/** Attempts to take a number while other publishers take it first. */
const TRIALS_MAX = 20;
/** Restarts because `latest.json` has moved meanwhile. */
const MOVES_MAX = 10;
/** Numbers beyond the hint that are probed one by one. The hint lags by more than one only after a crash. */
const AHEAD_MAX = 100;
/** Longest wait before the next attempt. */
const PAUSE_MS = 500;
const HINT = 'version-hint.text';
/** Larger numbers are ignored, because Iceberg reads them as 32-bit integers. */
const NUMBER_MAX = 2 ** 31 - 2;

/** Options of `catchUpDirectories`. */
export interface DirectoryOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** The committed state: the manifest key in `latest.json`, and the metadata file of a table. */
interface Committed {
  readonly manifest: string;
  readonly metadata: IcebergState['metadata'];
}

/** Returns the key of the metadata file with a number. */
function numberedKey(table: string, number: number): string {
  return `${TABLES}${table}/metadata/v${number}.metadata.json`;
}

/** Parses the key of a numbered metadata file; null for other keys. */
export function parseNumbered(key: string): { readonly table: string; readonly number: number } | null {
  const [, table, digits] = /^tables\/([^/]+)\/metadata\/v([1-9]\d{0,9})\.metadata\.json$/.exec(key) ?? [];
  const number = Number(digits);
  return table === undefined || number > NUMBER_MAX ? null : { table, number };
}

/** Returns the key of a table's version hint. */
export function hintKey(table: string): string {
  return `${TABLES}${table}/metadata/${HINT}`;
}

/**
 * Makes the committed snapshot visible to readers of table folders. Does nothing if it already is, or if the snapshot
 * has no Iceberg tables. Safe at any time and for several processes at once: a number is created only if it is free,
 * and its content is chosen after the numbers below it were read, so a higher number is never an older snapshot.
 * @throws `publish_failed`
 */
export async function catchUpDirectories(store: ObjectStore, options: DirectoryOptions): Promise<void> {
  for (let move = 0; move < MOVES_MAX; move++) {
    const found = await readPointer(store);
    if (found === null || found.pointer.numbered === found.pointer.manifest) return;
    const { manifest: key } = found.pointer;
    const manifest = await readStoredManifest(store, key);
    if (manifest === null) throw new SightlineError('publish_failed', `${store.location}${key} cannot be read`);
    const states = manifest.tables.map(({ name }) => ({ name, metadata: stateOf(manifest, name)?.metadata }));
    if (states.every(({ metadata }) => metadata === undefined)) return;
    // If nothing was committed in between, tables with the same metadata were already copied.
    const { numbered, before } = found.pointer;
    const base = numbered !== undefined && numbered === before ? await readStoredManifest(store, numbered) : null;
    const tables = states.flatMap(({ name, metadata }) =>
      metadata === undefined || stateOf(base, name)?.metadata.path === metadata.path ? [] : [{ name, metadata }],
    );
    await inParallel(tables, options.signal, ({ name, metadata }) =>
      catchUpTable(store, name, { manifest: key, metadata }, options),
    );
    const now = await readPointer(store);
    // If the pointer has moved meanwhile, start over with its new target.
    if (now?.pointer.manifest !== key) continue;
    if (await store.replace(POINTER, toBody({ ...now.pointer, numbered: key }), now.version)) return;
    await options.clock.sleep(options.clock.random() * PAUSE_MS, options.signal);
  }
  const message = `${store.location}${POINTER} was moved by others during each of ${MOVES_MAX} attempts; run the export again`;
  throw new SightlineError('publish_failed', message);
}

/** Like `catchUpDirectories`, after a commit: the error states that the snapshot is published. */
export async function catchUpAfterCommit(store: ObjectStore, options: DirectoryOptions): Promise<void> {
  try {
    await catchUpDirectories(store, options);
  } catch (thrown) {
    const { code, message } = toSightlineError(thrown);
    if (code === 'interrupted') throw thrown;
    const explained = `the snapshot is published, but readers of table folders still see an earlier one: ${message}; run the export again`;
    throw new SightlineError(code, explained, { cause: thrown });
  }
}

// Returns early if the pointer has moved; the caller starts over.
async function catchUpTable(
  store: ObjectStore,
  table: string,
  committed: Committed,
  { clock, signal }: DirectoryOptions,
): Promise<void> {
  let tried = 0;
  for (let trial = 0; trial < TRIALS_MAX; trial++) {
    signal.throwIfAborted();
    const highest = Math.max(tried, await highestNumber(store, table));
    // Read after the numbers, so that none of them belongs to a later commit than this one.
    if ((await readPointer(store))?.pointer.manifest !== committed.manifest) return;
    const there = highest === 0 ? null : await store.read(numberedKey(table, highest));
    if (there !== null && sha256Of(there.body) === committed.metadata.sha256) {
      return writeHint(store, table, highest);
    }
    const next = highest + 1;
    const body = await readCommitted(store, committed);
    if (await store.create(numberedKey(table, next), body)) return writeHint(store, table, next);
    // Another publisher took the number, or this one did and the response was lost.
    tried = next;
    await clock.sleep(clock.random() * PAUSE_MS, signal);
  }
  throw new SightlineError(
    'publish_failed',
    `no free metadata number found for ${store.location}${TABLES}${table} in ${TRIALS_MAX} attempts`,
  );
}

// Numbers have no gaps after the first hint, so looking beyond the hint finds the highest without a listing.
async function highestNumber(store: ObjectStore, table: string): Promise<number> {
  const hinted = Number((await store.read(hintKey(table)))?.body.toString() ?? 0);
  const isThere = async (number: number): Promise<boolean> => (await store.head(numberedKey(table, number))) !== null;
  if (Number.isSafeInteger(hinted) && hinted > 0 && (await isThere(hinted))) {
    for (let number = hinted; number < hinted + AHEAD_MAX; number++) if (!(await isThere(number + 1))) return number;
  }
  let highest = 0;
  for await (const { key } of store.list(`${TABLES}${table}/metadata/`)) {
    highest = Math.max(highest, parseNumbered(key)?.number ?? 0);
  }
  return highest;
}

async function readCommitted(store: ObjectStore, { metadata }: Committed): Promise<Buffer> {
  const body = (await store.read(metadata.path))?.body;
  if (body !== undefined && sha256Of(body) === metadata.sha256) return body;
  const what = body === undefined ? 'is missing' : 'is damaged: its SHA-256 differs from the expected one';
  throw new SightlineError('publish_failed', `${store.location}${metadata.path} ${what}`);
}

// The hint never decreases, because a slower publisher may come later with a number that was passed.
async function writeHint(store: ObjectStore, table: string, number: number): Promise<void> {
  const key = hintKey(table);
  const body = Buffer.from(String(number));
  for (let trial = 0; trial < TRIALS_MAX; trial++) {
    const found = await store.read(key);
    const hinted = Number(found?.body.toString() ?? 0);
    if (hinted === number) return;
    if (hinted > number && (await store.head(numberedKey(table, hinted))) !== null) return;
    if (found === null ? await store.create(key, body) : await store.replace(key, body, found.version)) return;
  }
  throw new SightlineError(
    'publish_failed',
    `${store.location}${key} was changed by others during each of ${TRIALS_MAX} attempts`,
  );
}

function sha256Of(body: Buffer): string {
  return createHash('sha256').update(body).digest('hex');
}
