import { createLogUpdate } from 'log-update';
import { visible } from '../../base/visible.ts';
import type { ExportProgress } from '../../operations/export.ts';
import { type Progress, progressOf } from '../../sync/progress.ts';
import type { SyncStats } from '../../sync/sync-stats.ts';
import type { Budget } from '../../upstream/budget/budget.ts';
import { count, duration } from './output.ts';
import { terminal } from './terminal.ts';

/** Minimum time between redraws, in milliseconds. */
const REDRAW_MS = 100;
const BAR_CELLS = 16;

/** Progress on standard error. Without a terminal that can remove it, it prints nothing. */
export interface ShownProgress<T extends unknown[]> {
  update(...now: T): void;
  /** Removes it from the screen, because the result follows. */
  done(): void;
}

/** Creates the progress of a sync. */
export function createSyncProgress(signal: AbortSignal): ShownProgress<[stats: SyncStats, budget: Budget]> {
  const startedAt = performance.now();
  return createProgress(signal, (stats, budget) => {
    const elapsedMs = performance.now() - startedAt;
    return render(progressOf(stats, budget.state(), elapsedMs), elapsedMs);
  });
}

/** Creates progress that `toText` formats. It disappears when the signal is aborted: a message about that follows. */
export function createProgress<T extends unknown[]>(
  signal: AbortSignal,
  toText: (...now: T) => string,
): ShownProgress<T> {
  const { stderr, variables } = terminal();
  // A dumb terminal prints the escapes that would remove the progress.
  if (stderr.isTTY !== true || variables['TERM'] === 'dumb') return { update: () => undefined, done: () => undefined };
  // The library would hide the cursor until the process ends, which may be after questions or hours of serving.
  const log = createLogUpdate(stderr as NodeJS.WriteStream, { showCursor: true });
  let drawnAt = Number.NEGATIVE_INFINITY;
  const clear = (): void => log.clear();
  return {
    update: (...now) => {
      if (signal.aborted || performance.now() - drawnAt < REDRAW_MS) return;
      drawnAt = performance.now();
      signal.addEventListener('abort', clear, { once: true });
      log(visible(toText(...now)));
    },
    done: () => {
      signal.removeEventListener('abort', clear);
      clear();
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

/** The progress of an export as text. */
export function exportLine({ table, done, of }: ExportProgress): string {
  return table === null ? `${done} of ${of} files published` : `${done} of ${of} tables written, ${table} now`;
}
