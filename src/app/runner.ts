import type { WorkspaceConfig } from '../base/config.ts';
import type { RunnerSettings } from '../base/runner-settings.ts';
import { openBook } from '../scheduler/book.ts';
import type { Planned, Runner } from '../scheduler/runner.ts';
import { jobsOf } from './jobs.ts';

/** How a runner is opened. */
export interface OpenRunnerOptions {
  /** Where a workspace's book is, for the runner of one process. */
  folderOf(workspace: string): string;
  /** Whether a shared queue is waited for where it does not answer. */
  readonly isPatient: boolean;
  readonly signal: AbortSignal;
  /** Told in a sentence what goes wrong and is gone on with. */
  say(sentence: string): void;
}

/** Opens what runs jobs, by the settings. Throws `config_invalid`, `queue_unreachable` and the signal's reason. */
export async function openRunner(settings: RunnerSettings, options: OpenRunnerOptions): Promise<Runner> {
  const { folderOf, isPatient, signal, say } = options;
  if (settings.kind === 'process') {
    const { createProcessRunner } = await import('../scheduler/process-runner.ts');
    return createProcessRunner({ bookOf: (workspace) => openBook(folderOf(workspace)), say });
  }
  const { openQueueRunner } = await import('../scheduler/queue-runner.ts');
  return openQueueRunner(settings, { isPatient, signal, say });
}

/** What runs by the clock in a workspace: its jobs that are turned on. Throws `config_invalid`. */
export function plannedOf(config: WorkspaceConfig): Planned[] {
  return jobsOf(config)
    .filter(({ enabled }) => enabled)
    .map((job) => ({ workspace: config.name, job }));
}
