import { existsSync, statfsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Returns the path itself if it exists, otherwise its nearest existing parent. */
export function nearestExisting(path: string): string {
  const parent = dirname(path);
  return existsSync(path) || parent === path ? path : nearestExisting(parent);
}

/**
 * Bytes that this user may still write to the disk of a path, which need not exist yet; null if the system does not report it.
 * Virtual file systems such as /proc report a size of 0 blocks.
 */
export function freeBytes(path: string): number | null {
  try {
    const { bavail, blocks, bsize } = statfsSync(nearestExisting(resolve(path)));
    return blocks === 0 ? null : bavail * bsize;
  } catch {
    return null;
  }
}

/** Formats a size: `0.3 MB`, `84 MB`, `1,200 MB`. */
export function megabytes(bytes: number): string {
  const value = bytes / 1_000_000;
  return `${value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString('en-US')} MB`;
}

/** Describes the free space on the disk of a path: `the disk of /data has 84 MB free`. */
export function describeFree(path: string): string {
  const free = freeBytes(path);
  return `the disk of ${path} has ${free === null ? 'an unknown amount' : megabytes(free)} free`;
}
