import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { SightlineError } from '../base/errors.ts';
import { type Holder, type Lock, readHolder, tryLock } from '../base/file-lock.ts';
import { ensureWritableFolder } from '../base/files.ts';
import { layoutOf } from '../publish/snapshot/layout.ts';
import { neverLost, once, type SessionDriver, type SessionRequest } from './driver.ts';

/** Interval at which a waiting process looks whether it is its turn, in milliseconds. */
const LOOK_MS = 100;
/** Files that hold the places of waiting processes. Their names sort by the time of arrival. */
const TICKET = /^waiting-\d{18}-[\w-]{36}\.json$/;

/**
 * The driver that excludes other processes: the lock `owner.json` in the folder of the workspace. With mode `wait`, processes get the
 * lock in the order in which they came. DuckDB's own lock protects the warehouse even where this one fails, for example after a process
 * was suspended for longer than a lock lives.
 */
export const fileLock: SessionDriver = {
  acquire: async (request) => {
    const { folder, mode } = request;
    const free = { lost: neverLost(), epoch: null };
    // There is nothing to protect yet. Work that creates the folder does so before it asks for the lock.
    if (mode === 'wait' && !existsSync(folder)) return { ...free, release: async () => undefined };
    await ensureWritableFolder(folder);
    const lock = mode === 'refuse' ? await takeOrRefuse(request) : await takeInTurn(request);
    return { ...free, release: once(lock.release) };
  },
};

/** Describes a holder for people. */
export function describeHolder({ command, pid, since }: Holder): string {
  return `\`${command}\` (process ${pid}, since ${since})`;
}

/** The process that may write to a workspace now; null if there is none. */
export function writerOf(folder: string): Promise<Holder | null> {
  return readHolder(layoutOf(folder).owner);
}

/** Places in the queue of a workspace that belong to no running process. */
export async function deadTickets(folder: string): Promise<string[]> {
  const dead: string[] = [];
  for (const path of await ticketsIn(folder)) if ((await readHolder(path)) === null) dead.push(path);
  return dead;
}

function tryOwn({ folder, command }: SessionRequest): ReturnType<typeof tryLock> {
  return tryLock(layoutOf(folder).owner, `sightline ${command}`);
}

async function takeOrRefuse(request: SessionRequest): Promise<Lock> {
  const taken = await tryOwn(request);
  if ('lock' in taken) return taken.lock;
  const holder = describeHolder(taken.holder);
  throw new SightlineError('warehouse_locked', `the workspace in ${request.folder} is in use by ${holder}`);
}

async function takeInTurn(request: SessionRequest): Promise<Lock> {
  const { folder, command, signal, onWait } = request;
  // In microseconds, because several may come within a millisecond. A change of the clock does not move this time.
  const arrivedAt = Math.floor((performance.timeOrigin + performance.now()) * 1000);
  const path = join(folder, `waiting-${String(arrivedAt).padStart(18, '0')}-${randomUUID()}.json`);
  let ticket: Lock | null = null;
  try {
    for (;;) {
      signal.throwIfAborted();
      const ahead = await countAhead(folder, path);
      const taken = ahead === 0 ? await tryOwn(request) : { holder: await writerOf(folder) };
      if ('lock' in taken) return taken.lock;
      if (ticket === null) {
        const own = await tryLock(path, `sightline ${command}`);
        ticket = 'lock' in own ? own.lock : null;
        if (taken.holder !== null) onWait(`\`${taken.holder.command}\``, ahead);
      }
      await delay(LOOK_MS, undefined, { signal }).catch(() => undefined);
    }
  } finally {
    await ticket?.release();
  }
}

// The processes that wait and came before. Removes the places of killed ones.
async function countAhead(folder: string, path: string): Promise<number> {
  let ahead = 0;
  for (const earlier of await ticketsIn(folder)) {
    if (earlier >= path) break;
    if ((await readHolder(earlier)) === null) await rm(earlier, { force: true });
    else ahead += 1;
  }
  return ahead;
}

async function ticketsIn(folder: string): Promise<string[]> {
  const names = await readdir(folder);
  return names
    .filter((name) => TICKET.test(name))
    .sort()
    .map((name) => join(folder, name));
}
