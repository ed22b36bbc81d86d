import type { WorkspaceConfig } from '../../base/config/config.ts';
import type { RunnerSettings } from '../../base/config/runner-settings.ts';
import { openJobLog } from '../../jobs/job-log.ts';
import type { Planned, Runner } from '../../jobs/runner.ts';
import { jobsOf } from '../jobs/job-list.ts';

/** Options of `openRunner`. */
export interface OpenRunnerOptions {
  /** Returns a workspace's folder, which contains its job log. Used by the single-process runner. */
  folderOf(workspace: string): string;
  /** Whether to wait for a shared queue that does not respond. */
  readonly isPatient: boolean;
  readonly signal: AbortSignal;
  /** Called with a sentence about a problem that does not stop the runner. */
  say(sentence: string): void;
}

/** Opens the job runner that the settings select. Throws `config_invalid`, `queue_unreachable` and the signal's reason. */
export async function openRunner(settings: RunnerSettings, options: OpenRunnerOptions): Promise<Runner> {
  const { folderOf, isPatient, signal, say } = options;
  if (settings.kind === 'process') {
    const { createProcessRunner } = await import('../../jobs/process-runner.ts');
    return createProcessRunner({ jobLogOf: (workspace) => openJobLog(folderOf(workspace)), say });
  }
  const { openQueueRunner } = await import('../../jobs/queue/queue-runner.ts');
  return openQueueRunner(settings, { isPatient, signal, say });
}

/** Passes the shared queue to `ask` and closes it afterwards. Throws like `openRunner`. */
export async function withRunner<T>(
  settings: RunnerSettings,
  signal: AbortSignal,
  say: (sentence: string) => void,
  ask: (runner: Runner) => Promise<T>,
): Promise<T> {
  const runner = await openRunner(settings, { folderOf: () => '', isPatient: false, signal, say });
  try {
    return await ask(runner);
  } finally {
    await runner.close();
  }
}

/** The enabled jobs of a workspace. Throws `config_invalid`. */
export function plannedOf(config: WorkspaceConfig): Planned[] {
  return jobsOf(config)
    .filter(({ enabled }) => enabled)
    .map((job) => ({ workspace: config.name, job }));
}
