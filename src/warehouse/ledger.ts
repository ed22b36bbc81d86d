import { createHash } from 'node:crypto';
import { toExactJson } from '../base/json.ts';
import type { Attempt } from '../contract/request.ts';
import type { Rejected, Values } from '../contract/rows.ts';
import type { Database, Session } from './database.ts';
import { stage, staged, wellFormed } from './staging.ts';

/** A chain of pages, as the ledger knows it. */
export interface ChainRef {
  /** Stable from run to run: resource, scope, range and parameters. */
  readonly id: string;
  readonly resource: string;
  readonly fixed: Values;
  readonly from: string | null;
  readonly to: string | null;
  /** What is kept of the read when it is closed, where that tells whether another is due. */
  readonly state?: string | null;
}

/** What a page brought. */
export interface PageCounts {
  readonly rows: number;
  readonly inserted: number;
  readonly updated: number;
  readonly deleted: number;
  /** Version of the data once the page is in. */
  readonly dataVersion: number;
}

/** Epoch milliseconds as a UTC timestamp literal, `YYYY-MM-DD HH:MM:SS.fff`. */
export function toTimestampText(epochMs: number): string {
  return new Date(epochMs).toISOString().replace('T', ' ').replace('Z', '');
}

const insertRequest = `INSERT INTO sync.requests
  SELECT CAST($1 AS UUID), CAST($2 AS TIMESTAMP), $3, $4, $5, CAST($6 AS JSON), $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17`;

/** Writes requests; the page's counts stand with the one that was answered. */
export async function writeRequests(
  session: Session,
  runId: string,
  chain: Pick<ChainRef, 'id' | 'resource'>,
  requests: readonly Attempt[],
  counts: PageCounts | null,
): Promise<void> {
  for (const request of requests) {
    const answered = request.error === null ? counts : null;
    await session.run(insertRequest, [
      runId,
      toTimestampText(request.sentAt),
      chain.resource,
      chain.id,
      request.path,
      JSON.stringify(request.query),
      request.attempt,
      request.status,
      Math.round(request.waitedMs),
      Math.round(request.tookMs),
      request.bytes,
      answered?.rows ?? null,
      answered?.inserted ?? null,
      answered?.updated ?? null,
      answered?.deleted ?? null,
      request.error,
      answered?.dataVersion ?? null,
    ]);
  }
}

/** The version of the data: it grows with every page, or deletion, that changes a row. */
export async function readDataVersion(database: Database): Promise<number> {
  const [row] = await database.exclusive((session) =>
    session.all(
      `SELECT max(data_version) AS version FROM (
         SELECT data_version FROM sync.requests UNION ALL SELECT data_version FROM sync.runs)`,
    ),
  );
  return Number(row?.['version'] ?? 0);
}

const insertCheckpoint = `INSERT INTO sync.checkpoints
  SELECT $1, $2, CAST($3 AS UUID), CAST($4 AS DATE), CAST($5 AS DATE), CAST($6 AS UUID), $7, $8, $9, $10, $11, CAST($12 AS TIMESTAMP)`;

/** What a page saw of one table. */
export interface SeenRows {
  readonly table: string;
  readonly keys: readonly Values[];
  readonly unidentified: number;
}

/** Notes that a page of a chain is in, what it saw and where the next one begins. */
export async function writeCheckpoint(
  session: Session,
  passId: string,
  chain: ChainRef,
  page: { number: number; next: string | null; seen: readonly SeenRows[]; at: number },
): Promise<void> {
  for (const { table, keys, unidentified } of page.seen) {
    await session.run(insertCheckpoint, [
      chain.id,
      chain.resource,
      brandOf(chain),
      chain.from,
      chain.to,
      passId,
      page.number,
      table,
      page.next,
      stage(keys),
      unidentified,
      toTimestampText(page.at),
    ]);
  }
}

/** Forgets the pages of a chain: it is whole, or begins anew. */
export async function clearCheckpoints(session: Session, chainId: string): Promise<void> {
  await session.run('DELETE FROM sync.checkpoints WHERE chain = $1', [chainId]);
}

