import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { type Lock, takeLock } from '../../serve/key-file.ts';

const time = z.iso.datetime();
const waitingSchema = z.object({
  /** The same however often it is sent. */
  id: z.string(),
  target: z.string(),
  createdAt: time,
  event: z.string(),
  text: z.string(),
  data: z.record(z.string(), z.unknown()),
});
const toldSchema = z.object({
  version: z.literal(1),
  /** Since when anybody looks. */
  since: time,
  outages: z.record(z.string(), z.object({ since: time, scope: z.string().nullable(), toldAt: time })),
  stale: z.record(z.string(), z.object({ since: time, toldAt: time })),
  waiting: z.array(waitingSchema),
});

/** What was told of a workspace, and what waits to be: an outage or stale data are told once, whoever looks. */
export type Told = z.infer<typeof toldSchema>;
/** A message that waits to be delivered. */
export type Waiting = z.infer<typeof waitingSchema>;

/** Where it is kept. */
export function toldPath(folder: string): string {
  return join(folder, 'notify.json');
}

/** Reads what was told; nothing was where there is no file, or one that cannot be read. */
export async function readTold(folder: string, nowMs: number): Promise<Told> {
  try {
    const told = toldSchema.parse(JSON.parse(await readFile(toldPath(folder), 'utf8')));
    // A clock that was ahead and was put right would have nothing be stale until then.
    return Date.parse(told.since) <= nowMs ? told : { ...told, since: new Date(nowMs).toISOString() };
  } catch {
    return { version: 1, since: new Date(nowMs).toISOString(), outages: {}, stale: {}, waiting: [] };
  }
}

// What could not be kept, by folder: on a full disk the same would be news every few minutes.
const unkept = new Map<string, Told>();

/**
 * Changes what was told, in one step among processes, and gives what it is then. Where it cannot be kept, this process
 * remembers it, and `onUnkept` is given the reason.
 */
export async function changeTold(
  folder: string,
  nowMs: number,
  change: (told: Told) => void,
  onUnkept: (reason: unknown) => void,
): Promise<Told> {
  const lock = await lockTold(folder);
  try {
    const told = unkept.get(folder) ?? (await readTold(folder, nowMs));
    change(told);
    try {
      await writeTold(folder, told);
      unkept.delete(folder);
    } catch (thrown) {
      unkept.set(folder, told);
      onUnkept(thrown);
    }
    return told;
  } finally {
    await lock?.release();
  }
}

// Where no lock can be had, telling twice is better than not at all.
async function lockTold(folder: string): Promise<Lock | null> {
  try {
    await mkdir(folder, { recursive: true });
    return await takeLock(`${toldPath(folder)}.lock`, 'tells of the workspace');
  } catch {
    return null;
  }
}

/** Keeps what was told, in one step. */
async function writeTold(folder: string, told: Told): Promise<void> {
  const path = toldPath(folder);
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

/** Does the work on a workspace's messages one after another, within this process. */
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
