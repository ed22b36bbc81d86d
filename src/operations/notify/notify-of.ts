import { type SightlineError, toSightlineError } from '../../base/errors.ts';
import type { JobRun } from '../../jobs/job-log.ts';
import type { Brief } from '../../metrics/explain/brief-result.ts';
import type { SyncSummary } from '../../sync/run-sync.ts';
import type { SyncOptions } from '../../sync/sync-options.ts';
import type { Context } from '../../workspace/workspace.ts';
import type { Comparison } from '../compare/compare-question.ts';
import type { News } from './notify.ts';

/** Notifies the configured webhooks of the result of a sync. `job` is the job whose step it was, or null. Does not throw. */
export function notifyOfSync(
  context: Context,
  options: SyncOptions,
  result: SyncSummary | SightlineError,
  job: string | null,
): Promise<void> {
  return send(context, async () => (await load()).newsOfSync(context.config, options, result, job));
}

/** Notifies the configured webhooks of an ended job. Does not throw. */
export function notifyOfJob(context: Context, run: JobRun): Promise<void> {
  return send(context, async () => (await load()).newsOfJob(context.config, run));
}

/** Notifies the configured webhooks of responses that differ from upstream's. Does not throw. */
export function notifyOfComparison(context: Context, comparison: Comparison): Promise<void> {
  return send(context, async () => (await load()).newsOfComparison(comparison));
}

/** Sends briefs to the configured webhooks. Does not throw. */
export function notifyOfBriefs(context: Context, briefs: readonly Brief[]): Promise<void> {
  return send(context, async () => ({ briefs }));
}

/** Notifies the configured webhooks if the data are stale, or fresh again. Does not throw. */
export function notifyOfFreshness(context: Context): Promise<void> {
  return send(context, async () => (await load()).newsOfFreshness(context.config));
}

// Loaded only if a webhook is configured.
function load(): Promise<typeof import('./news.ts')> {
  return import('./news.ts');
}

// Passes problems to `onTrouble`, so that the operation that the message is about still succeeds.
async function send(
  { config, clock, signal, onTrouble = () => undefined }: Context,
  newsOf: () => Promise<News>,
): Promise<void> {
  try {
    if (config.notify().length === 0) return;
    const { notify } = await import('./notify.ts');
    await notify({ config, clock, signal, log: onTrouble }, await newsOf());
  } catch (thrown) {
    onTrouble(`Cannot send notifications: ${toSightlineError(thrown).message}.`);
  }
}
