import { resolve } from 'node:path';
import { SightlineError } from '../../base/errors.ts';

// DuckDB locks the file and its log with fcntl(F_SETLK). POSIX drops all of a process's locks on a file when that process
// closes any descriptor of the file (fcntl(2), "Record locking and POSIX"), so one careless open and close lets another
// process write to a warehouse that is in use. Therefore only another process reads a live file (publish/destinations/home-tables.ts), and
// every DuckDB instance is registered with `registerOpen`.

/** How one path is open in DuckDB instances of this process. */
interface Opened {
  writers: number;
  readers: number;
}

const LOG_SUFFIX = '.wal';
/** POSIX locks belong to the process, so this record is kept per process. */
const opened = new Map<string, Opened>();

/** Returns the path of the log in which DuckDB keeps commits that are not in the database file yet. */
export function logOf(path: string): string {
  return `${path}${LOG_SUFFIX}`;
}

/**
 * Registers a DuckDB instance that is about to open a file. The returned function is called after the instance is closed.
 * @throws `internal` for a second writer in this process, and `warehouse_locked` for a reader beside its writer or the reverse
 */
export function registerOpen(path: string, mode: 'read' | 'write'): () => void {
  const key = resolve(path);
  const uses = opened.get(key) ?? { writers: 0, readers: 0 };
  if (uses.writers > 0 || (mode === 'write' && uses.readers > 0)) {
    const code = uses.writers > 0 && mode === 'write' ? 'internal' : 'warehouse_locked';
    const how = uses.writers > 0 ? 'writing' : 'reading';
    throw new SightlineError(code, `this process has ${path} open for ${how} already`);
  }
  const count = mode === 'write' ? 'writers' : 'readers';
  uses[count] += 1;
  opened.set(key, uses);
  let isOpen = true;
  return () => {
    if (!isOpen) return;
    isOpen = false;
    uses[count] -= 1;
    if (uses.writers + uses.readers > 0) return;
    opened.delete(key);
  };
}
