import { constants } from 'node:fs';
import { open, rename, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { z } from 'zod';
import type { Clock } from '../base/clock.ts';
import { isAlive } from '../base/process-alive.ts';
import type { ValueOf } from '../contract/operation/json-parts.ts';
import { layoutOf } from '../publish/snapshot/layout.ts';
import { type Progress, progress } from './progress.ts';

const WRITE_EVERY_MS = 1_000;
/** A process that has not updated the file for this long has ended or its machine was suspended. */
const SILENT_MS_MAX = 15_000;
/** Many times the size for a sync of every resource. */
const FILE_BYTES_MAX = 100_000;

const content = z.object({
  command: z.string(),
  pid: z.int(),
  host: z.string(),
  startedAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  ...progress.shape,
});

/** Progress of a workspace's running sync and its process. */
export const runningSync = content.omit({ host: true });

/** Progress of a workspace's running sync and its process. Times are ISO 8601, UTC. */
export type RunningSync = ValueOf<typeof runningSync>;

/** Publishes a sync's progress to other processes until it is closed. */
export interface ProgressFile {
  close(): Promise<void>;
}

/**
 * Writes the progress of a sync into the workspace's folder every second. Ignores write errors, because a sync must not
 * fail for its progress display.
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
    const text = JSON.stringify({ command, pid: process.pid, host: hostname(), startedAt, updatedAt, ...read() });
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

/** Reads the progress of the sync that runs in a workspace, in any process; null if none runs. */
export async function readProgress(folder: string, nowMs: number): Promise<RunningSync | null> {
  const text = await readSmall(layoutOf(folder).progress).catch(() => null);
  if (text === null) return null;
  const running = content.safeParse(parse(text));
  if (!running.success) return null;
  // A timestamp far in the future was written before the clock was set back.
  const isSilent = Math.abs(nowMs - Date.parse(running.data.updatedAt)) > SILENT_MS_MAX;
  const { pid, host, ...rest } = running.data;
  if (isSilent || (host === hostname() && !isAlive(pid))) return null;
  return { ...rest, pid };
}

// Polled every second, so do not block on or load anything but a small regular file.
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
