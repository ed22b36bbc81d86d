import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { type Lock, takeLock } from '../../base/file-lock.ts';
import { layoutOf } from '../../publish/snapshot/layout.ts';

const time = z.iso.datetime();
const waitingSchema = z.object({
  /** Stays the same for all attempts. */
  id: z.string(),
  target: z.string(),
  createdAt: time,
  event: z.string(),
  text: z.string(),
  data: z.record(z.string(), z.unknown()),
});
const toldSchema = z.object({
  version: z.literal(1),
  /** Time of the first check. */
  since: time,
  outages: z.record(z.string(), z.object({ since: time, scope: z.string().nullable(), toldAt: time })),
  stale: z.record(z.string(), z.object({ since: time, toldAt: time })),
  waiting: z.array(waitingSchema),
});

/** Recorded outages and waiting messages of a workspace, shared by all processes so that each is reported once. */
export type Told = z.infer<typeof toldSchema>;
/** A message that waits for delivery. */
export type Waiting = z.infer<typeof waitingSchema>;

/** Reads the notification state. A missing or unreadable file counts as empty. */
export async function readTold(folder: string, nowMs: number): Promise<Told> {
  try {
    const told = toldSchema.parse(JSON.parse(await readFile(layoutOf(folder).notifications, 'utf8')));
    // A time in the future, left by a wrong clock, would suppress stale messages until then.
    return Date.parse(told.since) <= nowMs ? told : { ...told, since: new Date(nowMs).toISOString() };
  } catch {
    return { version: 1, since: new Date(nowMs).toISOString(), outages: {}, stale: {}, waiting: [] };
  }
}

// States that could not be written, by folder. Without them a full disk would be reported every few minutes.
const unwritten = new Map<string, Told>();

/**
 * Changes the notification state under a lock and returns it. If it cannot be written, this process keeps it in memory and calls
 * `onUnkept` with the reason.
 */
export async function changeTold(
  folder: string,
  nowMs: number,
  change: (told: Told) => void,
  onUnkept: (reason: unknown) => void,
): Promise<Told> {
  const lock = await lockTold(folder);
  try {
    const told = unwritten.get(folder) ?? (await readTold(folder, nowMs));
    change(told);
    try {
      await writeTold(folder, told);
      unwritten.delete(folder);
    } catch (thrown) {
      unwritten.set(folder, told);
      onUnkept(thrown);
    }
    return told;
  } finally {
    await lock?.release();
  }
}

// Without a lock a message may be sent twice, which is better than not at all.
async function lockTold(folder: string): Promise<Lock | null> {
  try {
    await mkdir(folder, { recursive: true });
    return await takeLock(`${layoutOf(folder).notifications}.lock`, 'is changing the notification state');
  } catch {
    return null;
  }
}

/** Writes the notification state by rename. */
async function writeTold(folder: string, told: Told): Promise<void> {
  const path = layoutOf(folder).notifications;
  const aside = `${path}.${randomUUID()}`;
  await mkdir(dirname(path), { recursive: true });
  try {
    await writeFile(aside, `${JSON.stringify(told)}\n`, { mode: 0o600 });
    await rename(aside, path);
  } finally {
    await rm(aside, { force: true });
  }
}

const turns = new Map<string, Promise<unknown>>();

/** Runs work on a workspace's messages one at a time within this process. */
export async function inTurn<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const turn = (turns.get(folder) ?? Promise.resolve()).then(work);
  const settled = turn.then(
    () => undefined,
    () => undefined,
  );
  turns.set(folder, settled);
  try {
    return await turn;
  } finally {
    if (turns.get(folder) === settled) turns.delete(folder);
  }
}
