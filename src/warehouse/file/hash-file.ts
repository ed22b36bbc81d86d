import { createHash } from 'node:crypto';
import { readOpened } from './open-files.ts';

const BUFFER_BYTES = 1024 * 1024;

/**
 * Returns a file's SHA-256, hexadecimal. Uses one buffer, because those of a stream pile up until they are collected.
 * DuckDB may have the file open.
 */
export async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(BUFFER_BYTES);
  return readOpened(path, async (readAt) => {
    for (let position = 0; ;) {
      const bytesRead = await readAt(buffer, position);
      if (bytesRead === 0) return hash.digest('hex');
      hash.update(buffer.subarray(0, bytesRead));
      position += bytesRead;
    }
  });
}
