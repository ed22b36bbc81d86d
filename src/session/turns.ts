/** A queue that runs work on one workspace one at a time, in the order of the calls. */
export interface Turns {
  /**
   * Runs `work` after all earlier calls have ended. If it has to wait, calls `onWait` with a description of the running work.
   * Throws the signal's reason when it is aborted before `work` starts.
   */
  take<T>(what: string, signal: AbortSignal, work: () => Promise<T>, onWait?: (current: string) => void): Promise<T>;
}

/** Creates the queue of one workspace. */
export function createTurns(): Turns {
  let last: Promise<void> = Promise.resolve();
  let current: string | null = null;
  return {
    take: async (what, signal, work, onWait) => {
      const before = last;
      let leave: () => void = () => undefined;
      const left = new Promise<void>((resolve) => {
        leave = resolve;
      });
      last = before.then(() => left);
      try {
        if (current !== null) onWait?.(current);
        await unlessAborted(before, signal);
        current = what;
        try {
          return await work();
        } finally {
          current = null;
        }
      } finally {
        leave();
      }
    },
  };
}

async function unlessAborted(turn: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  let abort: () => void = () => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    abort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', abort, { once: true });
  });
  try {
    await Promise.race([turn, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
