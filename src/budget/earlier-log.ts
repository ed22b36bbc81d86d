import { readFileSync } from 'node:fs';
import { SKEW_MS, WINDOW_MS } from './send-ledger.ts';
import { type BudgetRecord, isPlausible, type Moment } from './send-record.ts';

/** Upstream may have counted a request of the earlier version up to this long after it was sent. */
const ARRIVAL_MS_MAX = 1_000;
/** A monotonic time in the future, so that the age is computed from the wall clock; the earlier version stored only that. */
const NO_MONOTONIC_MS = 999_999_999_999_999;
const TIME = /^\d{1,15}$/;
const LIMIT = /^limit (\d{1,9})$/;

/**
 * Converts the budget file of the earlier version to records. The file has one send time per line, in epoch milliseconds, and
 * lines such as `limit 120`. Returns the send times of the last minute and the last limit; skips other lines. Returns nothing if
 * the file does not exist. Adding the records twice has the same effect as once.
 */
export function readEarlierBudget(path: string, now: Moment): BudgetRecord[] {
  const lines = readLines(path);
  const sends = lines
    .filter((line) => TIME.test(line))
    // A future time was written before the clock was set back; treat it as now.
    .map((line, index) => ({ wallMs: Math.min(Number(line), now.wallMs) + ARRIVAL_MS_MAX, index }))
    .filter(({ wallMs }) => wallMs + WINDOW_MS + SKEW_MS > now.wallMs)
    .map(({ wallMs, index }): BudgetRecord => {
      const id = `earlier-${wallMs.toString(36)}-${index.toString(36)}`;
      return { kind: 'fail', id, value: 0, monotonicMs: NO_MONOTONIC_MS, wallMs };
    });
  const limit = Number(lines.findLast((line) => LIMIT.test(line))?.slice('limit '.length) ?? 0);
  // Time 0, so that every limit learned later takes precedence.
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
