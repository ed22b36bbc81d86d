import { createHash } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { SightlineError } from '../base/errors.ts';
import { LIMIT_MAX, LIMIT_MIN } from '../plausibility/rate-headers.ts';
import {
  type BudgetDatabase,
  DATABASE_NOW,
  type DatabaseAddress,
  deleteUnlocked,
  LOG_TABLE,
  openBudgetDatabase,
  type Say,
} from './budget-database.ts';
import { COUNTED_MS_MAX } from './budget-ledger.ts';
import { openPace } from './budget-pace.ts';
import type { Pace } from './budget-queue.ts';
import { BUDGET_KINDS, type BudgetLog, type BudgetRecord, isPlausible } from './budget-record.ts';

/** Records that are added in one statement. */
const BATCH_MAX = 100;
/** How long records are kept: longer than anything in them holds, of which a gate and the caution after it are the longest. */
const KEEP_MS = 12 * 60_000;
const GATE_KEEP_MS = 30 * 60_000;
/** Time between two removals of what is older. */
const PRUNE_MS = 5 * 60_000;
/** Who asks gives up after ten seconds: the database is to do so before, or with each attempt one more would wait there. */
const LOCK_MS = 8_000;
/** What a record, and the permission that follows it, may take on their way: claims of killed processes hold longer by it. */
const DELAY_MS_MAX = 10_000;

// The lock is held until the statement is committed, and the number and the moment are drawn under it: so who sees a
// record sees all before it, as in a file that all add to.
const APPEND = `
  WITH patience AS MATERIALIZED (SELECT set_config('lock_timeout', '${LOCK_MS}', true) AS ms),
  held AS MATERIALIZED (
    SELECT pg_advisory_xact_lock(hashtextextended($1, 0)) AS lock FROM patience WHERE patience.ms IS NOT NULL
  )
  INSERT INTO ${LOG_TABLE} (budget, kind, id, value, at)
  SELECT $1, added.kind, added.id, added.value, ${DATABASE_NOW}
  FROM held, unnest($2::text[], $3::text[], $4::bigint[]) WITH ORDINALITY AS added (kind, id, value, place)
  ORDER BY added.place`;
// The record that was read last comes again: where it does not, the log is not the one that was read.
const READ = `
  SELECT clock.now, log.seq, log.kind, log.id, log.value, log.at
  FROM (SELECT ${DATABASE_NOW} AS now) AS clock
  LEFT JOIN ${LOG_TABLE} AS log ON log.budget = $1 AND log.seq >= $2
  ORDER BY log.seq`;
// The limit stays, for who comes after all else is gone.
const PRUNE = deleteUnlocked(
  LOG_TABLE,
  `budget = $1 AND at < ${DATABASE_NOW} - CASE kind WHEN 'gate' THEN $3::bigint ELSE $2::bigint END
   AND seq IS DISTINCT FROM (
     SELECT max(seq) FROM ${LOG_TABLE} WHERE budget = $1 AND kind = 'limit' AND value BETWEEN ${LIMIT_MIN} AND ${LIMIT_MAX}
   )`,
);
// Records of an earlier version, which kept a budget for each key and base URL, while they may still count.
const TAKE_OVER = `
  WITH earlier AS MATERIALIZED (
    SELECT * FROM ${LOG_TABLE} WHERE budget = $2 AND at > ${DATABASE_NOW} - $3::bigint
  ),
  patience AS MATERIALIZED (SELECT set_config('lock_timeout', '${LOCK_MS}', true) AS ms),
  held AS MATERIALIZED (
    SELECT pg_advisory_xact_lock(hashtextextended($1, 0)) AS lock
    FROM patience WHERE patience.ms IS NOT NULL AND EXISTS (SELECT FROM earlier)
  )
  INSERT INTO ${LOG_TABLE} (budget, kind, id, value, at)
  SELECT $1, kind, id, value, at
  FROM held, earlier
  WHERE kind <> 'limit' OR NOT EXISTS (SELECT FROM ${LOG_TABLE} WHERE budget = $1 AND kind = 'limit')
  ORDER BY seq`;

/** Which log, and where. */
export interface SharedBudgetOptions extends DatabaseAddress {
  readonly key: string;
  readonly baseUrl: string;
  readonly clock: Clock;
  readonly say?: Say;
  /** Ends the opening, where the database is away. */
  readonly signal?: AbortSignal;
}

/** A log that workers of any machine share, and what spreads their requests. */
export interface SharedBudget {
  readonly log: BudgetLog;
  readonly pace: Pace;
  /** Adds what is still to be added, unless the database is away, and closes. */
  close(): Promise<void>;
}

/**
 * Opens the log in PostgreSQL that all workers share which use the same key and the same database. Throws
 * `config_invalid` where a package is missing, and `budget_unreachable`.
 *
 * Ages of records are told by the database's clock alone, and kept from then on by this machine's monotonic clock: so
 * neither machines whose clocks differ nor clocks that are set make a record older than it is. A record that was added
 * twice, because the answer to the first attempt was lost, says the same as one.
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
    return Promise.reject(new SightlineError('internal', "the budget's log is closed"));
  };
  try {
    const earlier = budgetName(`${options.key}\n${options.baseUrl}`);
    await database.query({ text: TAKE_OVER, values: [budget, earlier, COUNTED_MS_MAX] }, options.signal);
    await reader.readOn();
    const { databaseNow } = reader;
    const pace = await openPace({ database, budget, clock, databaseNow, closing: closing.signal });
    return {
      log: { append: ask, refresh: () => ask(null), read: reader.take, delayMsMax: DELAY_MS_MAX },
      pace,
      close: async () => {
        // An answer that has just come is still told of.
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

// Reads on from where it stopped, and knows the database's clock from then. A database that took over, or was restored,
// may lack the last records and give their numbers to others: then all is read anew, which tells what is known already a
// second time and misses nothing.
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
        // Later rather than sooner, by what the answer took; and never before what stands before it, nor before the look
        // that did not find it yet, whatever the database's clock says.
        at.latestMs = Math.max(at.latestMs, at.askedMs, nowMs - Math.max(0, Number(row.now) - Number(row.at)));
        // The wall clock is no witness: the monotonic one says all.
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

// One piece of work at a time keeps the order of this process's records; what comes meanwhile goes together.
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
      // Who is told may have more to say, before all is taken for said.
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

/** The name of a key's budget in the database: a hash, from which the key cannot be read. */
export function budgetName(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}
