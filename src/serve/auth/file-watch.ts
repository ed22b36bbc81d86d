import { statSync } from 'node:fs';

/**
 * Returns a function that calls `read` if the file was changed, created or removed since the last successful call. If `read`
 * throws, it is called again next time. A stat costs microseconds; requests handled in the same turn of the event loop share one.
 */
export function createFileWatch(path: string, read: () => void): () => void {
  let seen = '';
  let isFresh = false;
  return () => {
    if (isFresh) return;
    const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
    const now = stats === undefined ? 'none' : `${stats.ino} ${stats.mtimeNs} ${stats.size}`;
    if (now !== seen) {
      seen = '';
      read();
      seen = now;
    }
    isFresh = true;
    setImmediate(() => {
      isFresh = false;
    });
  };
}
