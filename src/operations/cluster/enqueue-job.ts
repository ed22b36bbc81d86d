import { chooseName } from '../../base/choose-name.ts';
import { SightlineError } from '../../base/errors.ts';
import { jobOf } from '../jobs/job-list.ts';
import type { Cluster } from './cluster.ts';
import { withRunner } from './open-runner.ts';
import { rejectLocalWarehouses } from './shared-folder.ts';
import { type Configured, validConfigs } from './workspace-list.ts';

/** Numbers of selected workspaces, of those with valid settings, and of jobs that were not in the queue yet. */
export interface EnqueuedJob {
  readonly chosen: number;
  readonly tasks: number;
  readonly enqueued: number;
}

/**
 * Enqueues a job of the workspaces with these names, or of all. Leaves out those with invalid settings and reports them to
 * `warn`.
 *
 * @throws `config_invalid` without a shared queue and for local warehouses, and `usage` for an unknown workspace or job.
 */
export async function enqueueJob(
  { settings, configured, signal, warn }: Cluster,
  job: string,
  workspaces: readonly string[] | null,
): Promise<EnqueuedJob> {
  if (settings.kind === 'process') {
    const how = '"postgres" in sightline.config.json; `sightline jobs run` runs a job without a queue';
    throw new SightlineError('config_invalid', `runner.kind is "process", which has no queue; allowed: ${how}`);
  }
  const chosen = (workspaces ?? configured.map(({ name }) => name)).map((name) => {
    const known = configured.map((one) => one.name);
    const wanted = chooseName('workspace', name, known, `\`sightline init --workspace ${name}\` creates it.`);
    return configured.find((one) => one.name === wanted) as Configured;
  });
  const configs = validConfigs(chosen);
  const rejected = rejectLocalWarehouses(settings, configs);
  if (rejected !== null) throw rejected;
  for (const one of chosen) if ('error' in one) warn(`workspace ${one.name}: ${one.error.message}`);
  const tasks = configs.map((config) => ({ workspace: config.name, job: jobOf(config, job).name }));
  const enqueued = await withRunner(settings, signal, warn, (runner) => runner.enqueue(tasks));
  return { chosen: chosen.length, tasks: tasks.length, enqueued };
}
