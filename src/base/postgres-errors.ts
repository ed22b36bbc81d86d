import type { Clock } from './clock.ts';

/** PostgreSQL error codes (SQLSTATE). Network codes such as EPIPE can have the same length but contain no digit. */
const SQLSTATE = /^(?=.*\d)[0-9A-Z]{5}$/;
/** Transaction rolled back because of another one: serialization failure, deadlock. */
const CONFLICTS = ['40001', '40P01'];
/** Maximum attempts at a conflicting statement, and bounds of the random wait between attempts. */
const CONFLICT_ATTEMPTS_MAX = 10;
const CONFLICT_MS_FIRST = 20;
const CONFLICT_MS_MAX = 1_000;

/** Transient error classes: the first two characters of the SQLSTATE, and the predicate for messages. */
const PASSING: Readonly<Record<string, string>> = {
  '08': 'lost the connection',
  '25': 'does not accept writes now',
  '40': 'rolled back a statement because of a conflict',
  '53': 'has no resources left',
  '55': 'could not get a lock',
  '57': 'is shutting down or canceled the statement',
  '58': 'has a system error',
  XX: 'has an internal error',
};

/** A failure of a PostgreSQL database. */
export interface DatabaseFailure {
  /** Predicate for a message whose subject is the database: "does not answer", "refuses". */
  readonly what: string;
  /** Whether the same statement may succeed later. */
  readonly passes: boolean;
  /** Whether the database itself reported it, with a SQLSTATE. */
  readonly isReported: boolean;
}

/** Classifies a driver's error by its SQLSTATE. An error without a SQLSTATE means that the database was not reached. */
export function toDatabaseFailure(thrown: unknown): DatabaseFailure {
  const code = codeOf(thrown);
  if (!SQLSTATE.test(code)) return { what: 'does not answer', passes: true, isReported: false };
  const passing = PASSING[code.slice(0, 2)];
  return { what: passing ?? 'refuses', passes: passing !== undefined, isReported: true };
}

/**
 * Runs a single-statement transaction, and repeats it if it was rolled back because of another transaction: at most 10
 * attempts with random waits. Rethrows the last error.
 */
export async function retryConflicts<T>(clock: Clock, run: () => Promise<T>): Promise<T> {
  for (let attempt = 1, bound = CONFLICT_MS_FIRST; ; attempt++, bound = Math.min(2 * bound, CONFLICT_MS_MAX)) {
    try {
      return await run();
    } catch (thrown) {
      if (!CONFLICTS.includes(codeOf(thrown)) || attempt === CONFLICT_ATTEMPTS_MAX) throw thrown;
      await clock.sleep(bound * (0.5 + clock.random() / 2));
    }
  }
}

/** Removes the password of a URL from a message of the driver, which may contain the URL. */
export function withoutPassword(message: string, url: string): string {
  const { password } = new URL(url);
  if (password === '') return message;
  return message.replaceAll(decodeURIComponent(password), '…').replaceAll(password, '…');
}

/** Returns the `code` of an error, or an empty string. */
export function codeOf(thrown: unknown): string {
  const { code } = (thrown ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}
