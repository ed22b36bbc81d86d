import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { SightlineError } from '../../base/errors.ts';
import { megabytes } from '../../base/free-space.ts';
import { readJobRuns } from '../../jobs/job-log.ts';
import { listRawFiles } from '../../sync/raw/raw-log.ts';
import type { Finding as Judged, Verdict } from '../../web/page-data/status-lines.ts';
import { readKeyFile } from '../../workspace/stored-keys.ts';
import { jobsOf } from '../jobs/job-list.ts';
import { readTold } from '../notify/notify-state.ts';
import { readWorkspaceStatus } from '../status.ts';
import { type CheckContext, counted, type Finding } from './check-context.ts';

const MEGABYTE = 1_000_000;
/** Old raw pages are removed when a sync ends, so their size may exceed the limit by this factor until then. */
const RAW_SLACK = 1.25;
/** Checks that the stored raw pages do not exceed the size limit. */
export async function checkRawPages({ context, layout }: CheckContext): Promise<Finding[]> {
  const { rawDays: days, rawMegabytes: most } = context.config;
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
  const ran = jobs.filter(({ name }) => runs.some((run) => run.job === name)).length;
  const message = `${counted(jobs.length, 'job')} scheduled; ${ran} ran so far, none failed or is late`;
  return findingsAbout('jobs', await readVerdict(config, clock), message);
}

/** Checks that the data are complete and recent, that they match upstream's day counts, and that no deletion awaits confirmation. */
export async function checkCompleteness({ context }: CheckContext): Promise<Finding[]> {
  const verdict = await readVerdict(context.config, context.clock);
  return findingsAbout('data', verdict, 'no day differs from the day counts, and no deletion awaits confirmation');
}

// A workspace without data has nothing to judge.
async function readVerdict(config: CheckContext['context']['config'], clock: Clock): Promise<Verdict | null> {
  try {
    return (await readWorkspaceStatus(config, clock)).verdict;
  } catch (thrown) {
    if (thrown instanceof SightlineError && thrown.code === 'no_data') return null;
    throw thrown;
  }
}

function findingsAbout(about: Judged['about'], verdict: Verdict | null, none: string): Finding[] {
  const found = (verdict?.findings ?? []).filter(
    (one) => one.about === about && (one.level === 'problem' || one.level === 'attention'),
  );
  if (found.length === 0) return [{ status: 'ok', message: none }];
  return found.map(({ level, sentence, command, consequences }): Finding => {
    const message = [sentence, ...consequences].join(' ').replace(/\.$/, '');
    const advice = command === null ? {} : { advice: `Run \`${command}\`.` };
    return { status: level === 'problem' ? 'failure' : 'warning', message, ...advice };
  });
}

/** Checks that the webhook settings are complete and that no message awaits delivery. */
export async function checkWebhooks({ context }: CheckContext): Promise<Finding[]> {
  const { config, clock } = context;
  const targets = config.notify();
  if (targets.length === 0) return [{ status: 'ok', message: 'no webhook is configured' }];
  const { waiting } = await readTold(config.folder, clock.now());
  if (waiting.length > 0) {
    const message = `${counted(waiting.length, 'message')} could not be delivered yet`;
    return [
      { status: 'warning', message, advice: 'Run `sightline notify --test` to see the responses of the receivers.' },
    ];
  }
  return [{ status: 'ok', message: `${counted(targets.length, 'webhook')} configured; no message waits for delivery` }];
}
