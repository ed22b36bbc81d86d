import { constants } from 'node:fs';
import { open, rename, rm, writeFile } from 'node:fs/promises';
import { z } from 'zod';
import type { Clock } from '../base/clock.ts';
import { layoutOf } from '../snapshot/layout.ts';
import type { Progress } from './progress.ts';

const WRITE_EVERY_MS = 1_000;
/** A process that has said nothing for so long is gone, or its machine was asleep. */
const SILENT_MS_MAX = 15_000;
/** Many times what a sync of every resource takes. */
const FILE_BYTES_MAX = 100_000;

const amount = z.number().nonnegative();
const content = z.object({
  command: z.string(),
  pid: z.int(),
  startedAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  requests: amount,
  retries: amount,
  waitedMs: amount,
  rows: amount,
  done: amount,
  expected: amount,
  secondsToGo: amount,
  budget: z.object({ limit: amount, capacity: amount, left: amount }),
  resources: z.array(
    z.object({ name: z.string(), done: amount, expected: amount, rows: amount, failed: amount }).readonly(),
  ),
});

/** How far the sync of a workspace is, and whose it is. Times are ISO 8601, UTC. */
export interface RunningSync extends Progress {
  /** The command that runs it. */
  readonly command: string;
  readonly pid: number;
  readonly startedAt: string;
  readonly updatedAt: string;
}

/** Tells other processes how far a sync is, until it is closed. */
export interface ProgressFile {
  close(): Promise<void>;
}

/**
 * Writes into a workspace's folder, every second, how far its sync is. What cannot be written is left out: no sync fails
 * because nobody can watch it.
 */
export function keepProgress(
  { folder, clock, command }: { readonly folder: string; readonly clock: Clock; readonly command: string },
  read: () => Progress,
): ProgressFile {
  const path = layoutOf(folder).progress;
  const startedAt = new Date(clock.now()).toISOString();
  let writing: Promise<void> = Promise.resolve();
  let isWriting = false;
  const write = (): void => {
    if (isWriting) return;
    isWriting = true;
    const updatedAt = new Date(clock.now()).toISOString();
    const text = JSON.stringify({ command, pid: process.pid, startedAt, updatedAt, ...read() });
    writing = replace(path, text).then(() => {
      isWriting = false;
    });
  };
  write();
  const timer = setInterval(write, WRITE_EVERY_MS);
  timer.unref();
  const close = async (): Promise<void> => {
    clearInterval(timer);
    await writing;
    await rm(path, { force: true }).catch(() => undefined);
  };
  return { close };
}

/** How far the sync is that runs in a workspace now, whichever process runs it; null where none does. */
export async function readProgress(folder: string, nowMs: number): Promise<RunningSync | null> {
  const text = await readSmall(layoutOf(folder).progress).catch(() => null);
  if (text === null) return null;
  const running = content.safeParse(parse(text));
  if (!running.success) return null;
  // What was written long after now was written before the clock was set back.
  const isSilent = Math.abs(nowMs - Date.parse(running.data.updatedAt)) > SILENT_MS_MAX;
  return isSilent ? null : running.data;
}

// It is read every second while somebody watches: nothing that stands in its place is waited for, or taken into memory.
async function readSmall(path: string): Promise<string | null> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const found = await file.stat();
    return found.isFile() && found.size <= FILE_BYTES_MAX ? await file.readFile('utf8') : null;
  } finally {
    await file.close();
  }
}

async function replace(path: string, text: string): Promise<void> {
  const aside = `${path}.new`;
  try {
    await writeFile(aside, text);
    await rename(aside, path);
  } catch {
    await rm(aside, { force: true }).catch(() => undefined);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
