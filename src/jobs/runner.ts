import { z } from 'zod';
import { number, time, type ValueOf } from '../contract/operation/json-parts.ts';
import type { Job } from './job.ts';

/** Names a job of a workspace. */
export interface WorkspaceJob {
  readonly workspace: string;
  readonly job: string;
}

/** A job of a workspace that runs on a schedule. */
export interface Planned {
  readonly workspace: string;
  readonly job: Job;
}

/** A run of a job that a worker is to perform. */
export interface Task extends WorkspaceJob {
  /**
   * Id in the queue, the same for every attempt and unique among active tasks. A worker that gets the same id again can
   * conclude that the previous worker has lost the task. Null if no other worker could get the task.
   */
  readonly id: string | null;
  /** When the task was due, epoch milliseconds; null if it was requested by hand. */
  readonly dueMs: number | null;
  /** Number of the attempt, from 1. It grows when the task is put back or its worker is lost. */
  readonly attempt: number;
}

/** A worker's right to a task, valid as long as it is renewed. */
export interface Lease {
  /** Aborted if the lease is lost or work is to stop. */
  readonly signal: AbortSignal;
}

/**
 * How a task ended. `settled`: done, successfully or not. `put back`: any free worker performs it again after
 * `afterMs`.
 */
export type TaskEnd =
  | { readonly kind: 'settled'; readonly status: string }
  | { readonly kind: 'put back'; readonly afterMs: number };

/** Options of `Runner.work`. */
export interface WorkOptions {
  /** Display name of the worker. */
  readonly name: string;
  /** Number of tasks performed at the same time. */
  readonly concurrency: number;
  /** Abort it to stop: no further task starts, and active tasks are aborted through their leases. */
  readonly signal: AbortSignal;
  /** Performs a task. If it throws, the task has failed and the error is reported. */
  perform(task: Task, lease: Lease): Promise<TaskEnd>;
}

const workerState = z.object({
  name: z.string(),
  host: z.string(),
  pid: z.int(),
  since: time,
  seen: time.describe('when the worker last updated its record'),
  concurrency: number,
  tasks: number.describe('number of its active tasks'),
});

const leaseState = z.object({
  workspace: z.string(),
  job: z.string(),
  worker: z.string(),
  since: time,
  renewed: time.describe('when the lease was last renewed'),
});

/** State of a queue and its workers. */
export const queueState = z.object({
  counts: z.object({
    waiting: number,
    active: number,
    delayed: number.describe('the next run of each schedule, and tasks that were put back'),
    failed: number.describe('tasks that failed, among the last few hundred'),
  }),
  schedules: number,
  oldestWaiting: time.nullable().describe('when the longest-waiting task began to wait'),
  nextDue: time.nullable().describe('when the next delayed task is due'),
  workers: z.array(workerState),
  leases: z.array(leaseState).describe('active tasks'),
});

/** An ended task that is still remembered. */
export interface EndedTask extends WorkspaceJob {
  readonly status: string;
  readonly endedAt: string;
}

/** State of a queue and its workers, and the last few hundred ended tasks, newest first. */
export type RunnerState = ValueOf<typeof queueState> & { readonly ended: readonly EndedTask[] };

/**
 * Runs jobs when they are due or requested. Every implementation guarantees: a task is performed at least once, and
 * exactly once if no worker dies; another worker restarts a task whose worker died; a failed task stays on its
 * schedule.
 */
export interface Runner {
  /**
   * Makes the stored schedules equal to `planned`: adds missing ones, repairs those that have lost their next run, and
   * removes the others unless `removes` is false. Cheap if nothing has changed. Returns how many were added and
   * removed.
   */
  keepSchedules(planned: readonly Planned[], options?: { readonly removes?: boolean }): Promise<Kept>;
  /** Adds tasks that are due now, except those that already wait. Returns the number of new tasks. */
  enqueue(tasks: readonly WorkspaceJob[]): Promise<number>;
  /** Performs tasks until the signal is aborted and the active tasks have ended. */
  work(options: WorkOptions): Promise<void>;
  /** Counts the tasks that wait, are active, or are due within `withinMs`. */
  outstanding(withinMs: number): Promise<number>;
  state(): Promise<RunnerState>;
  /** Returns the data folder that `recordFolder` recorded; null if none is recorded. */
  recordedFolder(): Promise<string | null>;
  /** Records a data folder if none is recorded or `replaces` is true. Returns the recorded folder. */
  recordFolder(folder: string, replaces: boolean): Promise<string>;
  close(): Promise<void>;
}

/** Result of `keepSchedules`. */
export interface Kept {
  readonly added: number;
  readonly removed: number;
}

/** Number of ended tasks that are remembered. */
export const ENDED_MAX = 300;
