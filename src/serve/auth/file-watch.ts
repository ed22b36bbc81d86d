import { fileIdentity } from '../../base/files.ts';

/**
 * Returns a function that calls `read` if the file was changed, created or removed since the last successful call. If `read`
 * throws, it is called again next time. A stat costs microseconds; requests handled in the same turn of the event loop share one.
 */
export function createFileWatch(path: string, read: () => void): () => void {
  let seen: string | null = null;
  let isFresh = false;
  return () => {
    if (isFresh) return;
    const now = fileIdentity(path);
    if (now !== seen) {
      seen = null;
      read();
      seen = now;
    }
    isFresh = true;
    setImmediate(() => {
      isFresh = false;
    });
  };
}
