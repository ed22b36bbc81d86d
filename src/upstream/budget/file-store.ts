import { createHash } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { SightlineError, toSightlineError } from '../../base/errors.ts';
import { ensureWritableFolder } from '../../base/files.ts';
import { numberedFiles, removeIfPossible } from './numbered-files.ts';
import { ageOf, type BudgetLog, type BudgetRecord, formatRecord, type Moment, parseRecord } from './send-record.ts';

/** A file of this size is sealed, and the log continues in the next file. */
const FILE_BYTES_MAX = 256 * 1024;
/** Sealed files are deleted after this time, which exceeds the effect of all records, such as a 429 pause and its caution. */
const SEALED_KEEP_MS = 30 * 60_000;
/** Maximum files read in one call; more means that the folder is damaged. */
const MOVES_MAX = 10_000;
/** Logs without new records for this time are deleted when any log is opened. */
const FORGOTTEN_MS = 7 * 24 * 60 * 60_000;
/** Length of a key's hash in file names. */
const HASH_CHARACTERS = 16;
/** Matches the file names of all budget logs. */
export const ANY_LOG = /^[0-9a-f]{16}-\d{1,12}\.log$/;

/** Identifies a log and its folder. */
export interface BudgetFileOptions {
  /** Folder of all logs of the installation; created if missing. */
  readonly folder: string;
  readonly key: string;
  readonly clock: Clock;
  /** Size at which a file is sealed; default: 256 KiB. */
  readonly fileBytesMax?: number;
}

/** A log in files. Close it after use. */
export interface BudgetFile extends BudgetLog {
  close(): void;
}

/**
 * Opens the log that all processes of this machine share if they use the same key and folder.
 *
 * Each record is one line, added by a single write with O_APPEND. The operating system serializes these writes, so all
 * processes see the same order, and a process that reads up to its own record has read all earlier ones. The log consists of
 * numbered files, so that it can be shortened without a lock. A long file is sealed by a record. Lines after the first seal of
 * a file do not count; a process that finds its record there adds it to the next file. Files are never rewritten. Only sealed
 * files are deleted, long after their records have expired.
 * @throws `folder_unwritable` or `disk_full`, with the path
 */
export async function openBudgetFile(options: BudgetFileOptions): Promise<BudgetFile> {
  const { folder, clock } = options;
  await ensureWritableFolder(folder);
  const moment = (): Moment => ({ monotonicMs: Math.floor(clock.monotonic()), wallMs: Math.floor(clock.now()) });
  removeForgotten(folder, clock.now());
  return openLog(folder, logName(options.key), options.fileBytesMax ?? FILE_BYTES_MAX, moment);
}

/** Returns the prefix of a key's log files: a hash that does not reveal the key. */
export function logName(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, HASH_CHARACTERS);
}

interface Sealed {
  readonly path: string;
  readonly seal: BudgetRecord;
}

function openLog(folder: string, name: string, bytesMax: number, moment: () => Moment): BudgetFile {
  const files = numberedFiles(folder, name);
  const unread: BudgetRecord[] = [];
  let sealed: Sealed[] = [];
  let limit: BudgetRecord | null = null;
  let isClosed = false;

  // Reads to the end of the log. Returns true if the line `own` is among the lines that count.
  const readOn = (own: string | null = null): boolean => {
    let isOwnFound = false;
    for (let moves = 0; moves < MOVES_MAX; moves++) {
      const isSealed = files.read((line) => {
        const record = parseRecord(line);
        if (record === null) return false;
        if (record.kind === 'seal') sealed.push({ path: files.path(), seal: record });
        else unread.push(record);
        if (record.kind === 'limit') limit = record;
        if (line === own) isOwnFound = true;
        return record.kind === 'seal';
      });
      if (!isSealed) return isOwnFound;
      files.next();
    }
    throw new SightlineError('internal', `it has more than ${MOVES_MAX} files`);
  };
  const sealIfLong = (): void => {
    if (files.bytesRead() < bytesMax) return;
    files.write(formatRecord({ kind: 'seal', id: '-', value: 0, ...moment() }));
    readOn();
    // Repeat the limit with its original time, for processes that start after the sealed files are deleted.
    if (limit !== null) files.write(formatRecord(limit));
    sealed = removeExpired(sealed, moment());
  };
  // Reads from the first file to the last. All files before the last are sealed, unless a user copied one there.
  const begin = (): void => {
    files.first();
    readOn();
    while (!files.isLast()) {
      files.next();
      readOn();
    }
    sealed = removeExpired(sealed, moment());
  };
  const append = (line: string): void => {
    // If the files were deleted, all processes start again in the same new file.
    if (files.isRemoved()) readOn();
    if (files.isRemoved()) begin();
    for (let moves = 0; moves < MOVES_MAX; moves++) {
      files.write(line);
      if (!readOn(line)) continue;
      sealIfLong();
      return;
    }
    throw new SightlineError('internal', `the record could not be added in ${MOVES_MAX} attempts`);
  };
  const close = (): void => {
    isClosed = true;
    files.close();
  };

  try {
    named(files, begin);
  } catch (thrown) {
    close();
    throw thrown;
  }
  return {
    append: (record) => {
      if (isClosed) throw new SightlineError('internal', 'the budget log is closed');
      named(files, () => append(formatRecord(record)));
    },
    read: () => {
      if (!isClosed) named(files, () => readOn());
      return unread.splice(0);
    },
    close,
  };
}

// Deletes the expired files and returns the others.
function removeExpired(sealed: readonly Sealed[], now: Moment): Sealed[] {
  const isExpired = ({ seal }: Sealed): boolean => ageOf(seal, now) > SEALED_KEEP_MS;
  for (const { path } of sealed.filter(isExpired)) removeIfPossible(path);
  return sealed.filter((candidate) => !isExpired(candidate));
}

// Adds the path of the current file to the errors of the work.
function named<T>(files: { path(): string }, work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    const { code, message } = toSightlineError(thrown);
    const text = `cannot read or write the budget log ${files.path()}: ${message}`;
    throw new SightlineError(code, text, { cause: thrown });
  }
}

// Deletes logs of unused keys. A process that still has one open starts a new file.
function removeForgotten(folder: string, now: number): void {
  for (const entry of readdirSync(folder)) {
    if (!ANY_LOG.test(entry)) continue;
    const path = join(folder, entry);
    const changedAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? now;
    if (now - changedAt > FORGOTTEN_MS) removeIfPossible(path);
  }
}
