import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rm, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { syncToDisk } from '../../base/files.ts';
import { addDays } from '../../contract/time.ts';
import type { RawLocation } from '../../warehouse/ledger/raw-pages.ts';
import { toMember } from './raw-format.ts';

/** Limits of the raw pages; if either is 0, no pages are archived. */
export interface RawLimits {
  readonly days: number;
  readonly megabytes: number;
}

/** A file of raw pages. */
export interface RawFile {
  /**
   * Path relative to the folder, such as `2026-11-01/00000001.gz`. The number increases from file to file, independent
   * of clocks.
   */
  readonly name: string;
  readonly day: string;
  readonly number: number;
}

/** Appends records to files in call order. */
export interface RawLog {
  /** Resolves when the record is on disk. Rejects with the error of the write. */
  append(day: string, comment: string, header: object, body: Uint8Array | null): Promise<RawLocation>;
  close(): Promise<void>;
}

const MEGABYTE = 1_000_000;
/** Largest file size; also limited to an eighth of the total, because retention removes complete files. */
const FILE_BYTES_MAX = 32 * MEGABYTE;
const FILES_KEPT_MIN = 8;

/** Lists the files in a folder of raw pages, in the order in which they were written. */
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
 * Opens the log; the first file is created with the first record. A record counts as written when it is on disk.
 * Records that arrive during a flush share the next one, so parallel slices do not wait for each other.
 */
export async function openRawLog(folder: string, limits: RawLimits): Promise<RawLog> {
  const fileBytesMax = Math.min(FILE_BYTES_MAX, (limits.megabytes * MEGABYTE) / FILES_KEPT_MIN);
  let number = (await listRawFiles(folder)).at(-1)?.number ?? 0;
  let current: { handle: FileHandle; name: string; day: string; bytes: number } | null = null;
  let turn: Promise<unknown> = Promise.resolve();
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
      // The file may end in a partial record, which readers accept, so continue in the next file.
      await file.handle.close().catch(() => undefined);
      current = null;
      throw thrown;
    }
    file.bytes += member.length;
    return { file, position };
  };
  const flush = sharing(async () => void (await Promise.all([ended, current?.handle.datasync()])));

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

// Calls during a run of `work` share the next run.
function sharing(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null;
  let waiting: Promise<void> | null = null;
  const run = async (): Promise<void> => {
    if (running !== null) {
      waiting ??= running
        .catch(() => undefined)
        .then(() => {
          waiting = null;
          return run();
        });
      return waiting;
    }
    running = work().finally(() => {
      running = null;
    });
    return running;
  };
  return run;
}

/** Result of the retention. */
export interface Retained {
  /** Names of the remaining files. */
  readonly kept: readonly string[];
  /** Days with expired files that remain, because only one day is removed at a time. */
  readonly expiredDays: number;
}

/**
 * Removes the files of the oldest expired day, and the oldest files beyond the size limit. `today` is the day of this
 * machine's clock. If that clock has jumped ahead, every day has expired, so only one day is removed per call unless
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
  // Newest first: files beyond the size limit are older than those within it.
  for (const { name, day } of files.reverse()) {
    // A future day comes from a wrong clock; the file is no newer than the one written after it.
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
