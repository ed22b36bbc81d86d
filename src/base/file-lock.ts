import { randomUUID } from 'node:crypto';
import { link, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { hostname, uptime } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { SightlineError } from './errors.ts';
import { isRecord } from './json.ts';
import { isAlive } from './process-alive.ts';

/** How long a short operation waits for the lock of another process, in milliseconds. */
const LOCK_WAIT_MS = 5_000;
const LOCK_POLL_MS = 15;
/** A holder renews the time of its lock this often. */
const RENEW_MS = 5_000;
/** A lock that was not renewed for this long is free, even if a process has its ID. In milliseconds. */
const STALE_MS = 30_000;

/** The process that has a lock, or that was killed while it had it. */
export interface Holder {
  readonly pid: number;
  /** With the program's name. */
  readonly command: string;
  /** ISO 8601. */
  readonly since: string;
  /** Name of its machine or container. */
  readonly host: string;
}

/** An acquired lock. */
export interface Lock {
  isHeld(): Promise<boolean>;
  release(): Promise<void>;
}

/** Texts of the locks of this process: after a restart of a container, a killed process had the same ID. */
const held = new Set<string>();

/** Acquires a lock between processes if it is free; otherwise returns its holder. A file is the lock; a killed process leaves it behind. */
export async function tryLock(path: string, command: string): Promise<{ lock: Lock } | { holder: Holder }> {
  const mine = createRecord(command);
  held.add(mine);
  for (;;) {
    if (await createExclusively(path, mine)) return { lock: keep(path, mine) };
    const theirs = await readFile(path, 'utf8').catch(ignoreMissing);
    if (theirs === null) continue;
    const holder = await liveHolder(path, theirs);
    if (holder !== null) {
      held.delete(mine);
      return { holder };
    }
    await breakLock(path, theirs);
  }
}

/**
 * Acquires a lock between processes for a short operation.
 *
 * @throws SightlineError `warehouse_locked` if another process keeps the lock for 5 seconds
 */
export async function takeLock(path: string, work: string): Promise<Lock> {
  for (let waitedMs = 0; waitedMs <= LOCK_WAIT_MS; waitedMs += LOCK_POLL_MS) {
    const taken = await tryLock(path, work);
    if ('lock' in taken) return taken.lock;
    await delay(LOCK_POLL_MS);
  }
  throw new SightlineError('warehouse_locked', `another process ${work} and has locked ${path}; try again`);
}

/** Reads the holder of a lock; null if the lock is free, also if its holder was killed. */
export async function readHolder(path: string): Promise<Holder | null> {
  const text = await textOf(path);
  return text === null ? null : liveHolder(path, text);
}

/** The text of a record of this process. */
export function createRecord(command: string, more: Readonly<Record<string, string>> = {}): string {
  const since = new Date().toISOString();
  return `${JSON.stringify({ pid: process.pid, command, since, host: hostname(), ...more, token: randomUUID() })}\n`;
}

/** Parses a record of a process; null if it is damaged. */
export function parseRecord(text: string): (Holder & Readonly<Record<string, unknown>>) | null {
  let record: unknown;
  try {
    record = JSON.parse(text);
  } catch {
    return null;
  }
  // A process ID of 0 or less addresses a group of processes, of which some always exist.
  if (!isRecord(record) || !Number.isSafeInteger(record['pid']) || Number(record['pid']) <= 0) return null;
  const { pid, command, since, host } = record;
  return { ...record, pid: Number(pid), command: String(command), since: String(since), host: String(host) };
}

/**
 * Whether a recorded process of this machine still runs. After a restart of the machine, and in another container, its process ID may
 * belong to another process.
 */
export function isRunning({ pid, since, host }: Holder): boolean {
  if (host !== hostname()) return false;
  const startedMs = Date.now() - uptime() * 1000;
  return Date.parse(since) >= startedMs && isAlive(pid);
}

// Locks of other machines and containers are judged by their time alone.
async function liveHolder(path: string, text: string): Promise<Holder | null> {
  const record = parseRecord(text);
  if (record === null) return null;
  const modifiedMs = (await stat(path).catch(() => null))?.mtimeMs ?? 0;
  if (Date.now() - modifiedMs > STALE_MS) return null;
  const { pid, command, since, host } = record;
  const holder = { pid, command, since, host };
  if (host !== hostname()) return holder;
  return (pid === process.pid ? held.has(text) : isAlive(pid)) ? holder : null;
}

// The timer does not keep the process alive.
function keep(path: string, mine: string): Lock {
  const isHeld = async (): Promise<boolean> => (await textOf(path)) === mine;
  const timer = setInterval(() => void renew(path, mine).catch(() => undefined), RENEW_MS).unref();
  const release = async (): Promise<void> => {
    clearInterval(timer);
    held.delete(mine);
    if (await isHeld()) await rm(path, { force: true });
  };
  return { isHeld, release };
}

// Writes the same text again, so that the time of the lock is that of the file system. If another process has taken the lock over since
// it was opened, this changes a file that no longer has a name.
async function renew(path: string, mine: string): Promise<void> {
  const handle = await open(path, 'r+');
  try {
    if ((await handle.readFile('utf8')) === mine) await handle.write(mine, 0);
  } finally {
    await handle.close();
  }
}

// Creates the lock with link(2), so that a lock file always contains its owner.
async function createExclusively(path: string, text: string): Promise<boolean> {
  const aside = `${path}.${randomUUID()}`;
  await writeFile(aside, text, { mode: 0o600 });
  try {
    await link(aside, path);
    return true;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw thrown;
  } finally {
    await rm(aside, { force: true });
  }
}

// Removes a stale lock by rename, so that only one process does it. If the lock has changed meanwhile, it is put back.
async function breakLock(path: string, seen: string): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  try {
    await rename(path, aside);
  } catch {
    return;
  }
  const taken = await textOf(aside);
  if (taken !== null && taken !== seen) await createExclusively(path, taken);
  await rm(aside, { force: true });
}

function ignoreMissing(thrown: NodeJS.ErrnoException): null {
  if (thrown.code === 'ENOENT') return null;
  throw thrown;
}

async function textOf(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch(() => null);
}
