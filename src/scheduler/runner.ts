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
  /** Aborted if the lease is lost, could not be renewed for minutes, or work is to stop. */
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

/** A worker as described by its own record. */
export interface WorkerState {
  readonly name: string;
  readonly host: string;
  readonly pid: number;
  readonly since: string;
  /** When the worker last updated its record. */
  readonly seen: string;
  readonly concurrency: number;
  /** Number of its active tasks. */
  readonly tasks: number;
}

/** An active task. */
export interface LeaseState extends WorkspaceJob {
  readonly worker: string;
  readonly since: string;
  /** When the lease was last renewed; null if its worker no longer reports. */
  readonly renewed: string | null;
}

/** An ended task that is still remembered. */
export interface EndedTask extends WorkspaceJob {
  readonly status: string;
  readonly endedAt: string;
}

/** State of a queue and its workers. Times are ISO 8601. */
export interface RunnerState {
  readonly counts: {
    readonly waiting: number;
    readonly active: number;
    /** Not due yet: the next run of each schedule, and tasks that were put back. */
    readonly delayed: number;
    /** Tasks that threw an error, among the last few hundred. */
    readonly failed: number;
  };
  /** Number of schedules. */
  readonly schedules: number;
  /** When the longest-waiting task began to wait; null if none waits. */
  readonly oldestWaiting: string | null;
  /** When the next delayed task is due; null if there is none. */
  readonly nextDue: string | null;
  readonly workers: readonly WorkerState[];
  readonly leases: readonly LeaseState[];
  /** The last few hundred, newest first. */
  readonly ended: readonly EndedTask[];
}

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
