import { createHash } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { DatabaseAddress } from '../../base/config/budget-settings.ts';
import { SightlineError } from '../../base/errors.ts';
import { LIMIT_MAX, LIMIT_MIN } from '../../contract/plausibility/rate-headers.ts';
import { type BudgetDatabase, DATABASE_NOW, deleteUnlocked, LOG_TABLE, openBudgetDatabase } from './budget-database.ts';
import { openPace } from './postgres-pace.ts';
import type { Pace } from './send-queue.ts';
import { BUDGET_KINDS, type BudgetLog, type BudgetRecord, isPlausible } from './send-record.ts';

/** Maximum records added in one statement. */
const BATCH_MAX = 100;
/** Records are deleted after this time, which is longer than their effect. 429 pauses and the caution after them last longest. */
const KEEP_MS = 12 * 60_000;
const GATE_KEEP_MS = 30 * 60_000;
/** Interval between deletions of old records. */
const PRUNE_MS = 5 * 60_000;
/** Lock timeout, shorter than the client's query timeout of 10 s. Otherwise each retry would leave a waiting statement. */
const LOCK_MS = 8_000;
/** Maximum delay of a record and of the permission that follows it. Claims of killed processes are held longer by this time. */
const DELAY_MS_MAX = 10_000;

// The lock is held until commit, and `seq` and `at` are assigned while it is held. So a reader that sees a record also sees all
// earlier ones, as in an append-only file.
const APPEND = `
  WITH patience AS MATERIALIZED (SELECT set_config('lock_timeout', '${LOCK_MS}', true) AS ms),
  held AS MATERIALIZED (
    SELECT pg_advisory_xact_lock(hashtextextended($1, 0)) AS lock FROM patience WHERE patience.ms IS NOT NULL
  )
  INSERT INTO ${LOG_TABLE} (budget, kind, id, value, at)
  SELECT $1, added.kind, added.id, added.value, ${DATABASE_NOW}
  FROM held, unnest($2::text[], $3::text[], $4::bigint[]) WITH ORDINALITY AS added (kind, id, value, place)
  ORDER BY added.place`;
// Reads the last record again. If it is missing or different, the log was replaced.
const READ = `
  SELECT clock.now, log.seq, log.kind, log.id, log.value, log.at
  FROM (SELECT ${DATABASE_NOW} AS now) AS clock
  LEFT JOIN ${LOG_TABLE} AS log ON log.budget = $1 AND log.seq >= $2
  ORDER BY log.seq`;
// Keeps the newest limit for processes that start after all other records are deleted.
const PRUNE = deleteUnlocked(
  LOG_TABLE,
  `budget = $1 AND at < ${DATABASE_NOW} - CASE kind WHEN 'gate' THEN $3::bigint ELSE $2::bigint END
   AND seq IS DISTINCT FROM (
     SELECT max(seq) FROM ${LOG_TABLE} WHERE budget = $1 AND kind = 'limit' AND value BETWEEN ${LIMIT_MIN} AND ${LIMIT_MAX}
   )`,
);
/** Identifies a log and its database. */
export interface SharedBudgetOptions extends DatabaseAddress {
  readonly key: string;
  readonly clock: Clock;
  readonly say?: (sentence: string) => void;
  /** Aborts opening while the database is unreachable. */
  readonly signal?: AbortSignal;
}

/** A log shared by the workers of all machines, and the pace that spreads their requests. */
export interface SharedBudget {
  readonly log: BudgetLog;
  readonly pace: Pace;
  /** Writes pending records, unless the database is unreachable, and closes. */
  close(): Promise<void>;
}

/**
 * Opens the log in PostgreSQL that all workers with the same key and database share.
 *
 * The age of a record is computed from the database's clock when it is read, and advanced by this machine's monotonic clock. So
 * differing or adjusted machine clocks never make a record too old. A record that is added twice, because the reply to the first
 * attempt was lost, has the same effect as once.
 * @throws `config_invalid` if a package is not installed
 * @throws `budget_unreachable`
 */
