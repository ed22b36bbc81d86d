/** Lets work on one thing go on one after another, in the order in which it was asked for. */
export interface Turns {
  /**
   * Runs `work` in its turn. `onWait` is told what goes on, where something does. Throws the signal's reason when it is
   * aborted before the turn has come.
   */
  take<T>(what: string, signal: AbortSignal, work: () => Promise<T>, onWait?: (current: string) => void): Promise<T>;
}

/** Builds turns for one workspace. */
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
