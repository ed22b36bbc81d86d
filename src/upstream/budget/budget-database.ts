import type { Pool, QueryResult } from 'pg';
import type { Clock } from '../../base/clock.ts';
import type { DatabaseAddress } from '../../base/config/budget-settings.ts';
import { SightlineError } from '../../base/errors.ts';
import { installLine } from '../../base/optional-packages.ts';
import { codeOf, retryConflicts, toDatabaseFailure, withoutPassword } from '../../base/postgres-errors.ts';

/** Maximum connections of a process to one database, for all keys together. */
const CONNECTIONS_MAX = 4;
/** Time limits of one attempt. */
const CONNECT_MS = 5_000;
const QUERY_MS = 10_000;
/** Bounds of the wait between attempts, and how long the database may be unreachable before queries fail. */
const RETRY_MS_FIRST = 100;
const RETRY_MS_MAX = 5_000;
const AWAY_MS_MAX = 3 * 60_000;
/** An attempt that begins this long after the last failure starts a new outage, because retries follow each other sooner. */
const APART_MS = 30_000;
/** An outage is reported after this time, because some queries still succeed while a database shuts down. */
const TOLD_MS = 1_000;
/** Rows of keys that were not used for this time are deleted, on this share of all openings of the database. */
const FORGOTTEN_MS = 7 * 24 * 60 * 60_000;
const FORGET_SHARE = 0.02;
/** Advisory lock for creating the tables, because concurrent CREATE TABLE IF NOT EXISTS statements fail. */
const TABLES_LOCK = 7_310_442_918;

/** SQL expression for epoch milliseconds by the database's clock, which all machines share. */
export const DATABASE_NOW = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint';
/** Tables of the budget logs and of the limiter, in the first schema of the connection's search path. */
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

/** A parameterized query; `name` makes it a prepared statement. */
export interface Question {
  readonly text: string;
  readonly values?: readonly unknown[];
  readonly name?: string;
}

/** The database with the shared budgets. */
export interface BudgetDatabase {
  /**
   * Runs a query, and repeats it while the database is unreachable. An outage is reported once through `say`. After `hasty` is
   * aborted, the first failure is final.
   * @throws `budget_unreachable` if the outage lasts longer than 3 minutes or the database rejects the query
   */
  query(question: Question, hasty?: AbortSignal): Promise<QueryResult>;
  close(): Promise<void>;
}

interface Shared {
  users: number;
  pool: Promise<Pool>;
  /** Monotonic time of the first failure of the current outage; null if the last attempt succeeded. */
  failingSince: number | null;
  /** Monotonic time of the last failure. */
  failedAt: number;
  isTold: boolean;
}

/** One pool per process and URL, because a process may open hundreds of budgets at a time. */
const shared = new Map<string, Shared>();

/**
 * Opens the database and creates missing tables.
 * @throws `config_invalid` if the package pg is not installed
 * @throws `budget_unreachable`
 * @throws the signal's reason if the signal is aborted
 */
export async function openBudgetDatabase(
  address: DatabaseAddress,
  clock: Clock,
  { say = () => undefined, signal }: { readonly say?: (sentence: string) => void; readonly signal?: AbortSignal } = {},
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
        if (entry.isTold) say(`The shared budget's database (${address.urlVariable}) responds again.`);
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
          say(`${failure.message.replace(/^t/, 'T')}; no requests are sent to upstream until it responds.`);
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
 * Connects once and returns the database's version and the duration of the query in milliseconds.
 * @throws `config_invalid` if a package is not installed
 * @throws `budget_unreachable`
 */
export async function tryBudgetDatabase(
  address: DatabaseAddress,
  clock: Clock,
): Promise<{ version: string; tookMs: number }> {
  // A sync also needs the limiter: check now that it is installed.
  await load('rate-limiter-flexible', '11', () => import('rate-limiter-flexible'));
  const database = await openBudgetDatabase(address, { ...clock, monotonic: withoutRetries(clock) });
  try {
    const startedAt = clock.monotonic();
    const { rows } = await database.query({ text: "SELECT current_setting('server_version') AS version" });
    return { version: String(rows[0]?.version), tookMs: clock.monotonic() - startedAt };
  } finally {
    await database.close();
  }
}

// A monotonic clock that advances by more than AWAY_MS_MAX per reading, so that the first failure is final.
function withoutRetries(clock: Clock): () => number {
  let readings = 0;
  return () => clock.monotonic() + readings++ * 2 * AWAY_MS_MAX;
}

// Creates tables only if they are missing, because the role may not have the permission to create them.
async function prepare(query: BudgetDatabase['query'], clock: Clock): Promise<void> {
  const { rows } = await query({
    text: 'SELECT to_regclass($1) AS log, to_regclass($2) AS pace',
    values: [LOG_TABLE, PACE_TABLE],
  });
  if (rows[0]?.log === null || rows[0]?.pace === null) await query({ text: TABLES });
  // Deleting unused rows scans the full tables, so only some processes do it.
  if (clock.random() > FORGET_SHARE) return;
  const forgotten = `< ${DATABASE_NOW} - ${FORGOTTEN_MS}`;
  await query({ text: deleteUnlocked(LOG_TABLE, `at ${forgotten}`) });
  await query({ text: deleteUnlocked(PACE_TABLE, `expire ${forgotten}`) });
}

/**
 * Returns a DELETE that skips rows locked by other statements. Otherwise two DELETEs of the same rows in different orders would
 * deadlock.
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
    // Idle connections must not keep the process alive.
    allowExitOnIdle: true,
  });
  // The next query replaces a lost idle connection. Without this handler the error would end the process.
  pool.on('error', () => undefined);
  return pool;
}

function attempt(pool: Pool, { text, values = [], name }: Question): Promise<QueryResult> {
  // A text with several statements runs as one transaction and cannot have values.
  if (values.length === 0) return pool.query(text);
  return pool.query({ text, values: [...values], ...(name === undefined ? {} : { name }) });
}

/**
 * Loads a package that only shared budgets need.
 * @throws `config_invalid` if it is not installed
 */
export async function load<T>(name: string, version: string, importIt: () => Promise<T>): Promise<T> {
  try {
    return await importIt();
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw thrown;
    throw new SightlineError(
      'config_invalid',
      `budget.kind is "postgres", but the package ${name} (version ${version}) is not installed; allowed: file, or postgres after \`${installLine('budget')}\``,
    );
  }
}

// The driver's error is not attached as the cause, because it may contain the query's values or the URL.
function toFailure(thrown: unknown, { url, urlVariable }: DatabaseAddress): SightlineError {
  const code = codeOf(thrown);
  const { what, isReported } = toDatabaseFailure(thrown);
  const reason = isReported ? (thrown as Error).message : code === '' ? 'timeout or connection lost' : code;
  const hidden = withoutPassword(reason, url);
  return new SightlineError('budget_unreachable', `the shared budget's database (${urlVariable}) ${what} (${hidden})`);
}
