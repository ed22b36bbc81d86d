import { SightlineError } from '../../base/errors.ts';

/** Runs one task at a time. Sessions take turns, so that many tasks of one session delay another by one task only. */
export interface FairQueue {
  /**
   * Runs `work` when its turn comes. If the signal is aborted before that, the task does not run and rejects with the
   * signal's reason.
   *
   * @throws `overloaded` if the queue, or the session's part of it, is full
   */
  run<T>(session: string, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
  /** Number of waiting tasks. */
  waiting(): number;
}

/** Limits of waiting tasks. */
export interface FairQueueOptions {
  readonly waitingMax: number;
  readonly waitingPerSessionMax: number;
}

interface Task {
  start(): Promise<void>;
}

/** Creates an empty queue. */
export function createFairQueue({ waitingMax, waitingPerSessionMax }: FairQueueOptions): FairQueue {
  /** Waiting tasks by session, in the order of their turns. */
  const sessions = new Map<string, Task[]>();
  let isRunning = false;
  const waiting = (): number => [...sessions.values()].reduce((sum, tasks) => sum + tasks.length, 0);
  const remove = (session: string, task: Task): boolean => {
    const tasks = sessions.get(session) ?? [];
    const index = tasks.indexOf(task);
    if (index !== -1) tasks.splice(index, 1);
    if (tasks.length === 0) sessions.delete(session);
    return index !== -1;
  };
  const next = (): void => {
    const [first] = sessions;
    if (isRunning || first === undefined) return;
    const [session, tasks] = first;
    const task = tasks[0] as Task;
    remove(session, task);
    // The session goes to the end of the order.
    if (sessions.delete(session)) sessions.set(session, tasks);
    isRunning = true;
    void task.start().finally(() => {
      isRunning = false;
      next();
    });
  };
  const run = <T>(session: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
    if (signal.aborted) return Promise.reject(signal.reason);
    const own = sessions.get(session) ?? [];
    if (own.length >= waitingPerSessionMax) return Promise.reject(full('of this session', waitingPerSessionMax));
    if (waiting() >= waitingMax) return Promise.reject(full('of all sessions', waitingMax));
    return new Promise<T>((resolve, reject) => {
      const onAbort = (): void => {
        if (remove(session, task)) reject(signal.reason);
      };
      const task: Task = {
        start: async () => {
          signal.removeEventListener('abort', onAbort);
          await work().then(resolve, reject);
        },
      };
      signal.addEventListener('abort', onAbort, { once: true });
      sessions.set(session, [...own, task]);
      next();
    });
  };
  return { run, waiting };
}

function full(of: string, most: number): SightlineError {
  return new SightlineError('overloaded', `${most} queries ${of} are already waiting; allowed: ${most}`);
}
