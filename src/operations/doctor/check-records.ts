import { statSync } from 'node:fs';
import { join } from 'node:path';
import { SightlineError } from '../../base/errors.ts';
import { readJobRuns } from '../../scheduler/job-log.ts';
import { lastRun } from '../../scheduler/next-run.ts';
import { readKeyFile } from '../../session/stored-keys.ts';
import { catalogue } from '../../session/workspace.ts';
import { listRawFiles } from '../../sync/raw/raw-log.ts';
import { readStatus } from '../../warehouse/ledger/warehouse-status.ts';
import { jobsOf } from '../jobs/job-list.ts';
import { readTold } from '../notify/notify-state.ts';
import { readNewestReplica } from '../status.ts';
import { type CheckContext, counted, type Finding } from './check-context.ts';
import { megabytes } from './check-files.ts';

const MEGABYTE = 1_000_000;
/** Old raw pages are removed when a sync ends, so their size may exceed the limit by this factor until then. */
const RAW_SLACK = 1.25;
/** Days that a finding lists one by one. */
const DAYS_NAMED_MAX = 5;
/** Time in which a due job must start and finish before it counts as late. */
const LATE_MS = 6 * 3_600_000;

/** Checks that the stored raw pages do not exceed the size limit. */
export async function checkRawPages({ context, layout }: CheckContext): Promise<Finding[]> {
  const { days, megabytes: most } = context.config.raw;
  const files = await listRawFiles(layout.raw);
  const bytes = files.reduce((sum, { name }) => sum + statSync(join(layout.raw, name)).size, 0);
  const message = `pages take ${megabytes(bytes)}, in ${counted(files.length, 'file')}`;
  if (days === 0 || most === 0 || bytes <= most * MEGABYTE * RAW_SLACK) return [{ status: 'ok', message }];
  const advice = 'The next sync removes the oldest; if it does not, check the permissions of the folder.';
  return [{ status: 'warning', message: `${message}, more than the limit of ${most} MB`, advice }];
}

/** Checks that the API keys can be read. Throws `config_invalid` if they cannot. */
export async function checkKeys({ context }: CheckContext): Promise<Finding[]> {
  const keys = readKeyFile(context.config.folder)?.keys.length ?? 0;
  return [{ status: 'ok', message: counted(keys, 'key') }];
}

/** Checks that the jobs are valid, that their last runs completed, and that none was missed since it first ran. */
export async function checkJobs({ context }: CheckContext): Promise<Finding[]> {
  const { config, clock } = context;
  const jobs = jobsOf(config).filter(({ enabled }) => enabled);
  const runs = await readJobRuns(config.folder);
  const findings = jobs.flatMap((job): Finding[] => {
    const last = runs.find((run) => run.job === job.name);
    if (last === undefined) return [];
    const found: Finding[] = [];
    if (last.status !== 'done') {
      const failed = last.steps.find(({ error }) => error !== null);
      const why = failed === undefined ? '' : `: ${failed.step}: ${failed.error}`;
      const message = `${job.name} ended ${last.status} on ${last.startedAt}${why}`;
      found.push({ status: 'warning', message, advice: `Run \`sightline jobs run ${job.name}\`.` });
    }
    const due = lastRun(job.cron, job.timeZone, Date.parse(last.startedAt), clock.now() - LATE_MS);
    if (due !== null) {
      const message = `${job.name} was due on ${new Date(due).toISOString()} and has not run since ${last.startedAt}`;
      const advice = 'Keep `sightline serve` running, or call `sightline jobs run` from cron or systemd.';
      found.push({ status: 'warning', message, advice });
    }
    return found;
  });
  const ran = jobs.filter(({ name }) => runs.some((run) => run.job === name)).length;
  const message = `${counted(jobs.length, 'job')} scheduled; ${ran} ran so far, none failed or is late`;
  return findings.length > 0 ? findings : [{ status: 'ok', message }];
}

/** Checks that the stored rows match upstream's day counts and that no mass deletion awaits confirmation. */
export async function checkCompleteness({ context }: CheckContext): Promise<Finding[]> {
  const none: Finding = { status: 'ok', message: 'no day differs from the day counts, and no deletion is held back' };
  const status = await readNewestReplica(context.config, (query) =>
    readStatus(query, catalogue, context.clock.now()),
  ).catch((thrown: unknown) => {
    if (thrown instanceof SightlineError && thrown.code === 'no_data') return null;
    throw thrown;
  });
  if (status === null) return [none];
  const { differing, heldDeletions } = status.value;
  const findings = heldDeletions.map(({ resource, brandId, table, before, lost }): Finding => {
    const scope = brandId === null ? resource : `${resource} of brand ${brandId}`;
    const message = `upstream no longer lists ${lost} of ${before} stored rows of ${table} (${scope}); they stay`;
    return { status: 'warning', message, advice: 'If they are really gone, run `sightline sync --accept-deletions`.' };
  });
  const retried = differing.filter(({ isPermanent }) => !isPermanent);
  if (retried.length > 0) {
    const named = retried
      .slice(0, DAYS_NAMED_MAX)
      .map(({ resource, brandId, day, counted: upstream, stored }) => {
        return `${resource} ${brandId} ${day} (${upstream} counted, ${stored} stored)`;
      })
      .join(', ');
    const message = `${counted(retried.length, 'day')} not equal to upstream's day counts: ${named}`;
    findings.push({ status: 'warning', message, advice: 'Run `sightline sync`, which fetches them again.' });
  }
  return findings.length > 0 ? findings : [none];
}

/** Checks that the webhook settings are complete and that no message awaits delivery. */
export async function checkWebhooks({ context }: CheckContext): Promise<Finding[]> {
  const { config, clock } = context;
  const targets = config.notify();
  if (targets.length === 0) return [{ status: 'ok', message: 'no webhook is configured' }];
  const { waiting } = await readTold(config.folder, clock.now());
  if (waiting.length > 0) {
    const message = `${counted(waiting.length, 'message')} could not be delivered yet`;
    return [{ status: 'warning', message, advice: 'Run `sightline notify --test` to see what the receivers answer.' }];
  }
  return [{ status: 'ok', message: `${counted(targets.length, 'webhook')} configured; no message waits for delivery` }];
}
