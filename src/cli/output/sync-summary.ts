import { setFlagsFromString } from 'node:v8';
import { visibleLine } from '../../base/visible.ts';
import type { SyncSummary } from '../../sync/run-sync.ts';
import { driftLine } from './drift-text.ts';
import { count, duration, errorJson, plural, reportError, say } from './output.ts';
import { terminal } from './terminal.ts';

/** Failures and warnings that are listed one by one. */
const LISTED_MAX = 10;

/**
 * Sets a flag of V8 in a process that does nothing but sync: the heap may grow to 1.5 times its live objects. `--optimize-for-size`
 * saves up to 65 MB but takes half more CPU, because it also shrinks the young generation.
 */
export function tuneForSync(): void {
  const { isHosted, ownsProcess } = terminal();
  if (!isHosted && ownsProcess) setFlagsFromString('--heap-growing-percent=50');
}

/** Prints the result of a run and returns its JSON form. */
export function renderSync(summary: SyncSummary, elapsedMs: number) {
  describe(summary, elapsedMs);
  if (summary.error !== null) reportError(summary.error, false);
  return toJson(summary);
}

/** The JSON form of a run. */
export function toJson({ error, failures, warnings, ...result }: SyncSummary) {
  return { ...result, failures, warnings, ...(error === null ? {} : errorJson(error)) };
}

/** Prints the result of a run. Each line begins with `prefix`. */
export function describe(summary: SyncSummary, elapsedMs: number, prefix = ''): void {
  const { status, requests, retries, tables, quarantined, failures, warnings } = summary;
  const sums = { inserted: 0, updated: 0, deleted: 0 };
  for (const table of Object.values(tables)) {
    sums.inserted += table.inserted;
    sums.updated += table.updated;
    sums.deleted += table.deleted;
  }
  say(
    `${prefix}sync ${status}: ${plural(sums.inserted, 'row')} inserted, ${count(sums.updated)} updated, ${count(sums.deleted)} deleted; ` +
      `${plural(requests, 'request')} (${count(retries)} repeated) in ${duration(elapsedMs)}`,
  );
  if (summary.allowance !== null) {
    say(`${prefix}stopped: ${summary.allowance}; about ${plural(summary.left, 'request')} left; the next run resumes`);
  }
  if (quarantined > 0)
    say(
      `${prefix}${plural(quarantined, 'item')} quarantined (at most 100 per page are stored); see select * from sync.quarantine`,
    );
  const news = driftLine(summary.drift);
  if (news !== null) say(`${prefix}${news}`);
  list(`${prefix}not finished`, failures);
  list(`${prefix}note`, warnings);
}

function list(label: string, troubles: readonly { slice: string; message: string }[]): void {
  for (const { slice, message } of troubles.slice(0, LISTED_MAX)) say(`${label}: ${slice}: ${visibleLine(message)}`);
  if (troubles.length > LISTED_MAX) say(`${label}: and ${count(troubles.length - LISTED_MAX)} more`);
}
