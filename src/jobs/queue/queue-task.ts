import type { JobInsert, JobWithMetadata } from 'pg-boss';
import { z } from 'zod';
import { parseCron } from '../cron-pattern.ts';
import { nextRun } from '../next-run.ts';
import type { Task, WorkspaceJob } from '../runner.ts';
import { isTimeZone } from '../zone.ts';

const dataSchema = z.object({
  workspace: z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/),
  job: z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/),
  /** When a scheduled task is due, and the schedule that has the next due time. */
  schedule: z.object({ dueAt: z.iso.datetime(), cron: z.string(), timeZone: z.string() }).optional(),
});

/** The content of a task. */
export type TaskData = z.infer<typeof dataSchema>;
/** A task as pg-boss returns it. Anyone with write access to the database may have added it, so its data are not trusted. */
export type TaskJob = JobWithMetadata<unknown>;

/** A task to add. The queue has at most one task with a key that no worker has begun. */
export type NewTask = JobInsert<TaskData> & { readonly singletonKey: string };

/** Prefix of the keys of scheduled tasks. */
const SCHEDULED = 'due/';

/** Returns the content of a task; null if it is invalid. */
export function readTask(data: unknown): TaskData | null {
  return dataSchema.safeParse(data).data ?? null;
}

/** Returns a task for `perform`. */
export function toTask({ id, retryCount }: TaskJob, { workspace, job, schedule }: TaskData): Task {
  const dueMs = schedule === undefined ? null : Date.parse(schedule.dueAt);
  return { id, workspace, job, dueMs, attempt: retryCount + 1 };
}

/** A task that is due now. */
export function dueNow({ workspace, job }: WorkspaceJob): NewTask {
  return { data: { workspace, job }, singletonKey: `${workspace}/${job}`, group: { id: workspace } };
}

/** The next task of a schedule after a time; null if there is none, or the schedule is invalid. */
export function nextOfSchedule(
  { workspace, job }: WorkspaceJob,
  { cron, timeZone }: { readonly cron: string; readonly timeZone: string },
  afterMs: number,
): NewTask | null {
  const parsed = parseCron(cron);
  if (typeof parsed === 'string' || !isTimeZone(timeZone)) return null;
  const dueMs = nextRun(parsed, timeZone, afterMs);
  if (dueMs === null) return null;
  const dueAt = new Date(dueMs).toISOString();
  return {
    data: { workspace, job, schedule: { dueAt, cron, timeZone } },
    singletonKey: `${SCHEDULED}${workspace}/${job}/${cron}/${timeZone}`,
    group: { id: workspace },
    startAfter: dueAt,
  };
}

/** Reports whether a task is the next one of a schedule, which no worker has begun. */
export function isNextOfSchedule({ state, singletonKey }: JobWithMetadata<unknown>): boolean {
  return state === 'created' && singletonKey?.startsWith(SCHEDULED) === true;
}
