import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

/** The reason to skip lock tests; null on Linux, because they read /proc/locks. */
export const NO_LOCK_LIST =
  process.platform === 'linux' ? null : 'locks of files are listed in /proc/locks, on Linux only';

const OTHER = fileURLToPath(new URL('other-duckdb.mjs', import.meta.url));
/** Polling interval in milliseconds. */
const LOOK_MS = 20;
/** Consecutive polls without a lock that count as a lost lock. DuckDB locks a file shortly after opening it. */
const LOOKS_WITHOUT = 15;

/** Whether a process has a write lock on a file, according to /proc/locks. */
export function hasWriteLock(path: string, pid = process.pid): boolean {
  const inode = statSync(path, { throwIfNoEntry: false })?.ino;
  return readFileSync('/proc/locks', 'utf8')
    .split('\n')
    .some((line) => {
      const [, kind, , mode, owner, file = ''] = line.trim().split(/\s+/);
      return kind === 'POSIX' && mode === 'WRITE' && owner === String(pid) && file.endsWith(`:${inode}`);
    });
}

/** Starts a process that tries to open databases for writing. Each try resolves with `opened`, `refused` or an error. */
export function startOther(): (path: string) => Promise<string> {
  const child = fork(OTHER, { execArgv: [], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return async (path) => {
    const answered = once(child, 'message');
    child.send(path);
    return String((await answered)[0]);
  };
}

/** Poll counts of `watchLock`. */
export interface Watched {
  /** Polls that found the file open for writing and locked. */
  readonly locked: number;
  /** Polls that found it open for writing and unlocked for longer than opening takes. */
  readonly unlocked: number;
}

/** Polls whether a process has the lock whenever it has the file open for writing. Returns a function that stops. */
export function watchLock(path: string, pid = process.pid): () => Watched {
  let [locked, unlocked, inARow] = [0, 0, 0];
  const timer = setInterval(() => {
    // The list of locks is much shorter than that of open files.
    if (hasWriteLock(path, pid)) {
      inARow = 0;
      locked += 1;
    } else if (!isOpenForWriting(path, pid)) {
      inARow = 0;
    } else {
      inARow += 1;
      if (inARow >= LOOKS_WITHOUT) unlocked += 1;
    }
  }, LOOK_MS);
  return () => {
    clearInterval(timer);
    return { locked, unlocked };
  };
}

function isOpenForWriting(path: string, pid: number): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return false;
  return descriptorsOf(pid).some((descriptor) => {
    try {
      const { ino, dev } = statSync(`/proc/${pid}/fd/${descriptor}`);
      if (ino !== found.ino || dev !== found.dev) return false;
      const flags = /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/fdinfo/${descriptor}`, 'utf8'))?.[1] ?? '0';
      return (Number.parseInt(flags, 8) & 3) === 2;
    } catch {
      return false;
    }
  });
}

function descriptorsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`);
  } catch {
    return [];
  }
}
