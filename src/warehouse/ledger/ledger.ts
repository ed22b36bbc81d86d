import { createHash } from 'node:crypto';
import { parseExactJson, toExactJson } from '../../base/json.ts';
import type { Attempt } from '../../contract/request.ts';
import type { Rejected, Repeats, Values } from '../../contract/rows.ts';
import { CONTENT_KEY } from '../../contract/tables.ts';
import type { Database, Query, Session } from '../database.ts';
import { ledgerInsert, stage, staged, wellFormed } from '../write/staging.ts';

/** State of the coverage of a list that upstream does not have (404). */
export const MISSING = 'missing';

/** A slice, as stored in the ledger. */
export interface SliceRef {
  /** Stable across runs; derived from resource, scope, range and parameters. */
  readonly id: string;
  readonly resource: string;
  readonly fixed: Values;
  readonly from: string | null;
  readonly to: string | null;
  /** State stored when the slice is complete; decides whether it has to be read again. Unset for most resources. */
  readonly state?: string | null;
}

/** Row counts of a page. */
export interface PageCounts {
  readonly rows: number;
  readonly inserted: number;
  readonly updated: number;
  readonly deleted: number;
  /** Data version after the page was committed. */
  readonly dataVersion: number;
}

/** Converts epoch milliseconds to UTC timestamp text, `YYYY-MM-DD HH:MM:SS.fff`. */
export function toTimestampText(epochMs: number): string {
  return new Date(epochMs).toISOString().replace('T', ' ').replace('Z', '');
}

const insertRequests = ledgerInsert('requests');

/** Records requests; the page's counts are stored with the successful one. */
export function writeRequests(
  session: Session,
  runId: string,
  slice: Pick<SliceRef, 'id' | 'resource'>,
  requests: readonly Attempt[],
  counts: PageCounts | null,
): void {
  const rows = requests.map(({ sentAt, path, query, attempt, status, waitedMs, tookMs, bytes, error }) => {
    const { dataVersion, ...changes } = (error === null ? counts : null) ?? { dataVersion: null };
    return {
      run_id: runId,
      sent_at: toTimestampText(sentAt),
      resource: slice.resource,
      slice: slice.id,
      path,
      query,
      attempt,
      status,
      waited_ms: Math.round(waitedMs),
      took_ms: Math.round(tookMs),
      bytes,
      ...changes,
      error,
      data_version: dataVersion,
    };
  });
  session.append(insertRequests, stage(rows));
}

/** Reads the data version, which increases with every page or deletion that changes a row. */
export async function readDataVersion(query: Query): Promise<number> {
  const [row] = await query(
    'SELECT max(data_version) FROM (SELECT data_version FROM sync.requests UNION ALL SELECT data_version FROM sync.runs)',
  );
  return Number(row?.[0] ?? 0);
}

const insertCheckpoint = ledgerInsert('checkpoints');

/** The keys that a page listed for one table. */
export interface SeenRows {
  readonly table: string;
  readonly keys: readonly Values[];
  readonly unidentified: number;
}

/** Records a committed page of a slice: its keys and the cursor of the next page. */
export function writeCheckpoint(
  session: Session,
  passId: string,
  slice: SliceRef,
  page: { number: number; next: string | null; seen: readonly SeenRows[]; at: number },
): void {
  const rows = page.seen.map(({ table, keys, unidentified }) => ({
    ...sliceValues(slice, passId),
    page: page.number,
    table_name: table,
    next_cursor: page.next,
    seen: stage(keys),
    unidentified,
    read_at: toTimestampText(page.at),
  }));
  session.append(insertCheckpoint, stage(rows));
}

/** Deletes the checkpoints of a slice that is complete or starts again. */
export async function clearCheckpoints(session: Session, sliceId: string): Promise<void> {
  await session.run('DELETE FROM sync.checkpoints WHERE slice = $1', [sliceId]);
}

/**
 * Sums the checkpoints of a slice: items without a readable key, listed rows, and the time of the first page (null if
 * none).
 */
export async function sumCheckpoints(
  session: Session,
  sliceId: string,
): Promise<{ unidentified: number; rows: number; since: number | null }> {
  const [sums] = await session.all(
    `SELECT CAST(coalesce(sum(unidentified), 0) AS BIGINT) AS unidentified,
       CAST(coalesce(sum(len(seen)), 0) AS BIGINT) AS rows, epoch_ms(min(read_at)) AS since
     FROM sync.checkpoints WHERE slice = $1`,
    [sliceId],
  );
  const since = sums?.['since'] ?? null;
  return {
    unidentified: Number(sums?.['unidentified'] ?? 0),
    rows: Number(sums?.['rows'] ?? 0),
    since: since === null ? null : Number(since),
  };
}

/** Returns the keys of a table's rows in the checkpoints of a slice, in the order of its pages. */
export async function readListed(session: Session, sliceId: string, table: string): Promise<Values[]> {
  const rows = await session.all(
    `SELECT unnest(keys) AS key FROM (SELECT flatten(list(seen ORDER BY page)) AS keys FROM sync.checkpoints
     WHERE slice = $1 AND table_name = $2)`,
    [sliceId, table],
  );
  return rows.map(({ key }) => parseExactJson(String(key)) as Values);
}

/** Counts the rows with content keys in the checkpoints of a slice, by content. */
export async function readRepeats(session: Session, sliceId: string): Promise<Repeats> {
  const rows = await session.all(
    `SELECT split_part(key->>'${CONTENT_KEY}', '-', 1) AS content, CAST(count(*) AS BIGINT) AS rows
     FROM (SELECT CAST(unnest(seen) AS JSON) AS key FROM sync.checkpoints WHERE slice = $1) GROUP BY 1`,
    [sliceId],
  );
  return new Map(rows.map(({ content, rows: count }) => [String(content), Number(count)]));
}

