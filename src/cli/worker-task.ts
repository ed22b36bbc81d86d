import type { Lease, Task, TaskEnd } from '../jobs/runner.ts';
import { runTask, type TaskParts } from '../operations/jobs/run-task.ts';
import type { WorkspaceFlags } from './context.ts';
import { loggedSteps } from './job-steps.ts';
import { terminal } from './output/terminal.ts';

/** Runs a queued job. Writes the messages of its steps to the log. */
export function performTask(
  task: Task,
  lease: Lease,
  {
    flags,
    ...parts
  }: Omit<TaskParts, 'perform' | 'clock' | 'isOwner'> & { readonly flags: Pick<WorkspaceFlags, 'dataDir'> },
): Promise<TaskEnd> {
  const log: TaskParts['log'] = (level, { msg, ...entry }) =>
    parts.log(level, { msg: `${task.workspace}: ${msg}`, workspace: task.workspace, ...entry });
  return runTask(task, lease, { ...parts, clock: terminal().clock, isOwner: false, perform: loggedSteps(flags, log) });
}