/** How many items of the chain had no readable key, how many rows it saw, and when its first page was read. */
export async function sumCheckpoints(
  session: Session,
  chainId: string,
): Promise<{ unidentified: number; rows: number; since: number | null }> {
  const [sums] = await session.all(
    `SELECT CAST(coalesce(sum(unidentified), 0) AS BIGINT) AS unidentified,
       CAST(coalesce(sum(len(seen)), 0) AS BIGINT) AS rows, epoch_ms(min(read_at)) AS since
     FROM sync.checkpoints WHERE chain = $1`,
    [chainId],
  );
  const since = sums?.['since'] ?? null;
  return {
    unidentified: Number(sums?.['unidentified'] ?? 0),
    rows: Number(sums?.['rows'] ?? 0),
    since: since === null ? null : Number(since),
  };
}

/** Notes that a chain was read whole; `at` is when its first page was, for what came later may not be among its rows. */
export async function writeCoverage(
  session: Session,
  run: { runId: string; passId: string },
  chain: ChainRef,
  rows: number,
  at: number,
): Promise<void> {
  await forgetCoverage(session, chain.id);
  await session.run(
    `INSERT INTO sync.coverage SELECT $1, $2, CAST($3 AS UUID), CAST($4 AS DATE), CAST($5 AS DATE), CAST($6 AS UUID),
       CAST($7 AS UUID), CAST($8 AS TIMESTAMP), $9, $10`,
    [
      chain.id,
      chain.resource,
      brandOf(chain),
      chain.from,
      chain.to,
      run.passId,
      run.runId,
      toTimestampText(at),
      rows,
      chain.state ?? null,
    ],
  );
}

/** Forgets that a chain was read whole. */
export async function forgetCoverage(session: Session, chainId: string): Promise<void> {
  await session.run('DELETE FROM sync.coverage WHERE chain = $1', [chainId]);
}

/** Forgets every read of the chain's resource and brand that has a day in common with the chain. */
export async function forgetDays(session: Session, chain: ChainRef): Promise<void> {
  await session.run(
    `DELETE FROM sync.coverage WHERE resource = $1 AND brand_id IS NOT DISTINCT FROM CAST($2 AS UUID)
       AND range_from <= CAST($4 AS DATE) AND range_to >= CAST($3 AS DATE)`,
    [chain.resource, brandOf(chain), chain.from, chain.to],
  );
}

/** An item that could not be taken as a row; the id is a hash of what it is. */
export interface QuarantinedItem {
  readonly id: string;
  readonly table: string;
  readonly reason: string;
  readonly json: string;
}

const quarantineColumns = ['id', 'table', 'reason', 'json'].map((name) => ({ name, kind: 'text' }) as const);

/** Keeps the items of a page that could not be taken as rows; for an item that is kept already only the date is renewed. */
export async function writeQuarantine(
  session: Session,
  runId: string,
  chain: ChainRef,
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
    [stage([...unique.values()].map((item) => ({ ...item }))), chain.resource, brandOf(chain), at, runId],
  );
}

/** Items in quarantine that are remembered of earlier runs, the newest. */
const REMEMBERED_MAX = 100_000;

/** Identities (`quarantineIdentity`) of the items that earlier runs put in quarantine. */
export async function readQuarantined(database: Database): Promise<ReadonlySet<string>> {
  const rows = await database.exclusive((session) =>
    session.all(
      `SELECT table_name || ' ' || md5(CAST(item AS VARCHAR)) AS identity FROM sync.quarantine
       ORDER BY last_seen_at DESC LIMIT ${REMEMBERED_MAX}`,
    ),
  );
  return new Set(rows.map(({ identity }) => String(identity)));
}

/** Text that is equal for the same rejected item, whatever request it came with. */
export function quarantineIdentity({ table, item }: Rejected): string {
  return `${table} ${createHash('md5').update(quarantinedText(item)).digest('hex')}`;
}

/** An item as `sync.quarantine` stores it: JSON without halves of surrogate pairs. */
export function quarantinedText(item: unknown): string {
  return wellFormed(item === undefined ? 'null' : toExactJson(item));
}

function brandOf(chain: ChainRef): string | null {
  return (chain.fixed['brand_id'] ?? null) as string | null;
}
