import { appendFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { BudgetStore } from './budget.ts';

/** Older sends than this count nowhere any more. */
const KEEP_MS = 120_000;
const TIME = /^\d{1,16}$/;
const LIMIT = /^limit (\d{1,9})$/;

/**
 * Keeps send times in a text file, one epoch-millisecond number a line, and upstream's limit as `limit 120`, the last
 * such line counting. A line is written before its request is sent, so that even a killed process leaves the truth;
 * any other line is skipped.
 */
export function openBudgetFile(path: string, now: number): BudgetStore {
  const lines = readLines(path);
  // A time that is still to come was noted before the clock was set back; it counts as this moment.
  const sentAt = lines
    .filter((line) => TIME.test(line))
    .map(Number)
    .filter((time) => time > now - KEEP_MS)
    .map((time) => Math.min(time, now));
  const limit = Number(lines.findLast((line) => LIMIT.test(line))?.slice('limit '.length) ?? 0) || null;
  const aside = `${path}.${process.pid}`;
  const kept = [...(limit === null ? [] : [`limit ${limit}`]), ...sentAt];
  writeFileSync(aside, kept.map((line) => `${line}\n`).join(''));
  renameSync(aside, path);
  return {
    load: () => ({ sentAt, limit }),
    append: (epochMs) => appendFileSync(path, `${Math.round(epochMs)}\n`),
    remember: (named) => appendFileSync(path, `limit ${named}\n`),
  };
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
