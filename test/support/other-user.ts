import { statSync } from 'node:fs';
import { dirname } from 'node:path';

/** Whether other users can enter a folder, which takes the right to enter all folders above it. */
export function isOpen(folder: string): boolean {
  const stats = statSync(folder, { throwIfNoEntry: false });
  return stats !== undefined && (stats.mode & 0o001) !== 0 && (folder === dirname(folder) || isOpen(dirname(folder)));
}
