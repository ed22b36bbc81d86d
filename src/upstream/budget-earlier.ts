import { readFileSync } from 'node:fs';
import { SKEW_MS, WINDOW_MS } from './budget-ledger.ts';
import { type BudgetRecord, isPlausible, type Moment } from './budget-record.ts';

/** How long after it was sent a request of the earlier version may have been counted. */
const ARRIVAL_MS_MAX = 1_000;
/** Yet to come, so that the wall clock tells: the earlier version noted no other. */
const NO_MONOTONIC_MS = 999_999_999_999_999;
const TIME = /^\d{1,15}$/;
const LIMIT = /^limit (\d{1,9})$/;

/**
 * What the file of the version before still holds, as records: send times, one epoch-millisecond number a line, of the
 * last minute, and the last line `limit 120`. Other lines are skipped; without a file there is nothing. Taken over
 * twice, the records say the same.
 */
export function readEarlierBudget(path: string, now: Moment): BudgetRecord[] {
  const lines = readLines(path);
  const sends = lines
    .filter((line) => TIME.test(line))
    // A time that is still to come was noted before the clock was set back; it counts as this moment.
    .map((line, index) => ({ wallMs: Math.min(Number(line), now.wallMs) + ARRIVAL_MS_MAX, index }))
    .filter(({ wallMs }) => wallMs + WINDOW_MS + SKEW_MS > now.wallMs)
    .map(({ wallMs, index }): BudgetRecord => {
      const id = `earlier-${wallMs.toString(36)}-${index.toString(36)}`;
      return { kind: 'fail', id, value: 0, monotonicMs: NO_MONOTONIC_MS, wallMs };
    });
  const limit = Number(lines.findLast((line) => LIMIT.test(line))?.slice('limit '.length) ?? 0);
  // Of a moment before all others: whatever was learned since counts.
  const named: BudgetRecord = { kind: 'limit', id: '-', value: limit, monotonicMs: 0, wallMs: 0 };
  return [...(isPlausible(named) ? [named] : []), ...sends];
}

function readLines(path: string): string[] {
  try {
    return readFileSync(path, 'utf8')
      .split('\n')
      .map((line) => line.trim());
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw thrown;
  }
}
