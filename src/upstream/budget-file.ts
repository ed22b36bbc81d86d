import { appendFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { BudgetStore } from './budget.ts';

/** Older sends than this count nowhere any more. */
const KEEP_MS = 120_000;

/**
 * Keeps send times in a text file, one epoch-millisecond number a line. A line is written before its request is sent,
 * so that even a killed process leaves the truth; lines that are no number are skipped.
 */
export function openBudgetFile(path: string, now: number): BudgetStore {
  // A time that is still to come was noted before the clock was set back; it counts as this moment.
  const recent = readTimes(path)
    .filter((time) => time > now - KEEP_MS)
    .map((time) => Math.min(time, now));
  const aside = `${path}.${process.pid}`;
  writeFileSync(aside, recent.map((time) => `${time}\n`).join(''));
  renameSync(aside, path);
  return {
    load: () => recent,
    append: (epochMs) => appendFileSync(path, `${Math.round(epochMs)}\n`),
  };
}

function readTimes(path: string): number[] {
  try {
    return readFileSync(path, 'utf8').split('\n').filter(Boolean).map(Number).filter(Number.isFinite);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw thrown;
  }
}
