import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';

const BUFFER_BYTES = 1024 * 1024;

/**
 * Returns a file's SHA-256, hexadecimal. Uses one buffer, because those of a stream pile up until they are collected. DuckDB must not have the
 * file open in this process.
 */
export async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(BUFFER_BYTES);
  const file = await open(path);
  try {
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length);
      if (bytesRead === 0) return hash.digest('hex');
      hash.update(buffer.subarray(0, bytesRead));
    }
  } finally {
    await file.close();
  }
}
