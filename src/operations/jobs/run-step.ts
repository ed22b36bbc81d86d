import { resolve } from 'node:path';
import { DONE, type Ending, endingOfError } from '../../base/ending.ts';
import { type SightlineError, toSightlineError } from '../../base/errors.ts';
import { COMPARE_REQUESTS, type Step } from '../../jobs/job.ts';
import type { Brief } from '../../metrics/explain/brief-result.ts';
import type { SyncSummary } from '../../sync/run-sync.ts';
import type { Flaw } from '../../warehouse/file/integrity.ts';
import type { UnconfirmedDeletion } from '../../warehouse/ledger/unconfirmed-deletions.ts';
import type { Context } from '../../workspace/workspace.ts';
import type { Comparison } from '../compare/compare-question.ts';
import type { Exported, ExportProgress } from '../export.ts';
import type { ExportedFiles } from '../export/export-files.ts';
import type { DestinationLoad, LoadProgress } from '../load.ts';
import type { Compaction } from '../maintenance.ts';
import type { OnProgress } from '../sync.ts';
import type { Verification } from '../verify.ts';
import type { WrittenReport } from '../write-report.ts';

/** The result of the operation that a step ran. */
export type StepResult =
  | { readonly of: 'sync'; readonly summary: SyncSummary; readonly elapsedMs: number }
  | { readonly of: 'verify'; readonly verification: Verification }
  | { readonly of: 'compare'; readonly comparison: Comparison }
  | { readonly of: 'export'; readonly snapshot: Exported }
  | { readonly of: 'load'; readonly loads: readonly DestinationLoad[] }
  | { readonly of: 'files'; readonly exported: ExportedFiles }
  | { readonly of: 'unconfirmed export'; readonly deletions: readonly UnconfirmedDeletion[]; readonly error: string }
  | { readonly of: 'report'; readonly reports: readonly WrittenReport[] }
  | { readonly of: 'brief'; readonly briefs: readonly Brief[] }
  | { readonly of: 'retention'; readonly deleted: readonly string[] }
  | { readonly of: 'compact'; readonly compaction: Compaction }
  | { readonly of: 'check'; readonly flaws: readonly Flaw[]; readonly error: string | null };

/** How a step ended. */
export interface StepOutcome extends Ending {
  /** The error that prevented a result, or null. */
  readonly failure: SightlineError | null;
}

/** Dependencies of `runStep`. */
export interface StepParts {
  /** Name of the job. */
  readonly job: string;
  /** The user's current directory, for the repair command of a damaged file. */
  readonly folder: string;
  /** Loads the workspace's settings. Called by the step, so that invalid settings fail the step. */
  open(command: string): Context;
  readonly onSync: OnProgress;
  readonly onExport: (progress: ExportProgress) => void;
  readonly onLoad: (progress: LoadProgress) => void;
  /** Called with the result once the operation has ended, before notifications about it are sent. */
  readonly onResult: (result: StepResult) => Promise<void>;
}

/** Runs a step of a job. Does not throw. */
export async function runStep(step: Step, parts: StepParts): Promise<StepOutcome> {
  try {
    return { ...(await runOperation(step, parts)), failure: null };
  } catch (thrown) {
    const { withRemedy } = await import('../damage-remedy.ts');
    const failure = await withRemedy(toSightlineError(thrown), parts.folder);
    return { ...endingOfError(failure), failure };
  }
}

