import PQueue from 'p-queue';
import { inThisSpan } from '../base/trace.ts';
import type { Slice } from './slice.ts';
import type { SyncStats } from './sync-stats.ts';

/** Runs the tasks of slices in parallel, those with higher priorities first. */
export interface SliceQueue {
  /** Queues the task of a slice. The task plans the slices that depend on its slice before it ends. */
  add(slice: Slice, task: () => Promise<void>): void;
  /**
   * Calls `work` when the last planned slice with at least the priority of the first level has been read, and then for each
   * further level. If several levels end at once, calls it once.
   */
  onLevel(levels: readonly number[], work: () => void | Promise<void>): void;
  /** Waits until no task is left. */
  drain(): Promise<void>;
}

/** Creates the queue of a run. An error of a task is passed to `stop`. */
export function createSliceQueue(
  { connections, signal }: { readonly connections: number; readonly signal: AbortSignal },
  stats: SyncStats,
  stop: (fatal: unknown) => void,
): SliceQueue {
  const queue = new PQueue({ concurrency: connections });
  signal.addEventListener('abort', () => queue.clear(), { once: true });
  const open = new Map<number, number>();
  const waiting: { readonly levels: number[]; readonly work: () => void | Promise<void> }[] = [];
  const count = (priority: number, slices: number): void => {
    open.set(priority, (open.get(priority) ?? 0) + slices);
  };
  const isReached = ([level]: readonly number[]): boolean =>
    level !== undefined && [...open].every(([priority, slices]) => priority < level || slices === 0);
  const closed = async ({ priority }: Slice): Promise<void> => {
    count(priority, -1);
    for (const { levels, work } of waiting.filter(({ levels }) => isReached(levels))) {
      while (isReached(levels)) levels.shift();
      await work();
    }
  };
  return {
    add: (slice, task) => {
      count(slice.priority, 1);
      const run = async (): Promise<void> => {
        if (signal.aborted || stats.allowance !== null) return;
        await task();
        await closed(slice);
      };
      // Keeps the trace span of the caller.
      queue.add(inThisSpan(run), { priority: slice.priority }).catch(stop);
    },
    onLevel: (levels, work) => void waiting.push({ levels: [...levels], work }),
    drain: async () => {
      await queue.onIdle();
      signal.throwIfAborted();
    },
  };
}
