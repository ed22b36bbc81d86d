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

/** The record that a line holds, or null when it holds none. */
export function parseRecord(line: string): BudgetRecord | null {
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
 * two answers the younger one holds: what is taken for too young is only held for too long.
 */
export function ageOf(record: BudgetRecord, now: Moment): number {
  const byWall = Math.max(0, now.wallMs - record.wallMs);
  const byMonotonic = now.monotonicMs - record.monotonicMs;
  return byMonotonic < 0 ? byWall : Math.min(byMonotonic, byWall);
}

/** A log that lives in this process and has one reader. */
export function memoryLog(): BudgetLog {
  const unread: BudgetRecord[] = [];
  return { append: (record) => void unread.push(record), read: () => unread.splice(0) };
}