// Each operation is loaded only if a job runs it.
async function runOperation(step: Step, parts: StepParts): Promise<Ending> {
  const { job, onResult } = parts;
  const open = (command = `jobs run ${job}`): Context => ({ ...parts.open(command), trigger: `job ${job}` });
  switch (step.do) {
    case 'sync': {
      const { endingOfSync, syncAndNotify } = await import('../sync.ts');
      const context = open('sync');
      const { only = null, full = false, acceptDeletions = false } = step;
      const selection = { only, range: null, brands: null, full, acceptDeletions, ...allowanceOf(step, context) };
      const summary = await syncAndNotify(context, selection, {
        job,
        onProgress: parts.onSync,
        onEnd: (ended, elapsedMs) => onResult({ of: 'sync', summary: ended, elapsedMs }),
      });
      return endingOfSync(summary);
    }
    case 'verify': {
      const { endingOfVerification, verifyWorkspace } = await import('../verify.ts');
      const { fresh = false, repair = false } = step;
      const request = { brands: null, range: null, fresh, repair };
      const verification = await verifyWorkspace(open('verify'), request, parts.onSync);
      await onResult({ of: 'verify', verification });
      return endingOfVerification(verification);
    }
    case 'compare': {
      const { compareWorkspace } = await import('../compare/compare.ts');
      const { notifyOfComparison } = await import('../notify/notify-of.ts');
      const context = open('compare');
      const { requests = COMPARE_REQUESTS.standard } = step;
      const request = { requests, brands: null, resources: null, seed: null };
      const comparison = await compareWorkspace(context, request, parts.onSync);
      await onResult({ of: 'compare', comparison });
      await notifyOfComparison(context, comparison);
      // Differences are reported like drift; the step has done its work.
      return comparison.error === null ? DONE : endingOfError(comparison.error);
    }
    case 'export':
      return runExport(step, open('export'), parts);
    case 'load':
      return runLoad(step, open('load'), parts);
    case 'report': {
      const { reportWorkspace } = await import('../write-report.ts');
      const { config, clock } = open();
      const request = step.weeks === undefined ? {} : { weeks: step.weeks };
      await onResult({ of: 'report', reports: await reportWorkspace(config, clock, request) });
      return DONE;
    }
    case 'brief': {
      const { sendBriefs } = await import('../send-briefs.ts');
      await onResult({ of: 'brief', briefs: await sendBriefs(open('brief')) });
      return DONE;
    }
    case 'retention': {
      const { retainSnapshots } = await import('../maintenance.ts');
      await onResult({ of: 'retention', deleted: await retainSnapshots(open()) });
      return DONE;
    }
    case 'compact': {
      const { compactWarehouse } = await import('../maintenance.ts');
      await onResult({ of: 'compact', compaction: await compactWarehouse(open()) });
      return DONE;
    }
    case 'check': {
      const { checkWarehouse, flawText } = await import('../maintenance.ts');
      const flaws = await checkWarehouse(open());
      const error = flaws.length === 0 ? null : flaws.map(flawText).join('; ');
      await onResult({ of: 'check', flaws, error });
      return error === null ? DONE : { status: 'failed', code: 'warehouse_invalid', error };
    }
  }
}

async function runExport(step: Extract<Step, { do: 'export' }>, context: Context, parts: StepParts): Promise<Ending> {
  const { onResult } = parts;
  const { unconfirmedText, readUnconfirmed } = await import('../status.ts');
  const deletions = await readUnconfirmed(context.config);
  if (deletions.length > 0) {
    const error = `not exported: ${deletions.map(unconfirmedText).join('; ')}`;
    await onResult({ of: 'unconfirmed export', deletions, error });
    return { status: 'partial', code: null, error };
  }
  const { output, format = 'parquet', tables = null, since, name = null } = step;
  if (output !== undefined) {
    const { exportFiles } = await import('../export/export-files.ts');
    const { name: subfolder, compression } = context.config;
    const range = { since: since === undefined ? null : ({ kind: since } as const), name, from: null, to: null };
    const target = { output: resolve(parts.folder, output), subfolder, format, compression };
    const request = { ...range, ...target, tables, brands: null };
    await onResult({ of: 'files', exported: await exportFiles(context, request, parts.onExport) });
    return DONE;
  }
  const { exportWorkspace } = await import('../export.ts');
  await onResult({ of: 'export', snapshot: await exportWorkspace(context, parts.onExport) });
  return DONE;
}

async function runLoad(step: Extract<Step, { do: 'load' }>, context: Context, parts: StepParts): Promise<Ending> {
  const { loadDestinations } = await import('../load.ts');
  const options = { names: step.destinations ?? null, full: false, dryRun: false };
  const loads = await loadDestinations(context, options, parts.onLoad);
  await parts.onResult({ of: 'load', loads });
  const failed = loads.filter(({ error }) => error !== undefined);
  const error = failed.map(({ name, error: why }) => `${name}: ${why?.message}`).join('; ');
  return failed.length === 0 ? DONE : { status: 'failed', code: 'destination_failed', error };
}

function allowanceOf({ allowance }: Extract<Step, { do: 'sync' }>, { clock }: Context) {
  if (allowance === undefined) return {};
  const { maxRequests = null, maxMinutes } = allowance;
  const deadline = maxMinutes === undefined ? null : clock.now() + maxMinutes * 60_000;
  return { allowance: { maxRequests, deadline } };
}
