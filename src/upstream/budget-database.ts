import type { Pool, QueryResult } from 'pg';
import type { Clock } from '../base/clock.ts';
import { SightlineError } from '../base/errors.ts';
import { codeOf, retryConflicts, toDatabaseFailure } from '../base/postgres-errors.ts';

/** Connections of a process to one database, whatever the number of keys. */
const CONNECTIONS_MAX = 4;
/** What one attempt may take. */
const CONNECT_MS = 5_000;
const QUERY_MS = 10_000;
/** Bounds of the wait between two attempts, and how long the database may be away before work ends with an error. */
const RETRY_MS_FIRST = 100;
const RETRY_MS_MAX = 5_000;
const AWAY_MS_MAX = 3 * 60_000;
/** Who waits tries again sooner: an attempt that begins later than this after a failure meets another trouble. */
const APART_MS = 30_000;
/** After so long it is told of: while it goes down, some questions are answered yet. */
const TOLD_MS = 1_000;
/** Rows of keys that nobody has used for so long are removed. */
const FORGOTTEN_MS = 7 * 24 * 60 * 60_000;
const FORGET_SHARE = 0.02;
/** Held while tables are made: CREATE TABLE IF NOT EXISTS fails where two do it at once. */
const TABLES_LOCK = 7_310_442_918;

/** Milliseconds since 1970 by the clock of the database: the one that all machines share. */
export const DATABASE_NOW = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint';
/** Table of the logs, and that of the limiter, in the schema that the connection's role or URL puts first. */
export const LOG_TABLE = 'sightline_budget_log';
export const PACE_TABLE = 'sightline_budget_pace';

const TABLES = `
  SELECT pg_advisory_xact_lock(${TABLES_LOCK});
  CREATE TABLE IF NOT EXISTS ${LOG_TABLE} (
    seq bigint GENERATED ALWAYS AS IDENTITY,
    budget text NOT NULL,
    kind text NOT NULL,
    id text NOT NULL,
    value bigint NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (budget, seq)
  );
  CREATE TABLE IF NOT EXISTS ${PACE_TABLE} (
    key varchar(255) PRIMARY KEY,
    points integer NOT NULL DEFAULT 0,
    expire bigint
  );`;

/** Where the database is: the connection URL is a secret, and is called by its variable's name. */
export interface DatabaseAddress {
  readonly url: string;
  readonly urlVariable: string;
}

/** What is asked of the database. */
export interface Question {
  readonly text: string;
  readonly values?: readonly unknown[];
  readonly name?: string;
}

/** The database that holds shared budgets. */
export interface BudgetDatabase {
  /**
   * Asks, again and again while the database is away, which is said once; throws `budget_unreachable` when it is away
   * for too long or refuses, and at the first failure once `hasty` is aborted.
   */
  query(question: Question, hasty?: AbortSignal): Promise<QueryResult>;
  close(): Promise<void>;
}

/** Told in a sentence when the database goes away and when it is back. */
export type Say = (sentence: string) => void;

interface Shared {
  users: number;
  pool: Promise<Pool>;
  /** Since when attempts have failed, by the monotonic clock; null where the last one did not. */
  failingSince: number | null;
  /** When the last one did. */
  failedAt: number;
  isTold: boolean;
}

/** One pool a process and URL: budgets come and go with syncs, and there may be hundreds at a time. */
const shared = new Map<string, Shared>();

/**
 * Opens the database, in which the tables are made that are not there. Throws `config_invalid` where a package is missing,
 * `budget_unreachable`, and the signal's reason when that is aborted.
 */
export async function openBudgetDatabase(
  address: DatabaseAddress,
  clock: Clock,
  { say = () => undefined, signal }: { readonly say?: Say; readonly signal?: AbortSignal } = {},
): Promise<BudgetDatabase> {
  const entry = shared.get(address.url) ?? {
    users: 0,
    pool: makePool(address),
    failingSince: null,
    failedAt: Number.NEGATIVE_INFINITY,
    isTold: false,
  };
  shared.set(address.url, entry);
  entry.users += 1;
  let isOpen = true;
  const close = async (): Promise<void> => {
    if (!isOpen) return;
    isOpen = false;
    entry.users -= 1;
    if (entry.users > 0) return;
    shared.delete(address.url);
    await entry.pool.then((pool) => pool.end()).catch(() => undefined);
  };
  const query: BudgetDatabase['query'] = async (question, hasty) => {
    for (let waitMs = RETRY_MS_FIRST; ; waitMs = Math.min(2 * waitMs, RETRY_MS_MAX)) {
      const beganAt = clock.monotonic();
      try {
        const pool = await entry.pool;
        const result = await retryConflicts(clock, () => attempt(pool, question));
        if (entry.isTold) say(`The database of ${address.urlVariable} answers again.`);
        Object.assign(entry, { failingSince: null, isTold: false });
        return result;
      } catch (thrown) {
        if (thrown instanceof SightlineError) throw thrown;
        const failure = toFailure(thrown, address);
        if (!toDatabaseFailure(thrown).passes) throw failure;
        const failedAt = clock.monotonic();
        if (beganAt - entry.failedAt > APART_MS) entry.failingSince = null;
        entry.failedAt = failedAt;
        entry.failingSince ??= failedAt;
        if (!entry.isTold && clock.monotonic() - entry.failingSince > TOLD_MS) {
          entry.isTold = true;
          say(`${failure.message.replace(/^t/, 'T')}; nothing is asked of upstream until it answers.`);
        }
        if (hasty?.aborted === true || clock.monotonic() - entry.failingSince > AWAY_MS_MAX) throw failure;
        await clock.sleep(waitMs * (0.5 + clock.random() / 2), hasty).catch(() => undefined);
      }
    }
  };
  try {
    await prepare((question) => query(question, signal), clock);
    return { query, close };
  } catch (thrown) {
    await close();
    signal?.throwIfAborted();
    throw thrown;
  }
}

