import { LIMIT_MAX, LIMIT_MIN } from '../../contract/plausibility/rate-headers.ts';

/** Maximum Retry-After that is waited for, in milliseconds; a longer one ends the run. */
export const RETRY_AFTER_MS_MAX = 15 * 60_000;
/** Maximum random addition to a wait, so that processes do not resume at the same time. */
export const GATE_JITTER_MS = 500;
/** Maximum latency of a record, in milliseconds: an hour, because machines may sleep during a request. */
const ANSWER_MS_MAX = 60 * 60_000;
/** A record whose wall time is further in the future has a damaged time, in milliseconds. */
const AHEAD_MS_MAX = 24 * 60 * 60_000;

/** Kinds of records, with the meaning of `value`. */
export const BUDGET_KINDS = [
  /** A request waits to be sent or is about to be sent. Claims are served in log order. Repeating the record renews the claim. */
  'claim',
  /** The response headers of a request arrived; value: latency in milliseconds. */
  'answer',
  /** A request ended without a response. */
  'fail',
  /** A claim was withdrawn; no request was sent. */
  'leave',
  /** Upstream sent its limit; value: requests per minute. */
  'limit',
  /** Upstream responded with 429; value: milliseconds during which no process sends requests. */
  'gate',
  /** Upstream counted requests of other users of the key; value: number of them in the current window. */
  'others',
  /** Records after this one do not count; the log continues in the next file. */
  'seal',
] as const;

/** Minimum and maximum `value` of each kind of record. Readers ignore records outside these bounds. */
export const VALUE_BOUNDS: Readonly<Record<(typeof BUDGET_KINDS)[number], readonly [number, number]>> = {
  claim: [0, 0],
  answer: [0, ANSWER_MS_MAX],
  fail: [0, 0],
  leave: [0, 0],
  limit: [LIMIT_MIN, LIMIT_MAX],
  gate: [0, RETRY_AFTER_MS_MAX + GATE_JITTER_MS],
  others: [0, LIMIT_MAX],
  seal: [0, 0],
};

/** One event of a key's budget, shared by all processes that use the key. */
export interface BudgetRecord {
  readonly kind: (typeof BUDGET_KINDS)[number];
  /** Id of the request; `-` if the record is not about a request. */
  readonly id: string;
  readonly value: number;
  /** Time of the event by the machine's monotonic clock and by its wall clock, in whole milliseconds. */
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** Events of a key in one order, which is the same for all readers. */
export interface BudgetLog {
  /**
   * Appends a record; throws or rejects if it cannot be stored. After it has returned or resolved, `read` returns the record and
   * all earlier ones.
   */
  append(record: BudgetRecord): void | Promise<void>;
  /** Returns the records that all processes added since the last call, in order, as far as they were fetched. */
  read(): BudgetRecord[];
  /** Fetches records of other processes. Logs without this method always have them. */
  refresh?(): Promise<void>;
  /** Maximum milliseconds until all readers can see a record; default: 0. */
  readonly delayMsMax?: number;
}

// The final dot distinguishes a complete record from one that a full disk truncated within its last number.
const LINE = new RegExp(`^(${BUDGET_KINDS.join('|')}) ([0-9a-z-]{1,32}) (\\d{1,15}) (\\d{1,15}) (\\d{1,15})\\.$`);

/** Returns the record as a line without line break. */
export function formatRecord({ kind, id, value, monotonicMs, wallMs }: BudgetRecord): string {
  return `${kind} ${id} ${value} ${monotonicMs} ${wallMs}.`;
}

/** Parses a line; null if it is not a record or its value is implausible. */
export function parseRecord(line: string): BudgetRecord | null {
  const record = matchRecord(line);
  return record !== null && isPlausible(record) ? record : null;
}

/** Parses a line; returns the record only if its value is implausible, otherwise null. */
export function parseImplausibleRecord(line: string): BudgetRecord | null {
  const record = matchRecord(line);
  return record === null || isPlausible(record) ? null : record;
}

/** True if the value of a record is within the bounds of its kind. */
export function isPlausible({ kind, value }: Pick<BudgetRecord, 'kind' | 'value'>): boolean {
  const [min, max] = VALUE_BOUNDS[kind];
  return value >= min && value <= max;
}

function matchRecord(line: string): BudgetRecord | null {
  const [, kind, id, value, monotonicMs, wallMs] = LINE.exec(line) ?? [];
  if (kind === undefined || id === undefined) return null;
  const numbers = { value: Number(value), monotonicMs: Number(monotonicMs), wallMs: Number(wallMs) };
  return { kind: kind as BudgetRecord['kind'], id, ...numbers };
}

/** The time by both clocks of a machine, in milliseconds. */
export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/**
 * Returns the age of a record in milliseconds. The monotonic clock is not affected when the wall clock is set, but restarts with
 * the machine. If the record's monotonic time is in the future, the wall clock is used; otherwise the smaller of the two ages,
 * because a hold that lasts too long is safe. A wall time more than a day in the future is damaged: then only the monotonic time
 * counts, and if it is in the future too, the age is infinite.
 */
export function ageOf(record: BudgetRecord, now: Moment): number {
  const byWall = Math.max(0, now.wallMs - record.wallMs);
  const byMonotonic = now.monotonicMs - record.monotonicMs;
  if (record.wallMs - now.wallMs > AHEAD_MS_MAX) return byMonotonic < 0 ? Number.POSITIVE_INFINITY : byMonotonic;
  return byMonotonic < 0 ? byWall : Math.min(byMonotonic, byWall);
}

/** Creates a log in memory for one reader. */
export function memoryLog(): BudgetLog {
  const unread: BudgetRecord[] = [];
  return { append: (record) => void unread.push(record), read: () => unread.splice(0) };
}
