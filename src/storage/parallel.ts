import PQueue from 'p-queue';

/** Files uploaded at the same time; each is in memory completely or in parts. */
const FILES_AT_ONCE = 4;

/**
 * Runs `work` for each item, a few at a time. After an error, no further item starts; the error is thrown once the
 * others have ended.
 */
export async function inParallel<T>(
  items: readonly T[],
  signal: AbortSignal,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = new PQueue({ concurrency: FILES_AT_ONCE });
  try {
    await Promise.all(
      items.map((item) =>
        queue.add(() => {
          signal.throwIfAborted();
          return work(item);
        }),
      ),
    );
  } catch (thrown) {
    queue.clear();
    await queue.onIdle();
    throw thrown;
  }
}
