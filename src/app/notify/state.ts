import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';

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
    return toldSchema.parse(JSON.parse(await readFile(toldPath(folder), 'utf8')));
  } catch {
    return { version: 1, since: new Date(nowMs).toISOString(), outages: {}, stale: {}, waiting: [] };
  }
}

/** Keeps what was told, in one step. */
export async function writeTold(folder: string, told: Told): Promise<void> {
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
