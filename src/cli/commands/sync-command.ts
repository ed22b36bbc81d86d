import { setFlagsFromString } from 'node:v8';
import { type SightlineError, toSightlineError } from '../../base/errors.ts';
import { newsOfSync } from '../../operations/notify/news.ts';
import { syncWorkspace } from '../../operations/sync.ts';
import type { SyncSummary } from '../../sync/run-sync.ts';
import { commandContext } from '../context.ts';
import { printData, reportError } from '../output/output.ts';
import { createSyncProgress } from '../output/progress-line.ts';
import { describe, exitCodeOf, type SyncFlags, toJson } from '../output/sync-summary.ts';
import { terminal } from '../output/terminal.ts';
import { allowanceOf, listOf, rangeOf } from '../program/flags.ts';
import { tell } from '../tell.ts';

/** Runs `sightline sync`, or the `sync` step of a job, and returns its exit code. */
export async function sync(flags: SyncFlags, signal: AbortSignal, job: string | null = null): Promise<number> {
  // A sync allocates thousands of short-lived pages. Make V8 collect them early, but only in a process that does nothing else.
  if (!terminal().isCarried) setFlagsFromString('--optimize-for-size');
  const options = {
    only: listOf('--only', flags.only),
    range: rangeOf(flags),
    brands: listOf('--brand', flags.brand),
    full: flags.full === true,
    acceptPlan: flags.acceptPlan === true,
    acceptExpiry: flags.acceptExpiry === true,
    acceptDeletions: flags.acceptDeletions === true,
    ...allowanceOf(flags, Date.now()),
  };
  if (flags.all === true) return (await import('./sync-all-command.ts')).syncAll(flags, options, signal);
  const context = commandContext('sync', flags, signal);
  // Validate the webhook settings before the sync, so that a mistake is reported at once.
  context.config.notify();
  const report = (result: SyncSummary | SightlineError): Promise<void> =>
    tell(context, () => newsOfSync(context.config, options, result, job, context.clock.now()));
  const progress = createSyncProgress();
  const startedAt = performance.now();
  let summary: SyncSummary;
  try {
    summary = await syncWorkspace(context, options, progress.update);
  } catch (thrown) {
    await report(toSightlineError(thrown));
    throw thrown;
  } finally {
    progress.done();
  }
  if (flags.json === true) printData(JSON.stringify(toJson(summary)));
  describe(summary, performance.now() - startedAt);
  if (summary.error !== null) reportError(summary.error, false);
  await report(summary);
  return exitCodeOf(summary);
}
