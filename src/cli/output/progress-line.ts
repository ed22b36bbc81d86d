import { createLogUpdate } from 'log-update';
import { visible } from '../../base/visible.ts';
import type { Budget } from '../../budget/budget.ts';
import type { ExportProgress } from '../../operations/export.ts';
import { type Progress, progressOf } from '../../sync/progress.ts';
import type { SyncStats } from '../../sync/sync-stats.ts';
import { count, duration } from './output.ts';
import { terminal } from './terminal.ts';

/** Minimum time between redraws, in milliseconds. */
const REDRAW_MS = 100;
const BAR_CELLS = 16;

/** Progress of a sync on a terminal. Without a terminal it prints nothing. */
export interface SyncProgress {
  update(stats: SyncStats, budget: Budget): void;
  /** Draws the final state and keeps it on the screen. A second call does nothing. */
  done(): void;
}

/** Creates the sync progress on standard error. */
export function createSyncProgress(enabled = terminal().stderr.isTTY === true): SyncProgress {
  if (!enabled) return { update: () => undefined, done: () => undefined };
  const log = createLogUpdate(terminal().stderr as NodeJS.WriteStream);
  const startedAt = performance.now();
  let drawnAt = Number.NEGATIVE_INFINITY;
  let last: (() => string) | null = null;
  return {
    update: (stats, budget) => {
      last = () => {
        const elapsedMs = performance.now() - startedAt;
        return render(progressOf(stats, budget.state(), elapsedMs), elapsedMs);
      };
      if (performance.now() - drawnAt < REDRAW_MS) return;
      drawnAt = performance.now();
      log(visible(last()));
    },
    done: () => {
      if (last === null) return;
      log(visible(last()));
      last = null;
      log.done();
    },
  };
}

/** Formats the progress: one line per resource, then a line with requests, budget and time. */
export function render(
  { resources, requests, done, expected, budget, secondsToGo }: Progress,
  elapsedMs: number,
): string {
  const width = Math.max(8, ...resources.map(({ name }) => name.length));
  const lines = resources.map((one) => {
    const share = `${count(one.done)}/${count(one.expected)}`;
    const trouble = one.failed > 0 ? `  ${one.failed} failed` : '';
    return `${one.name.padEnd(width)}  ${bar(one.done, one.expected)}  ${share.padStart(11)} requests  ${count(one.rows).padStart(9)} rows${trouble}`;
  });
  lines.push(
    `${count(requests)} requests sent, ${count(expected - done)} to go · ${count(budget.left)} of ${count(budget.limit)} per minute left` +
      ` · ${duration(elapsedMs)}, about ${duration(secondsToGo * 1000)} to go`,
  );
  return lines.join('\n');
}

function bar(done: number, expected: number): string {
  const full = expected === 0 ? 0 : Math.min(BAR_CELLS, Math.floor((done / expected) * BAR_CELLS));
  return `${'█'.repeat(full)}${'░'.repeat(BAR_CELLS - full)}`;
}

/** Creates the progress of an export on standard error. */
export function createExportProgress() {
  const line = createLineProgress();
  return { update: (now: ExportProgress): void => line.update(exportLine(now)), done: line.done };
}

/** The progress of an export as text. */
export function exportLine({ table, done, of }: ExportProgress): string {
  return table === null ? `${done} of ${of} files published` : `${done} of ${of} tables written, ${table} now`;
}

/** Creates a single line of progress on standard error. Without a terminal it prints nothing. */
export function createLineProgress(enabled = terminal().stderr.isTTY === true) {
  if (!enabled) return { update: () => undefined, done: () => undefined };
  const log = createLogUpdate(terminal().stderr as NodeJS.WriteStream);
  return { update: (line: string): void => log(visible(line)), done: (): void => log.clear() };
}
