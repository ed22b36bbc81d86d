import { setFlagsFromString } from 'node:v8';
import { syncWorkspace } from '../../app/sync.ts';
import { EXIT, SightlineError } from '../../base/errors.ts';
import type { DayRange } from '../../sync/chain.ts';
import type { SyncSummary } from '../../sync/run.ts';
import { commandContext, toDayFlag, type WorkspaceFlags } from '../context.ts';
import { count, duration, plural, printData, reportError, say } from '../output.ts';
import { createSyncProgress } from '../progress.ts';

/** Failures and warnings that are listed one by one. */
const LISTED_MAX = 10;

/** Flags of `sync`. */
export interface SyncFlags extends WorkspaceFlags {
  readonly only?: readonly string[];
  readonly brand?: readonly string[];
  readonly from?: string;
  readonly to?: string;
}

/** Runs `sightline sync` and returns its exit code. */
export async function sync(flags: SyncFlags, signal: AbortSignal): Promise<number> {
  // Pages come and go by the thousand; V8 would rather let its heap grow than collect them.
  setFlagsFromString('--optimize-for-size');
  const context = commandContext('sync', flags, signal);
  const options = {
    only: listOf('--only', flags.only),
    range: rangeOf(flags),
    brands: listOf('--brand', flags.brand),
  };
  const progress = createSyncProgress();
  const startedAt = performance.now();
  let summary: SyncSummary;
  try {
    summary = await syncWorkspace(context, options, progress.update);
  } finally {
    progress.done();
  }
  const { error, failures, warnings, ...result } = summary;
  if (flags.json === true) {
    const told = error === null ? {} : { error: { code: error.code, message: error.message, hint: error.hint } };
    printData(JSON.stringify({ ...result, failures, warnings, ...told }));
  }
  describe(summary, performance.now() - startedAt);
  if (error !== null) reportError(error, false);
  return exitCodeOf(summary);
}

function exitCodeOf({ status, error }: SyncSummary): number {
  if (error !== null) return error.exit;
  return status === 'partial' ? EXIT.partial : EXIT.done;
}

// Both `--only a b` and `--only a,b`.
function listOf(flag: string, values: readonly string[] | undefined): string[] | null {
  const parts = values?.flatMap((value) => value.split(',').filter((part) => part !== '')) ?? null;
  if (parts?.length === 0) throw new SightlineError('usage', `${flag} names nothing; allowed: one name or several`);
  return parts;
}

function rangeOf({ from, to }: SyncFlags): DayRange | null {
  if (from === undefined && to === undefined) return null;
  const first = from === undefined ? null : toDayFlag('--from', from);
  const last = to === undefined ? new Date().toISOString().slice(0, 10) : toDayFlag('--to', to);
  if (first === null) throw new SightlineError('usage', '--to needs --from');
  if (first > last)
    throw new SightlineError('usage', `--from ${first} is after --to ${last}; allowed: a day not after it`);
  return { from: first, to: last };
}

function describe(summary: SyncSummary, elapsedMs: number): void {
  const { status, requests, retries, tables, quarantined, failures, warnings } = summary;
  const sums = { inserted: 0, updated: 0, deleted: 0 };
  for (const table of Object.values(tables)) {
    sums.inserted += table.inserted;
    sums.updated += table.updated;
    sums.deleted += table.deleted;
  }
  say(
    `sync ${status}: ${plural(sums.inserted, 'row')} inserted, ${count(sums.updated)} updated, ${count(sums.deleted)} deleted; ` +
      `${plural(requests, 'request')} (${count(retries)} repeated) in ${duration(elapsedMs)}`,
  );
  if (quarantined > 0) say(`${plural(quarantined, 'item')} in quarantine: select * from sync.quarantine`);
  list('not finished', failures);
  list('note', warnings);
}

function list(label: string, troubles: readonly { chain: string; message: string }[]): void {
  for (const { chain, message } of troubles.slice(0, LISTED_MAX)) say(`${label}: ${chain}: ${message}`);
  if (troubles.length > LISTED_MAX) say(`${label}: and ${count(troubles.length - LISTED_MAX)} more`);
}
