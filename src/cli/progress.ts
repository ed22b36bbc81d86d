import { createLogUpdate } from 'log-update';
import type { Tally } from '../sync/tally.ts';
import type { Budget } from '../upstream/budget.ts';
import { count, duration } from './output.ts';
import { terminal } from './terminal.ts';

/** Redraws no more often than this. */
const REDRAW_MS = 100;
const BAR_CELLS = 16;

/** Progress of a sync on a terminal; silent where standard error is none. */
export interface SyncProgress {
  update(tally: Tally, budget: Budget): void;
  /** Leaves the last state standing. */
  done(): void;
}

/** Progress on standard error. */
export function createSyncProgress(enabled = terminal().stderr.isTTY === true): SyncProgress {
  if (!enabled) return { update: () => undefined, done: () => undefined };
  const log = createLogUpdate(terminal().stderr as NodeJS.WriteStream);
  const startedAt = performance.now();
  let drawnAt = Number.NEGATIVE_INFINITY;
  let last: (() => string) | null = null;
  return {
    update: (tally, budget) => {
      last = () => render(tally, budget, performance.now() - startedAt);
      if (performance.now() - drawnAt < REDRAW_MS) return;
      drawnAt = performance.now();
      log(last());
    },
    done: () => {
      if (last !== null) log(last());
      log.done();
    },
  };
}

/** The progress as text: a line a resource, then what it costs and how long it takes. */
export function render(tally: Tally, budget: Budget, elapsedMs: number): string {
  const resources = [...tally.resources];
  const width = Math.max(8, ...resources.map(([name]) => name.length));
  const lines = resources.map(([name, { done, expected, rows, failed }]) => {
    const requests = `${count(done)}/${count(Math.max(done, expected))}`;
    const trouble = failed > 0 ? `  ${failed} failed` : '';
    return `${name.padEnd(width)}  ${bar(done, expected)}  ${requests.padStart(11)} requests  ${count(rows).padStart(9)} rows${trouble}`;
  });
  const left = resources.reduce((sum, [, { done, expected }]) => sum + Math.max(0, expected - done), 0);
  const { limit, left: budgetLeft, capacity } = budget.state();
  const rate = Math.min(capacity, (tally.requests / Math.max(1, elapsedMs)) * 60_000);
  const toGo =
    left === 0 ? 0 : (Math.max(0, left - budgetLeft) / capacity) * 60_000 + (left / Math.max(1, rate)) * 1000;
  lines.push(
    `${count(tally.requests)} requests sent, ${count(left)} to go · ${count(budgetLeft)} of ${count(limit)} a minute left` +
      ` · ${duration(elapsedMs)}, about ${duration(toGo)} to go`,
  );
  return lines.join('\n');
}

function bar(done: number, expected: number): string {
  const full = expected === 0 ? 0 : Math.min(BAR_CELLS, Math.floor((done / expected) * BAR_CELLS));
  return `${'█'.repeat(full)}${'░'.repeat(BAR_CELLS - full)}`;
}

/** One line of progress on a terminal; silent where standard error is none. */
export function createLineProgress(enabled = terminal().stderr.isTTY === true) {
  if (!enabled) return { update: () => undefined, done: () => undefined };
  const log = createLogUpdate(terminal().stderr as NodeJS.WriteStream);
  return { update: (line: string): void => log(line), done: (): void => log.clear() };
}
