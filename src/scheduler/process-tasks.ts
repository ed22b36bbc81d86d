import type { Clock } from '../base/clock.ts';
import { ENDED_MAX, type EndedTask, type Task, type TaskEnd, type WorkspaceJob } from './runner.ts';

/** A task that waits for its turn. */
export interface WaitingTask {
  readonly task: Task;
  readonly sinceMs: number;
  /** Epoch milliseconds. */
  readonly notBeforeMs: number;
  /** Told when it has been done, however often it was put back. */
  onEnd(): void;
}

/** Performs a task. */
export type Perform = (task: Task) => Promise<TaskEnd>;

/** Tasks of one process, in memory. */
export interface TaskList {
  readonly waiting: readonly WaitingTask[];
  readonly active: readonly { readonly task: Task; readonly sinceMs: number }[];
  /** How the last ones ended, the newest first. */
  readonly ended: readonly EndedTask[];
  readonly failed: number;
  put(waiting: WaitingTask): void;
  /** Until the next task may begin: 0 where one may, infinite where none waits but for a workspace in which one is under way. */
  dueInMs(): number;
  /**
   * Performs the first task that is due and records how it ended. Tasks that were begun before come first. Returns null if no task
   * is due. Does not throw what `perform` throws.
   */
  next(perform: Perform): Promise<TaskEnd | null>;
  /** Resolves when there is a task more, one has ended, `ms` have passed or the signal is aborted. */
  changed(ms: number, signal: AbortSignal): Promise<void>;
}

/** Makes an empty list. */
export function createTaskList(clock: Clock): TaskList {
  const waiting: WaitingTask[] = [];
  const active: { task: Task; sinceMs: number }[] = [];
  const ended: EndedTask[] = [];
  let failed = 0;
  let wake = new AbortController();
  const change = (): void => {
    wake.abort();
    wake = new AbortController();
  };
  // What is under way in a workspace would only send it back.
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
      failed += 1;
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
    get failed() {
      return failed;
    },
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
      await clock.sleep(ms, AbortSignal.any([signal, wake.signal])).catch(() => undefined);
    },
  };
}

/** Whether a task is one of a workspace's job. */
export function isOf(task: WorkspaceJob, workspace: string, job: string): boolean {
  return task.workspace === workspace && task.job === job;
}
