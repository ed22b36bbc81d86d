/** Delayed steps that can be cancelled. */
export interface Timers {
  later(step: () => void, delayMs: number): void;
  clear(): void;
}

/** Creates timers that can be cleared together, so that a closed server leaves none behind. */
export function createTimers(): Timers {
  const running = new Set<NodeJS.Timeout>();
  const later = (step: () => void, delayMs: number): void => {
    const timer = setTimeout(() => {
      running.delete(timer);
      step();
    }, delayMs);
    running.add(timer);
  };
  const clear = (): void => {
    for (const timer of running) clearTimeout(timer);
    running.clear();
  };
  return { later, clear };
}
