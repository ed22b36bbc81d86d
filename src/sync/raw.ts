import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rm, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { syncToDisk } from '../base/files.ts';
import { addDays } from '../contract/time.ts';
import type { RawPlace } from '../warehouse/raw-pages.ts';
import { toMember } from './raw-format.ts';

/** How long and how much is kept; zero of either keeps nothing new. */
export interface RawLimits {
  readonly days: number;
  readonly megabytes: number;
}

/** A file of raw pages. */
export interface RawFile {
  /** Relative to the folder: `YYYY-MM-DD/00000001.gz`; the number grows from file to file, whatever clocks say. */
  readonly name: string;
  readonly day: string;
  readonly number: number;
}

/** Appends records to files, in the order in which it is called. */
export interface RawLog {
  /** Resolves once the record is on disk; throws what writing throws. */
  append(day: string, comment: string, header: object, body: Uint8Array | null): Promise<RawPlace>;
  close(): Promise<void>;
}

const MEGABYTE = 1_000_000;
/** A file is not continued beyond this, nor beyond an eighth of what may be kept: what is too old goes by whole files. */
const FILE_BYTES_MAX = 32 * MEGABYTE;
const FILES_KEPT_MIN = 8;

/** The files in a folder of raw pages, in the order in which they were written. */
export async function listRawFiles(folder: string): Promise<RawFile[]> {
  const files: RawFile[] = [];
  for (const day of existsSync(folder) ? await readdir(folder) : []) {
    if (!/^\d{4}-\d{2}-\d{2}$/.test(day)) continue;
    for (const file of await readdir(join(folder, day))) {
      const number = /^(\d{8,15})\.gz$/.exec(file)?.[1];
      if (number !== undefined) files.push({ name: `${day}/${file}`, day, number: Number(number) });
    }
  }
  return files.sort((a, b) => a.number - b.number);
}

/**
 * Opens the log; nothing is written before the first record. A record counts as written when it has reached the disk:
 * records that come meanwhile share one flush, so that many chains side by side wait no longer than one.
 */
export async function openRawLog(folder: string, limits: RawLimits): Promise<RawLog> {
  const fileBytesMax = Math.min(FILE_BYTES_MAX, (limits.megabytes * MEGABYTE) / FILES_KEPT_MIN);
  let number = (await listRawFiles(folder)).at(-1)?.number ?? 0;
  let current: { handle: FileHandle; name: string; day: string; bytes: number } | null = null;
  let turn: Promise<unknown> = Promise.resolve();
  let flushing: Promise<void> | null = null;
  let waiting: Promise<void> | null = null;

  let ended: Promise<void> = Promise.resolve();

  const end = async ({ handle }: NonNullable<typeof current>): Promise<void> => {
    try {
      await handle.datasync();
    } finally {
      await handle.close();
    }
  };
  const begin = async (day: string): Promise<NonNullable<typeof current>> => {
    const last = current;
    current = null;
    if (last !== null) {
      ended = end(last);
      await ended;
    }
    number += 1;
    const name = `${day}/${String(number).padStart(8, '0')}.gz`;
    await mkdir(join(folder, day), { recursive: true });
    const handle = await open(join(folder, name), 'ax');
    current = { handle, name, day, bytes: 0 };
    await syncToDisk(join(folder, day));
    return current;
  };
  const write = async (day: string, member: Buffer) => {
    const isFull = current === null || current.bytes >= fileBytesMax || day > current.day;
    const file = isFull || current === null ? await begin(day) : current;
    const position = file.bytes;
    try {
      await file.handle.appendFile(member);
    } catch (thrown) {
      // Half a record may stand there: what follows goes into the next file, and readers expect such an end.
      await file.handle.close().catch(() => undefined);
      current = null;
      throw thrown;
    }
    file.bytes += member.length;
    return { file, position };
  };
  const flush = async (): Promise<void> => {
    if (flushing !== null) {
      waiting ??= flushing
        .catch(() => undefined)
        .then(() => {
          waiting = null;
          return flush();
        });
      return waiting;
    }
    const flushed = Promise.all([ended, current?.handle.datasync()]).then(() => undefined);
    flushing = flushed.finally(() => {
      flushing = null;
    });
    return flushing;
  };

  return {
    append: async (day, comment, header, body) => {
      const packed = toMember(comment, header, body);
      const written = turn.then(async () => write(day, await packed));
      turn = written.catch(() => undefined);
      const { file, position } = await written;
      await flush();
      const sha256 = createHash('sha256')
        .update(body ?? '')
        .digest('hex');
      return { file: file.name, position, bytes: (await packed).length, sha256 };
    },
    close: async () => {
      await turn;
      const last = current;
      current = null;
      if (last !== null) await end(last);
    },
  };
}

/** What retention left. */
export interface Retained {
  /** Names of the files that stay. */
  readonly kept: readonly string[];
  /** Days whose files have expired and stay, because only one day is removed at a time. */
  readonly expiredDays: number;
}

/**
 * Removes the files of the oldest expired day, and the oldest of those that take too much room. `today` is by this
 * machine's clock. If that clock has jumped ahead, every day has expired, so only one day goes at a time unless
 * `removesAll`.
 */
export async function retainRawFiles(
  folder: string,
  limits: RawLimits,
  { today, removesAll = false }: { readonly today: string; readonly removesAll?: boolean },
): Promise<Retained> {
  const files = await listRawFiles(folder);
  if (limits.days === 0 || limits.megabytes === 0) return { kept: files.map(({ name }) => name), expiredDays: 0 };
  const oldest = addDays(today, 1 - limits.days);
  let room = limits.megabytes * MEGABYTE;
  let latest = today;
  const kept: { name: string; day: string }[] = [];
  const expired: { name: string; day: string }[] = [];
  const remove = async (name: string): Promise<void> => {
    await rm(join(folder, name));
    await rmdir(join(folder, name, '..')).catch(() => undefined);
  };
  // The newest first: a file that does not fit is older than all that do.
  for (const { name, day } of files.reverse()) {
    // A day to come was filed by a wrong clock; the file is not newer than the one written after it.
    if (day <= today) latest = day;
    room -= (await stat(join(folder, name))).size;
    if (room < 0) await remove(name);
    else (latest < oldest ? expired : kept).push({ name, day: latest });
  }
  const first = expired.at(-1)?.day;
  const leaving = expired.filter(({ day }) => removesAll || day === first);
  for (const { name } of leaving) await remove(name);
  const staying = expired.filter((file) => !leaving.includes(file));
  return {
    kept: [...kept, ...staying].map(({ name }) => name),
    expiredDays: new Set(staying.map(({ day }) => day)).size,
  };
}
