import type { WorkspaceConfig } from '../../base/config/config.ts';
import { SightlineError } from '../../base/errors.ts';
import type { JobRun } from '../../jobs/job-log.ts';
import type { SyncSummary } from '../../sync/run-sync.ts';
import type { SyncOptions } from '../../sync/sync-options.ts';
import { readDrift } from '../../warehouse/ledger/drift-notes.ts';
import { readFreshness } from '../../warehouse/ledger/freshness.ts';
import { catalogueOf } from '../../workspace/catalogues.ts';
import type { Comparison } from '../compare/compare-question.ts';
import { readNewestReplica } from '../status.ts';
import { type Outcome, outcomeOfSync } from './judge.ts';
import type { News } from './notify.ts';

/** Drift findings that a message lists. The summary counts all of them. */
const FINDINGS_MAX = 10;
const COUNTED = {
  unknownFields: 'unknown',
  vanishedFields: 'vanished',
  changedTypes: 'of another type',
  newValues: 'new',
  implausibleValues: 'implausible',
  newParameters: 'new parameters',
  newEndpoints: 'new endpoints',
};

/** Collects the outcome, drift and freshness of a sync. `job` is the job whose step it was, or null. */
export async function newsOfSync(
  config: WorkspaceConfig,
  { only, range, brands }: SyncOptions,
  result: SyncSummary | SightlineError,
  job: string | null,
): Promise<News> {
  const isWhole = only === null && range === null && brands === null;
  const scope = isWhole ? null : JSON.stringify({ only, range, brands });
  const outcome = outcomeOfSync(result, scope, job);
  const outcomes = outcome === null ? [] : [outcome];
  if (result instanceof SightlineError) return { outcomes };
  return { outcomes, drift: await driftOf(config, result), ...(await newsOfFreshness(config)) };
}

/** Collects the outcomes of a job's steps and the freshness of the data. Skips syncs, which send their own notifications. */
export async function newsOfJob(config: WorkspaceConfig, run: JobRun): Promise<News> {
  const outcomes = run.steps.flatMap(({ step, status, exitCode, error }): Outcome[] => {
    const of = { what: step, scope: null, job: run.job, runId: null };
    if (step === 'sync') return [];
    if (status === 'done') return [{ ...of, failure: null }];
    if (status !== 'failed' && status !== 'partial') return [];
    const message = error ?? `it ended with exit code ${exitCode}; see the log for the reason`;
    return [{ ...of, failure: { status, code: null, message } }];
  });
  return { outcomes, ...(await newsOfFreshness(config)) };
}

/** Collects the differing responses of a comparison with upstream, as drift. */
export function newsOfComparison({ questions, runId }: Comparison): News {
  const compared = questions.filter(({ verdict }) => verdict !== 'skipped').length;
  const found = new Map<string, { resource: string; path: string; kind: string; detail: string | null }>();
  const differing = questions.filter(({ verdict }) => verdict === 'differs');
  for (const { resource, fields, convention, detail } of differing) {
    const finding = { kind: 'differs', detail: convention === null ? detail : `equal with ${convention}` };
    for (const path of fields) {
      const key = `${resource} ${path}`;
      if (!found.has(key)) found.set(key, { resource, path, ...finding });
    }
  }
  if (differing.length === 0) return {};
  const findings = [...found.values()].slice(0, FINDINGS_MAX);
  const named = findings.slice(0, 3).map(({ resource, path }) => `${resource} ${path}`);
  const summary = `${differing.length} of ${compared} compared responses differ from the stored data: ${named.join(', ')}`;
  return { drift: { summary, runId, findings } };
}

/** Reads the freshness of the data, from which the verdict of `status` is derived too. */
export async function newsOfFreshness(config: WorkspaceConfig): Promise<News> {
  try {
    const { value } = await readNewestReplica(config, (query) => readFreshness(query, catalogueOf(config)));
    const asOfMs = value.asOf === null ? null : Date.parse(value.asOf);
    return { freshness: { asOfMs, isResolved: value.unresolved === null } };
  } catch (thrown) {
    // Nothing was ever published, so the age counts from the first check.
    if (thrown instanceof SightlineError && thrown.code === 'no_data')
      return { freshness: { asOfMs: null, isResolved: false } };
    return {};
  }
}

async function driftOf(
  config: WorkspaceConfig,
  { drift, runId }: SyncSummary,
): Promise<NonNullable<News['drift']> | null> {
  const counts = Object.entries(COUNTED).map(
    ([kind, words]) => [drift?.[kind as keyof typeof COUNTED] ?? 0, words] as const,
  );
  const total = counts.reduce((sum, [count]) => sum + count, 0);
  if (total === 0) return null;
  const parts = counts.flatMap(([count, words]) => (count === 0 ? [] : [`${count} ${words}`]));
  const wanted = Math.min(total, FINDINGS_MAX);
  const rows = await readNewestReplica(config, (query) => readDrift(query, wanted)).catch(() => null);
  const findings = (rows?.value ?? []).map(({ resource, path, kind, detail }) => ({ resource, path, kind, detail }));
  const named = findings
    .slice(0, 3)
    .map(({ resource, path, kind }) => `${`${resource} ${path}`.trim()} (${kind.replace('_', ' ')})`);
  const summary = `${total} ${total === 1 ? 'finding' : 'findings'}, ${parts.join(', ')}${named.length === 0 ? '' : `: ${named.join(', ')}`}`;
  return { summary, runId, findings };
}
