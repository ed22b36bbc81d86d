import { closeSync, fstatSync, openSync, read, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { SightlineError } from '../../base/errors.ts';

// DuckDB locks the file and its log with fcntl(F_SETLK). POSIX drops all of a process's locks on a file when that process
// closes any descriptor of the file (fcntl(2), "Record locking and POSIX"), so one careless open and close lets another
// process write to a warehouse that is in use. Therefore code that may meet a live file reads it with `readOpened`, and
// every DuckDB instance is registered with `registerOpen`.

/** How one path is open in DuckDB instances of this process. */
interface Opened {
  writers: number;
  readers: number;
}

interface Descriptor {
  readonly fd: number;
  /** Device and inode. */
  readonly file: string;
  users: number;
}

const LOG_SUFFIX = '.wal';
/** POSIX locks belong to the process, so this record is kept per process. */
const opened = new Map<string, Opened>();
/** By path. */
const descriptors = new Map<string, Descriptor[]>();

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
    for (const each of [key, logOf(key)]) closeUnused(each);
  };
}

/** Reads a part of a file at a position, into a buffer; returns the number of bytes. */
export type ReadAt = (buffer: Buffer, position: number) => Promise<number>;

/**
 * Reads a file that DuckDB may have open in this process without dropping DuckDB's lock: the descriptor stays open until
 * DuckDB has closed the file. No read may be under way when `work` ends.
 */
export async function readOpened<T>(path: string, work: (readAt: ReadAt) => Promise<T>): Promise<T> {
  const key = resolve(path);
  const descriptor = openDescriptor(key);
  descriptor.users += 1;
  const readAt: ReadAt = async (buffer, position) => {
    const { bytesRead } = await readInto(descriptor.fd, buffer, 0, buffer.length, position);
    return bytesRead;
  };
  try {
    return await work(readAt);
  } finally {
    descriptor.users -= 1;
    closeUnused(key);
  }
}

const readInto = promisify(read);

function openDescriptor(path: string): Descriptor {
  const kept = descriptors.get(path) ?? [];
  const known = kept.find(({ file }) => file === fileOf(statSync(path, { bigint: true })));
  if (known !== undefined) return known;
  const fd = openSync(path, 'r');
  const descriptor = { fd, file: fileOf(fstatSync(fd, { bigint: true })), users: 0 };
  descriptors.set(path, [...kept, descriptor]);
  return descriptor;
}

function fileOf({ dev, ino }: { readonly dev: bigint; readonly ino: bigint }): string {
  return `${dev} ${ino}`;
}

// Synchronous, so that no DuckDB instance of this process can lock the file between the check and the close. A deleted file,
// such as a log after a checkpoint, needs no lock any more: nobody else can open it.
function closeUnused(path: string): void {
  const database = path.endsWith(LOG_SUFFIX) ? path.slice(0, -LOG_SUFFIX.length) : path;
  const isOpened = opened.has(database);
  const kept = (descriptors.get(path) ?? []).filter(({ fd, users }) => {
    const isNeeded = users > 0 || (isOpened && fstatSync(fd).nlink > 0);
    if (!isNeeded) closeSync(fd);
    return isNeeded;
  });
  if (kept.length === 0) descriptors.delete(path);
  else descriptors.set(path, kept);
}
