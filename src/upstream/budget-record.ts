import { LIMIT_MAX, LIMIT_MIN } from '../plausibility/rate-headers.ts';

/** Longest that upstream is obeyed when it asks for silence, in milliseconds; a longer wait ends the run. */
export const RETRY_AFTER_MS_MAX = 15 * 60_000;
/** Added to a wait at most, so that not all processes send again in the same instant. */
export const GATE_JITTER_MS = 500;
/** Longest time to an answer that a record may name, in milliseconds: an hour, because machines sleep. */
const ANSWER_MS_MAX = 60 * 60_000;
/** A record that was written so far ahead of the wall clock has a damaged time, in milliseconds. */
const AHEAD_MS_MAX = 24 * 60 * 60_000;

/** What a record says; `value` is given with each. */
export const BUDGET_KINDS = [
  /** A request is about to be sent, or waits for that, in the order of these records; said again, it still does. */
  'claim',
  /** The head of a request's answer has come; value: how long it took, in milliseconds. */
  'answer',
  /** A request has ended without an answer. */
  'fail',
  /** A claim is given up; nothing was sent. */
  'leave',
  /** Upstream named its limit; value: requests a minute. */
  'limit',
  /** Upstream answered 429; value: milliseconds for which nobody sends. */
  'gate',
  /** Upstream has counted requests of other users of the key; value: how many of them count at this moment. */
  'others',
  /** Nothing behind this record counts; the log goes on in the next file. */
  'seal',
] as const;

/** Smallest and largest `value` of each kind of record; a record outside them is ignored by every reader. */
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

/** One event in the life of a key's budget, as all processes that use the key tell each other. */
export interface BudgetRecord {
  readonly kind: (typeof BUDGET_KINDS)[number];
  /** The request that is meant; `-` where none is. */
  readonly id: string;
  readonly value: number;
  /** When, by the machine's monotonic clock and by its wall clock, in whole milliseconds. */
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** The events of a key in one order, the same for everybody who reads it. */
export interface BudgetLog {
  /**
   * Adds a record behind all others; throws when it cannot be kept. When it has returned, or what it returned has
   * resolved, `read` gives the record and all before it.
   */
  append(record: BudgetRecord): void | Promise<void>;
  /** What was added since the last call, by anybody, in order, as far as it is known here. */
  read(): BudgetRecord[];
  /** Fetches what others have added; a log without this one knows it always. */
  refresh?(): Promise<void>;
  /** How long a record may be under way until all who look know it, in milliseconds; 0 where nothing is said. */
  readonly delayMsMax?: number;
}

// The stop at the end tells a whole record from one that a full disk has cut: a shorter number is a number too.
const LINE = new RegExp(`^(${BUDGET_KINDS.join('|')}) ([0-9a-z-]{1,32}) (\\d{1,15}) (\\d{1,15}) (\\d{1,15})\\.$`);

/** The record as a line of text without its end. */
export function formatRecord({ kind, id, value, monotonicMs, wallMs }: BudgetRecord): string {
  return `${kind} ${id} ${value} ${monotonicMs} ${wallMs}.`;
}

/** The record that a line holds; null if it holds none, or one with an implausible value. */
export function parseRecord(line: string): BudgetRecord | null {
  const record = matchRecord(line);
  return record !== null && isPlausible(record) ? record : null;
}

/** The record with an implausible value that a line holds, or null. */
export function parseImplausibleRecord(line: string): BudgetRecord | null {
  const record = matchRecord(line);
  return record === null || isPlausible(record) ? null : record;
}

/** Whether the value of a record lies within the bounds of its kind. */
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

/** Where both clocks of a machine stand. */
export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/**
 * How long ago a record was written, in milliseconds. The monotonic clock is right however the wall clock is set, but
 * starts again when the machine does, and then says nonsense, or a moment yet to come, when the wall clock tells. Of
 * two answers the younger one holds: what is taken for too young is only held for too long. A wall time more than a day
 * ahead is damaged: the monotonic time alone counts then, and if it is ahead too, the age is infinite.
 */
export function ageOf(record: BudgetRecord, now: Moment): number {
  const byWall = Math.max(0, now.wallMs - record.wallMs);
  const byMonotonic = now.monotonicMs - record.monotonicMs;
  if (record.wallMs - now.wallMs > AHEAD_MS_MAX) return byMonotonic < 0 ? Number.POSITIVE_INFINITY : byMonotonic;
  return byMonotonic < 0 ? byWall : Math.min(byMonotonic, byWall);
}

/** A log that lives in this process and has one reader. */
export function memoryLog(): BudgetLog {
  const unread: BudgetRecord[] = [];
  return { append: (record) => void unread.push(record), read: () => unread.splice(0) };
}