export async function openSharedBudget(options: SharedBudgetOptions): Promise<SharedBudget> {
  const { clock } = options;
  const budget = budgetName(options.key);
  const database = await openBudgetDatabase(options, clock, options);
  const closing = new AbortController();
  const reader = createReader(database, budget, clock, closing.signal);
  let prunedAt = clock.monotonic();
  const prune = async (): Promise<void> => {
    if (clock.monotonic() - prunedAt < PRUNE_MS) return;
    prunedAt = clock.monotonic();
    await database.query({ text: PRUNE, values: [budget, KEEP_MS, GATE_KEEP_MS] }, closing.signal);
  };
  const line = createLine(async (added) => {
    if (added.length > 0) {
      const values = [
        budget,
        added.map(({ kind }) => kind),
        added.map(({ id }) => id),
        added.map(({ value }) => value),
      ];
      await database.query({ name: 'sightline-append', text: APPEND, values }, closing.signal);
      await prune();
    }
    await reader.readOn();
  });
  const ask = (record: BudgetRecord | null): Promise<void> => {
    if (!closing.signal.aborted || line.isBusy()) return line.ask(record);
    return Promise.reject(new SightlineError('internal', 'the budget log is closed'));
  };
  try {
    await reader.readOn();
    const { databaseNow } = reader;
    const pace = await openPace({ database, budget, clock, databaseNow, closing: closing.signal });
    return {
      log: { append: ask, refresh: () => ask(null), read: reader.take, delayMsMax: DELAY_MS_MAX },
      pace,
      close: async () => {
        // Let a response that has just arrived add its record.
        await nextTurn();
        closing.abort();
        await line.idle();
        await database.close();
      },
    };
  } catch (thrown) {
    await database.close();
    throw thrown;
  }
}

// Reads new records and the database's clock. After a failover or restore, the database may lack the last records and reuse
// their numbers. Then all records are read again: applying a record twice has no effect, and none is missed.
function createReader(database: BudgetDatabase, budget: string, clock: Clock, closing: AbortSignal) {
  const unread: BudgetRecord[] = [];
  const nothing = { seq: '0', mark: '', latestMs: Number.NEGATIVE_INFINITY, askedMs: Number.NEGATIVE_INFINITY };
  let at = { ...nothing };
  let seen = { databaseMs: 0, monotonicMs: 0 };
  const ask = async () => {
    const { rows } = await database.query({ name: 'sightline-read', text: READ, values: [budget, at.seq] }, closing);
    const nowMs = Math.floor(clock.monotonic());
    seen = { databaseMs: Number(rows[0]?.now), monotonicMs: nowMs };
    return { rows: rows[0]?.seq == null ? [] : rows, nowMs };
  };
  return {
    readOn: async (): Promise<void> => {
      let askingMs = Math.floor(clock.monotonic());
      let { rows, nowMs } = await ask();
      if (at.seq !== nothing.seq && markOf(rows[0]) !== at.mark) {
        at = { ...nothing };
        askingMs = Math.floor(clock.monotonic());
        ({ rows, nowMs } = await ask());
      }
      for (const row of rows) {
        if (row.seq === at.seq) continue;
        Object.assign(at, { seq: row.seq, mark: markOf(row) });
        // Rounded up by the duration of the query. Never before the previous record, and never before the previous query,
        // which did not return it, even if the database's clock was set.
        at.latestMs = Math.max(at.latestMs, at.askedMs, nowMs - Math.max(0, Number(row.now) - Number(row.at)));
        // Wall time 0, so that only the monotonic time counts.
        const record = { kind: row.kind, id: row.id, value: Number(row.value), monotonicMs: at.latestMs, wallMs: 0 };
        if (BUDGET_KINDS.includes(row.kind) && isPlausible(record)) unread.push(record);
      }
      at.askedMs = askingMs;
    },
    take: (): BudgetRecord[] => unread.splice(0),
    databaseNow: (): number => seen.databaseMs + clock.monotonic() - seen.monotonicMs,
  };
}

function markOf(row: Record<string, unknown> | undefined): string {
  return row === undefined ? '' : `${row['seq']} ${row['kind']} ${row['id']} ${row['at']}`;
}

interface Waiting {
  readonly record: BudgetRecord | null;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

// Serves one batch at a time to keep the order of this process's records. Records that arrive meanwhile form the next batch.
function createLine(serve: (added: readonly BudgetRecord[]) => Promise<void>) {
  let waiting: Waiting[] = [];
  let work: Promise<void> | null = null;
  const serveAll = async (): Promise<void> => {
    while (waiting.length > 0) {
      const taken = waiting.slice(0, BATCH_MAX);
      waiting = waiting.slice(BATCH_MAX);
      try {
        await serve(taken.flatMap(({ record }) => record ?? []));
        for (const { resolve } of taken) resolve();
      } catch (thrown) {
        for (const { reject } of taken) reject(thrown);
      }
      // Let the callers add further records before the loop ends.
      await nextTurn();
    }
    work = null;
  };
  return {
    ask: (record: BudgetRecord | null): Promise<void> =>
      new Promise((resolve, reject) => {
        waiting.push({ record, resolve, reject });
        work ??= serveAll();
      }),
    isBusy: (): boolean => work !== null,
    idle: async (): Promise<void> => void (await work),
  };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Returns the name of a key's budget in the database: a hash that does not reveal the key. */
export function budgetName(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}
