import PQueue from 'p-queue';

/** Files that are sent at once; each is held in memory whole, or in parts. */
const FILES_AT_ONCE = 4;

/** Does the work for each item, some at a time; what fails first ends it, once nothing is under way. */
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
