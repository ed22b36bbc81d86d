import { setFlagsFromString } from 'node:v8';
import { newsOfSync } from '../../app/notify/news.ts';
import { syncWorkspace } from '../../app/sync.ts';
import { type SightlineError, toSightlineError } from '../../base/errors.ts';
import type { SyncSummary } from '../../sync/run.ts';
import { commandContext } from '../context.ts';
import { allowanceOf, listOf, rangeOf } from '../flags.ts';
import { printData, reportError } from '../output.ts';
import { createSyncProgress } from '../progress.ts';
import { describe, exitCodeOf, type SyncFlags, toJson } from '../sync-summary.ts';
import { tell } from '../tell.ts';
import { terminal } from '../terminal.ts';

/** Runs `sightline sync`, or that step of a job, and returns its exit code. */
export async function sync(flags: SyncFlags, signal: AbortSignal, job: string | null = null): Promise<number> {
  // Pages come and go by the thousand; V8 would rather let its heap grow than collect them; where others run beside it, it may.
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
  if (flags.all === true) return (await import('./sync-all.ts')).syncAll(flags, options, signal);
  const context = commandContext('sync', flags, signal);
  // Whoever is to be told and cannot be reached by what is set is found out now.
  context.config.notify();
  const tellOf = (result: SyncSummary | SightlineError): Promise<void> =>
    tell(context, () => newsOfSync(context.config, options, result, job, context.clock.now()));
  const progress = createSyncProgress();
  const startedAt = performance.now();
  let summary: SyncSummary;
  try {
    summary = await syncWorkspace(context, options, progress.update);
  } catch (thrown) {
    await tellOf(toSightlineError(thrown));
    throw thrown;
  } finally {
    progress.done();
  }
  if (flags.json === true) printData(JSON.stringify(toJson(summary)));
  describe(summary, performance.now() - startedAt);
  if (summary.error !== null) reportError(summary.error, false);
  await tellOf(summary);
  return exitCodeOf(summary);
}