/**
 * Connects once and asks the version: the database's own words for what it is, and how long it took to say so. Throws
 * `config_invalid` and `budget_unreachable`.
 */
export async function tryBudgetDatabase(
  address: DatabaseAddress,
  clock: Clock,
): Promise<{ version: string; tookMs: number }> {
  // The limiter is needed too, and only later.
  await load('rate-limiter-flexible', '11', () => import('rate-limiter-flexible'));
  const database = await openBudgetDatabase(address, { ...clock, monotonic: impatient(clock) });
  try {
    const startedAt = clock.monotonic();
    const { rows } = await database.query({ text: "SELECT current_setting('server_version') AS version" });
    return { version: String(rows[0]?.version), tookMs: clock.monotonic() - startedAt };
  } finally {
    await database.close();
  }
}

// A clock by which any second look is too late, for who wants one answer and no patience.
function impatient(clock: Clock): () => number {
  let looks = 0;
  return () => clock.monotonic() + looks++ * 2 * AWAY_MS_MAX;
}

// Whoever may not make tables needs none made where they are.
async function prepare(query: BudgetDatabase['query'], clock: Clock): Promise<void> {
  const { rows } = await query({
    text: 'SELECT to_regclass($1) AS log, to_regclass($2) AS pace',
    values: [LOG_TABLE, PACE_TABLE],
  });
  if (rows[0]?.log === null || rows[0]?.pace === null) await query({ text: TABLES });
  // All rows are looked at for that, so it is done now and then.
  if (clock.random() > FORGET_SHARE) return;
  const forgotten = `< ${DATABASE_NOW} - ${FORGOTTEN_MS}`;
  await query({ text: deleteUnlocked(LOG_TABLE, `at ${forgotten}`) });
  await query({ text: deleteUnlocked(PACE_TABLE, `expire ${forgotten}`) });
}

/**
 * A DELETE that waits for no row: rows that another statement has locked are left to the next time. Two that delete the same
 * rows in different orders would otherwise deadlock.
 */
export function deleteUnlocked(table: string, condition: string): string {
  return `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${table} WHERE ${condition} FOR UPDATE SKIP LOCKED))`;
}

async function makePool({ url }: DatabaseAddress): Promise<Pool> {
  const { default: pg } = await load('pg', '8', () => import('pg'));
  const pool = new pg.Pool({
    connectionString: url,
    max: CONNECTIONS_MAX,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: QUERY_MS,
    application_name: 'sightline',
    // A process that has done its work is not kept from ending.
    allowExitOnIdle: true,
  });
  // A connection that nobody uses is lost: the next question opens another. Without this the process would end.
  pool.on('error', () => undefined);
  return pool;
}

function attempt(pool: Pool, { text, values = [], name }: Question): Promise<QueryResult> {
  // Several statements in one text are one transaction, and take no values.
  if (values.length === 0) return pool.query(text);
  return pool.query({ text, values: [...values], ...(name === undefined ? {} : { name }) });
}

/** Loads a package that only shared budgets need. Throws `config_invalid` where it is not installed. */
export async function load<T>(name: string, version: string, importIt: () => Promise<T>): Promise<T> {
  try {
    return await importIt();
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw thrown;
    const how = 'npm install pg@8 rate-limiter-flexible@11';
    throw new SightlineError(
      'config_invalid',
      `budget.kind is "postgres", for which the package ${name} (version ${version}) is not installed; allowed: file, or postgres after ${how}`,
    );
  }
}

// Without the cause: the driver's errors may hold what they were given.
function toFailure(thrown: unknown, { url, urlVariable }: DatabaseAddress): SightlineError {
  const code = codeOf(thrown);
  const { what, isReported } = toDatabaseFailure(thrown);
  const { password } = new URL(url);
  const said = isReported
    ? (thrown as Error).message
    : code === ''
      ? 'no answer in time, or the connection was lost'
      : code;
  const hidden = password === '' ? said : said.replaceAll(decodeURIComponent(password), '…').replaceAll(password, '…');
  return new SightlineError(
    'budget_unreachable',
    `the database of ${urlVariable}, which holds the shared budget, ${what} (${hidden})`,
  );
}
