import type { Job } from './job.ts';

/** A job of a workspace: what a schedule is kept for, and what is asked for by hand. */
export interface WorkspaceJob {
  readonly workspace: string;
  /** The job's name. */
  readonly job: string;
}

/** A job of a workspace that is to be run by the clock. */
export interface Planned {
  readonly workspace: string;
  readonly job: Job;
}

/** A run of a job that somebody is to perform. */
export interface Task extends WorkspaceJob {
  /**
   * What the queue calls it, the same each time it is begun and of no other that is under way: whoever is given it again knows
   * that whoever had it before has lost it. Null where nobody else could be given it.
   */
  readonly id: string | null;
  /** When it was due, epoch milliseconds; null when somebody asked for it. */
  readonly dueMs: number | null;
  /** How often it has been begun, from 1: it was put back, or its worker was lost, each time before. */
  readonly attempt: number;
}

/** A task that is held by a worker for as long as the lease is renewed. */
export interface Lease {
  /** Aborted when the lease was lost, when nobody could be asked about it for minutes, or when work is to stop. */
  readonly signal: AbortSignal;
}

/** How a task ended: it has been done, well or not, or it is to be done again after a while, by whoever is free. */
export type TaskEnd =
  | { readonly kind: 'settled'; readonly status: string }
  | { readonly kind: 'put back'; readonly afterMs: number };

/** How tasks are worked off. */
export interface WorkOptions {
  /** The worker's name, for people. */
  readonly name: string;
  /** Tasks that are performed side by side. */
  readonly concurrency: number;
  /** Aborted to stop: no further task is begun, and those under way are told. */
  readonly signal: AbortSignal;
  /** Does a task. What it throws makes the task a failed one, and is told. */
  perform(task: Task, lease: Lease): Promise<TaskEnd>;
}

/** A worker, as it says of itself. */
export interface WorkerState {
  readonly name: string;
  readonly host: string;
  readonly pid: number;
  readonly since: string;
  /** When it last said so. */
  readonly seen: string;
  readonly concurrency: number;
  /** Tasks that it holds. */
  readonly tasks: number;
}

/** A task under way. */
export interface LeaseState extends WorkspaceJob {
  readonly worker: string;
  readonly since: string;
  /** When its lease was last renewed; null where the worker no longer says so. */
  readonly renewed: string | null;
}

/** How a task ended, of those that are remembered. */
export interface EndedTask extends WorkspaceJob {
  readonly status: string;
  readonly endedAt: string;
}

/** What is known of a queue and its workers. */
export interface RunnerState {
  readonly counts: {
    readonly waiting: number;
    readonly active: number;
    /** Not due yet: the next run of each schedule, and tasks that were put back. */
    readonly delayed: number;
    /** Whose worker threw; the last few hundred. */
    readonly failed: number;
  };
  /** Jobs of workspaces that run by the clock. */
  readonly schedules: number;
  /** Since when the task waits that waits longest; null when none waits. */
  readonly oldestWaiting: string | null;
  /** When the next task is due that is not due yet. */
  readonly nextDue: string | null;
  readonly workers: readonly WorkerState[];
  readonly leases: readonly LeaseState[];
  /** The last few hundred, the newest first. */
  readonly ended: readonly EndedTask[];
}

/**
 * Who runs jobs when they are due, or somebody asks for them. All kinds promise the same: a task is performed at least once,
 * and once where nobody dies; one whose worker dies is begun anew by another; nothing is forgotten because a task fails.
 */
export interface Runner {
  /**
   * Keeps these schedules and no others: adds what is not kept yet, mends what has lost its next run, removes what is gone.
   * With `removes` false nothing is removed. What is kept already costs next to nothing. Gives how many were added and
   * removed.
   */
  keepSchedules(planned: readonly Planned[], options?: { readonly removes?: boolean }): Promise<Kept>;
  /** Asks for tasks now; one that waits already stays the only one. Gives how many are new. */
  enqueue(tasks: readonly WorkspaceJob[]): Promise<number>;
  /** Works off tasks until the signal is aborted and what was under way has ended. */
  work(options: WorkOptions): Promise<void>;
  /** How many tasks wait, are under way, or are due within `withinMs`. */
  outstanding(withinMs: number): Promise<number>;
  state(): Promise<RunnerState>;
  /** The data folder that is recorded for local homes, as `recordFolder` was given it; null if none is. */
  recordedFolder(): Promise<string | null>;
  /** Records a data folder, if none is recorded or `replaces` is true, and returns the recorded one. */
  recordFolder(folder: string, replaces: boolean): Promise<string>;
  close(): Promise<void>;
}

/** What keeping schedules has changed. */
export interface Kept {
  readonly added: number;
  readonly removed: number;
}

/** Finished tasks that are remembered. */
export const ENDED_MAX = 300;
