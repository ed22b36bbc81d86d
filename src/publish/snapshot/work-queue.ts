import PQueue from 'p-queue';

/** Runs work, a few at a time. After an error no further work begins, and `add` throws the error for the rest. */
export interface WorkQueue {
  /** Work with a higher priority runs first. */
  add<T>(work: () => Promise<T>, priority?: number): Promise<T>;
  /** Waits until no work runs. */
  idle(): Promise<void>;
}

/** Creates a queue. It starts no work after `signal` is aborted. */
export function createWorkQueue(concurrency: number, signal: AbortSignal): WorkQueue {
  const queue = new PQueue({ concurrency });
  const failed = new AbortController();
  const begin = async <T>(work: () => Promise<T>): Promise<T> => {
    AbortSignal.any([signal, failed.signal]).throwIfAborted();
    try {
      return await work();
    } catch (thrown) {
      failed.abort(thrown);
      throw thrown;
    }
  };
  return { add: (work, priority = 0) => queue.add(() => begin(work), { priority }), idle: () => queue.onIdle() };
}
