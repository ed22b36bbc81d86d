import type { Clock } from './clock.ts';

/** Codes of PostgreSQL (SQLSTATE); those of the network, such as EPIPE, may be as long, and have no digit. */
const SQLSTATE = /^(?=.*\d)[0-9A-Z]{5}$/;
/** A transaction that was rolled back because of another one: serialization failure, deadlock. */
const CONFLICTS = ['40001', '40P01'];
/** Attempts at a statement that conflicts with others, and bounds of the random wait between them. */
const CONFLICT_ATTEMPTS_MAX = 10;
const CONFLICT_MS_FIRST = 20;
const CONFLICT_MS_MAX = 1_000;

/** What the first two characters of a SQLSTATE stand for, if the same statement may succeed later. */
const PASSING: Readonly<Record<string, string>> = {
  '08': 'lost the connection',
  '25': 'takes no writes now',
  '40': 'rolled a statement back because of others',
  '53': 'has no resources left',
  '55': 'could not lock what a statement needs',
  '57': 'is shutting down or ended the statement',
  '58': 'has a fault of its system',
  XX: 'has an internal fault',
};

/** A failure of a PostgreSQL database. */
export interface DatabaseFailure {
  /** What the database did, as a predicate: "does not answer", "refuses". */
  readonly what: string;
  /** Whether the same statement may succeed later. */
  readonly passes: boolean;
  /** Whether the database itself reported it, with a SQLSTATE. */
  readonly isReported: boolean;
}

/** Classifies what a driver threw by its SQLSTATE; without one, the database was not reached. */
export function toDatabaseFailure(thrown: unknown): DatabaseFailure {
  const code = codeOf(thrown);
  if (!SQLSTATE.test(code)) return { what: 'does not answer', passes: true, isReported: false };
  const passing = PASSING[code.slice(0, 2)];
  return { what: passing ?? 'refuses', passes: passing !== undefined, isReported: true };
}

/** Runs a statement that is a transaction of its own again, a bounded number of times, if another one made it roll back. */
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

/** The code of an error, or an empty text. */
export function codeOf(thrown: unknown): string {
  const { code } = (thrown ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}
