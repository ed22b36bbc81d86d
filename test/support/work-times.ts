/** Work that takes long, by kind: how often this worker did it for the current file, and how many seconds it took. */
const times = new Map<string, { count: number; seconds: number }>();

/** Measures work of a kind, such as the start of a process, for the report. */
export async function timed<T>(kind: string, work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  try {
    return await work();
  } finally {
    const time = times.get(kind) ?? { count: 0, seconds: 0 };
    times.set(kind, { count: time.count + 1, seconds: time.seconds + (performance.now() - startedAt) / 1000 });
  }
}

/** Returns the times since the last call. */
export function takeTimes(): Record<string, { count: number; seconds: number }> {
  const taken = Object.fromEntries(times);
  times.clear();
  return taken;
}
