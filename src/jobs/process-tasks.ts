import type { Clock } from '../base/clock.ts';
import { ENDED_MAX, type EndedTask, type Task, type TaskEnd, type WorkspaceJob } from './runner.ts';

/** A waiting task. */
export interface WaitingTask {
  readonly task: Task;
  readonly sinceMs: number;
  /** Epoch milliseconds. */
  readonly notBeforeMs: number;
  /** Called when the task is settled or has failed, not when it is put back. */
  onEnd(): void;
}

/** Performs a task and returns how it ended. */
export type Perform = (task: Task) => Promise<TaskEnd>;

/** The tasks of one process, in memory. */
export interface TaskList {
  readonly waiting: readonly WaitingTask[];
  readonly active: readonly { readonly task: Task; readonly sinceMs: number }[];
  /** The last ended tasks, newest first. */
  readonly ended: readonly EndedTask[];
  put(waiting: WaitingTask): void;
  /**
   * Milliseconds until the next task may start: 0 if one is due, Infinity if every waiting task belongs to a workspace
   * with an active task.
   */
  dueInMs(): number;
  /**
   * Performs the first task that is due and records how it ended. Tasks that were started before come first. Returns
   * null if no task is due. An error of `perform` is recorded as a failed task and not thrown.
   */
  next(perform: Perform): Promise<TaskEnd | null>;
  /** Resolves when a task is added or ends, after `ms` unless it is null, or when the signal is aborted. */
  changed(ms: number | null, signal: AbortSignal): Promise<void>;
}

/** Creates an empty task list. */
export function createTaskList(clock: Clock): TaskList {
  const waiting: WaitingTask[] = [];
  const active: { task: Task; sinceMs: number }[] = [];
  const ended: EndedTask[] = [];
  let wake = new AbortController();
  const change = (): void => {
    wake.abort();
    wake = new AbortController();
  };
  // A second task of a workspace would find the warehouse locked and be put back.
  const isBlocked = ({ task }: WaitingTask): boolean =>
    active.some(({ task: { workspace } }) => workspace === task.workspace);
  const msUntil = ({ notBeforeMs }: WaitingTask): number => Math.max(0, notBeforeMs - clock.now());
  const end = (one: WaitingTask, status: string): void => {
    const { workspace, job } = one.task;
    ended.unshift({ workspace, job, status, endedAt: new Date(clock.now()).toISOString() });
    ended.length = Math.min(ended.length, ENDED_MAX);
    one.onEnd();
  };
  const perform = async (one: WaitingTask, work: Perform): Promise<TaskEnd> => {
    const underWay = { task: one.task, sinceMs: clock.now() };
    active.push(underWay);
    try {
      const result = await work(one.task);
      if (result.kind === 'settled') end(one, result.status);
      else {
        const task = { ...one.task, attempt: one.task.attempt + 1 };
        waiting.push({ ...one, task, notBeforeMs: clock.now() + result.afterMs });
      }
      return result;
    } catch {
      end(one, 'failed');
      return { kind: 'settled', status: 'failed' };
    } finally {
      active.splice(active.indexOf(underWay), 1);
      change();
    }
  };
  return {
    waiting,
    active,
    ended,
    put: (one) => {
      waiting.push(one);
      change();
    },
    dueInMs: () => waiting.reduce((first, one) => (isBlocked(one) ? first : Math.min(first, msUntil(one))), Infinity),
    next: async (work) => {
      const ready = waiting.filter((one) => !isBlocked(one) && msUntil(one) === 0);
      const one = ready.find(({ task }) => task.attempt > 1) ?? ready[0];
      if (one === undefined) return null;
      waiting.splice(waiting.indexOf(one), 1);
      return perform(one, work);
    },
    changed: async (ms, signal) => {
      if (ms === null) await aborted(signal, wake.signal);
      else await clock.sleep(ms, AbortSignal.any([signal, wake.signal]), 'background').catch(() => undefined);
    },
  };
}

// Resolves when one of the signals is aborted.
function aborted(...signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      for (const signal of signals) signal.removeEventListener('abort', end);
      resolve();
    };
    if (signals.some((signal) => signal.aborted)) end();
    else for (const signal of signals) signal.addEventListener('abort', end);
  });
}

/** Reports whether a task belongs to a job of a workspace. */
export function isOf(task: WorkspaceJob, workspace: string, job: string): boolean {
  return task.workspace === workspace && task.job === job;
}