/**
 * Records that a slice was read completely. `at` is the time of its first page, because later rows may be missing. `known` are the slices
 * with a record.
 */
export async function writeCoverage(
  session: Session,
  run: { runId: string; passId: string },
  slice: SliceRef,
  { rows, at, known }: { readonly rows: number; readonly at: number; readonly known: KnownSlices },
): Promise<void> {
  const state = slice.state ?? null;
  if (await known.mayHave(session, slice.id)) {
    const updated = await session.run(updateCoverage, [
      slice.id,
      run.passId,
      run.runId,
      toTimestampText(at),
      rows,
      state,
    ]);
    if (updated > 0) return;
  }
  const read = { run_id: run.runId, closed_at: toTimestampText(at), rows, state };
  session.append(insertCoverage, stage([{ ...sliceValues(slice, run.passId), ...read }]));
}

/** The slices that have a record in a table of the ledger, so that the first record of a slice needs no search. */
export interface KnownSlices {
  /** Whether a slice may have a record. Afterwards it may. */
  mayHave(session: Session, sliceId: string): Promise<boolean>;
}

/** Creates the slices of a warehouse, which only this process writes. */
export function createKnownSlices(table: 'coverage' | 'unconfirmed_deletions'): KnownSlices {
  let known: Set<string> | null = null;
  return {
    mayHave: async (session, sliceId) => {
      known ??= new Set((await session.query(`SELECT slice FROM sync.${table}`)).map(([slice]) => String(slice)));
      const has = known.has(sliceId);
      known.add(sliceId);
      return has;
    },
  };
}

// The resource, brand and range of a slice follow from its id.
const updateCoverage = `UPDATE sync.coverage SET pass_id = CAST($2 AS UUID), run_id = CAST($3 AS UUID),
  closed_at = CAST($4 AS TIMESTAMP), rows = $5, state = $6 WHERE slice = $1`;
const insertCoverage = ledgerInsert('coverage');

/** Deletes the record that a slice was read completely. */
export async function forgetCoverage(session: Session, sliceId: string): Promise<void> {
  await session.run('DELETE FROM sync.coverage WHERE slice = $1', [sliceId]);
}

/** Deletes the coverage of all slices of the same resource and brand that overlap this slice's days. */
export async function forgetDays(session: Session, slice: SliceRef): Promise<void> {
  // Earlier pages of the transaction may have closed such slices.
  await session.flush();
  await session.run(
    `DELETE FROM sync.coverage WHERE resource = $1 AND brand_id IS NOT DISTINCT FROM CAST($2 AS UUID)
       AND range_from <= CAST($4 AS DATE) AND range_to >= CAST($3 AS DATE)`,
    [slice.resource, brandOf(slice), slice.from, slice.to],
  );
}

/** An item that could not be converted to a row; `id` is a hash of the item and the reason. */
export interface QuarantinedItem {
  readonly id: string;
  readonly table: string;
  readonly reason: string;
  readonly json: string;
}

const quarantineColumns = ['id', 'table', 'reason', 'json'].map((name) => ({ name, kind: 'text' }) as const);

/** Stores quarantined items of a page; an item that is already stored only gets a new date. */
export async function writeQuarantine(
  session: Session,
  runId: string,
  slice: SliceRef,
  items: readonly QuarantinedItem[],
  atMs: number,
): Promise<void> {
  if (items.length === 0) return;
  const unique = new Map(items.map((item) => [item.id, item]));
  const at = toTimestampText(atMs);
  await session.run(
    `UPDATE sync.quarantine SET last_seen_at = CAST($2 AS TIMESTAMP), run_id = CAST($3 AS UUID)
     WHERE id IN (SELECT unnest($1))`,
    [[...unique.keys()], at, runId],
  );
  await session.run(
    `INSERT INTO sync.quarantine SELECT s.id, $2, s."table", CAST($3 AS UUID), s.reason, CAST(s.json AS JSON),
       CAST($4 AS TIMESTAMP), CAST($4 AS TIMESTAMP), CAST($5 AS UUID)
     FROM ${staged(quarantineColumns, '$1')} s WHERE s.id NOT IN (SELECT id FROM sync.quarantine)`,
    [stage([...unique.values()].map((item) => ({ ...item }))), slice.resource, brandOf(slice), at, runId],
  );
}

/** Limit of quarantined items loaded from earlier runs, newest first. */
const REMEMBERED_MAX = 100_000;

/** Reads the identities (`quarantineIdentity`) of the items that earlier runs put in quarantine. */
export async function readQuarantined(database: Database): Promise<ReadonlySet<string>> {
  const rows = await database.exclusive((session) =>
    session.all(
      `SELECT table_name || ' ' || md5(CAST(item AS VARCHAR)) AS identity FROM sync.quarantine
       ORDER BY last_seen_at DESC LIMIT ${REMEMBERED_MAX}`,
    ),
  );
  return new Set(rows.map(({ identity }) => String(identity)));
}

/** Returns a text that is equal for equal rejected items, whichever request returned them. */
export function quarantineIdentity({ table, item }: Rejected): string {
  return `${table} ${createHash('md5').update(quarantinedText(item)).digest('hex')}`;
}

/** Returns an item as `sync.quarantine` stores it: JSON without unpaired surrogates. */
export function quarantinedText(item: unknown): string {
  return wellFormed(item === undefined ? 'null' : toExactJson(item));
}

function sliceValues(slice: SliceRef, passId: string) {
  const { id, resource, from, to } = slice;
  return { slice: id, resource, brand_id: brandOf(slice), range_from: from, range_to: to, pass_id: passId };
}

function brandOf(slice: SliceRef): string | null {
  return (slice.fixed['brand_id'] ?? null) as string | null;
}
