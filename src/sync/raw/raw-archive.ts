import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { SightlineError, toSightlineError } from '../../base/errors.ts';
import { dayOf } from '../../contract/time.ts';
import type { Database } from '../../warehouse/database.ts';
import { forgetRawPages, type RawLocation, readCommitted } from '../../warehouse/ledger/raw-pages.ts';
import type { Trouble } from '../sync-stats.ts';
import { walkMembers } from './raw-format.ts';
import { listRawFiles, openRawLog, type RawLimits, type RawLog, retainRawFiles } from './raw-log.ts';
import { describeRecord, type RawRecord } from './raw-record.ts';

/** The raw pages of a sync, on disk. */
export interface RawArchive {
  /** Resolves when the record is on disk; returns its position, or null if archiving is off. */
  append(record: RawRecord, body?: Uint8Array): Promise<RawLocation | null>;
  /** Records that an archived page was not committed. */
  voidPage(place: RawLocation, date: number): Promise<void>;
  /** Returns the warnings for the user since the last call. */
  takeWarnings(): Trouble[];
  /** Closes the files and removes expired ones. */
  close(): Promise<void>;
}

/** Options of `openRawArchive`. */
export interface RawArchiveOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly folder: string;
  /** If either limit is 0, nothing is archived and no file is removed. */
  readonly limits: RawLimits;
  /** Removes all expired files, not only those of the oldest day. */
  readonly removesExpired?: boolean;
}

/** Number of latest files that may contain uncommitted pages of a killed run. */
const FILES_LOOKED_AT = 2;

/**
 * Opens the archive and finds the pages that a killed run archived but did not commit; they are recorded as void before
 * the first new record. A full disk ends the sync. After any other write error the archive adds a warning and is off.
 * @throws `disk_full`
 */
export async function openRawArchive(options: RawArchiveOptions): Promise<RawArchive> {
  const { database, clock, folder, limits, removesExpired = false } = options;
  const isEnabled = limits.days > 0 && limits.megabytes > 0;
  const warnings: Trouble[] = [];
  let log: RawLog | null = null;
  let uncommitted: RawRecord[] = [];
  const turnOff = (thrown: unknown): null => {
    const { code, message } = toSightlineError(thrown);
    if (code === 'disk_full') throw new SightlineError(code, message, { cause: thrown });
    warnings.push({ slice: 'raw pages', code, message: `raw pages are not archived: ${message}` });
    log = null;
    return null;
  };
  if (isEnabled) {
    try {
      // A new file may get the name of one that is missing, whose rows must be gone by then.
      const files = await listRawFiles(folder);
      await forgetRawPages(
        database,
        files.map(({ name }) => name),
      );
      uncommitted = await findUncommitted(folder, database);
      log = await openRawLog(folder, limits);
    } catch (thrown) {
      turnOff(thrown);
    }
  }
  const write = async (record: RawRecord, body: Uint8Array | null): Promise<RawLocation | null> => {
    if (log === null) return null;
    try {
      // Use this machine's clock: a wrong Date header must not decide when a file expires.
      return await log.append(dayOf(clock.now()), describeRecord(record), record, body);
    } catch (thrown) {
      return turnOff(thrown);
    }
  };
  return {
    append: async (record, body) => {
      for (const earlier of uncommitted.splice(0)) await write({ ...earlier, date: record.date }, null);
      return write(record, body ?? null);
    },
    voidPage: async ({ file, position }, date) => {
      await write({ kind: 'void', file, position, date }, null).catch(() => undefined);
    },
    takeWarnings: () => warnings.splice(0),
    close: async () => {
      if (!isEnabled) return;
      try {
        await log?.close();
        log = null;
        const today = dayOf(clock.now());
        const { kept, expiredDays } = await retainRawFiles(folder, limits, { today, removesAll: removesExpired });
        await forgetRawPages(database, kept);
        if (expiredDays > 0) warnings.push(expiredLeft(expiredDays, today));
      } catch (thrown) {
        turnOff(thrown);
      }
    },
  };
}

function expiredLeft(days: number, today: string): Trouble {
  const message =
    `raw pages of ${days} more ${days === 1 ? 'day' : 'days'} have expired by this machine's clock (${today}); one day is removed per run ` +
    'in case the clock is wrong. If the clock is right, run `sightline sync --accept-expiry` to remove all of them';
  return { slice: 'raw pages', code: 'expired', message };
}

// Finds pages that a killed run archived but did not commit. A warehouse without any committed page of a file did not
// write that file, so its pages are skipped.
async function findUncommitted(folder: string, database: Database): Promise<RawRecord[]> {
  const found: RawRecord[] = [];
  const files = (await listRawFiles(folder)).slice(-FILES_LOOKED_AT);
  const pages: { run: string; file: string; position: number }[] = [];
  const ended = new Set<string>();
  for (const { name } of files) {
    const handle = await open(join(folder, name));
    try {
      for await (const member of walkMembers(handle)) {
        if (!('comment' in member)) continue;
        const run = / run (\S+)$/.exec(member.comment)?.[1] ?? '';
        if (member.comment.startsWith('page ')) pages.push({ run, file: name, position: member.position });
        if (member.comment.startsWith('end ')) ended.add(run);
      }
    } finally {
      await handle.close();
    }
  }
  for (const { name } of files) {
    const committed = await readCommitted(database, name);
    for (const { run, file, position } of committed.size === 0 ? [] : pages) {
      if (file !== name || ended.has(run) || committed.has(position)) continue;
      found.push({ kind: 'void', file, position, date: 0 });
    }
  }
  return found;
}
