import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { SightlineError, toSightlineError } from '../base/errors.ts';
import { ensureWritableFolder } from '../base/files.ts';
import { readEarlierBudget } from './budget-earlier.ts';
import { COUNTED_MS_MAX } from './budget-ledger.ts';
import { numberedFiles, removeIfPossible } from './budget-lines.ts';
import { ageOf, type BudgetLog, type BudgetRecord, formatRecord, type Moment, parseRecord } from './budget-record.ts';

/** A file that has grown to this is sealed, and the log goes on in the next. */
const FILE_BYTES_MAX = 256 * 1024;
/** How long a sealed file is kept: longer than anything in it holds, which is a gate and the caution after it. */
const SEALED_KEEP_MS = 30 * 60_000;
/** Files that may be passed within one call; more means that the folder is not what it should be. */
const MOVES_MAX = 10_000;
/** A log that was not added to for so long is removed when one is opened. */
const FORGOTTEN_MS = 7 * 24 * 60 * 60_000;
/** Characters of the hash that stands for a key. */
const HASH_CHARACTERS = 16;
/** Names of the files of all logs in a folder. */
export const ANY_LOG = /^[0-9a-f]{16}-\d{1,12}\.log$/;

/** Which log, and where. */
export interface BudgetFileOptions {
  /** Folder of all logs of the installation; made if need be. */
  readonly folder: string;
  readonly key: string;
  readonly baseUrl: string;
  readonly clock: Clock;
  /** File of the format before this one; what it still holds is taken over and the file removed. */
  readonly earlier?: string;
  /** Size at which a file is sealed; default 256 KiB. */
  readonly fileBytesMax?: number;
}

/** A log in files, which is closed when it is no longer needed. */
export interface BudgetFile extends BudgetLog {
  close(): void;
}

/**
 * Opens the log that all processes of this machine share which use the same key and the same folder, whatever the base URL.
 * Throws `folder_unwritable` or `disk_full`, saying which file.
 *
 * The log is a line a record, added with O_APPEND in one write, which the system does one after the other: so there is
 * one order, the same for all, and who has added a record and reads on to it knows all that came before. It is kept in
 * numbered files, so that it can be shortened without a lock. A file that has grown long is sealed by a record; what
 * stands behind the first seal of a file never counts, for anybody, and whoever finds his record there adds it to the
 * next file. No file is ever rewritten, and only sealed ones are removed, long after anything in them holds.
 */
export async function openBudgetFile(options: BudgetFileOptions): Promise<BudgetFile> {
  const { folder, clock, earlier } = options;
  await ensureWritableFolder(folder);
  const moment = (): Moment => ({ monotonicMs: Math.floor(clock.monotonic()), wallMs: Math.floor(clock.now()) });
  removeForgotten(folder, clock.now());
  const log = openLog(folder, logName(options.key), options.fileBytesMax ?? FILE_BYTES_MAX, moment);
  for (const record of readLogByUrl(folder, logName(`${options.key}\n${options.baseUrl}`), moment()))
    log.append(record);
  if (earlier !== undefined) {
    for (const record of readEarlierBudget(earlier, moment())) log.append(record);
    rmSync(earlier, { force: true });
  }
  return log;
}

/** The beginning of the names of a key's log files: a hash, from which the key cannot be read. */
export function logName(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, HASH_CHARACTERS);
}

// What still counts of the log of an earlier version, which kept one for each key and base URL. The files stay for processes
// of that version, until they are forgotten. Records that are added twice have the same effect as once.
function readLogByUrl(folder: string, name: string, now: Moment): BudgetRecord[] {
  return readdirSync(folder)
    .filter((entry) => entry.startsWith(`${name}-`) && ANY_LOG.test(entry))
    .sort((a, b) => a.length - b.length || (a < b ? -1 : 1))
    .flatMap((entry) => readFileSync(join(folder, entry), 'latin1').split('\n'))
    .flatMap((line) => parseRecord(line) ?? [])
    .filter(({ kind }) => kind !== 'seal')
    .filter((record) => ageOf(record, now) < Math.max(COUNTED_MS_MAX, record.kind === 'gate' ? record.value : 0));
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

  // Reads to the end of the log; tells whether `own` was among the lines that count.
  const readOn = (own: string | null = null): boolean => {
    let isMet = false;
    for (let moves = 0; moves < MOVES_MAX; moves++) {
      const isSealed = files.read((line) => {
        const record = parseRecord(line);
        if (record === null) return false;
        if (record.kind === 'seal') sealed.push({ path: files.path(), seal: record });
        else unread.push(record);
        if (record.kind === 'limit') limit = record;
        if (line === own) isMet = true;
        return record.kind === 'seal';
      });
      if (!isSealed) return isMet;
      files.next();
    }
    throw new SightlineError('internal', 'it has no end');
  };
  const discard = (): void => {
    const now = moment();
    const isOver = ({ seal }: Sealed): boolean => ageOf(seal, now) > SEALED_KEEP_MS;
    for (const { path } of sealed.filter(isOver)) removeIfPossible(path);
    sealed = sealed.filter((candidate) => !isOver(candidate));
  };
  const sealIfLong = (): void => {
    if (files.bytesRead() < bytesMax) return;
    files.write(formatRecord({ kind: 'seal', id: '-', value: 0, ...moment() }));
    readOn();
    // Who comes after the sealed files are gone is told the limit, by the moment at which it was learned.
    if (limit !== null) files.write(formatRecord(limit));
    discard();
  };
  // From the first file to the last; every one before the last is sealed, unless somebody has put it there.
  const begin = (): void => {
    files.first();
    readOn();
    while (!files.isLast()) {
      files.next();
      readOn();
    }
    discard();
  };
  const append = (line: string): void => {
    // Where somebody has removed the files, all begin anew in the same one.
    if (files.isRemoved()) readOn();
    if (files.isRemoved()) begin();
    for (let moves = 0; moves < MOVES_MAX; moves++) {
      files.write(line);
      if (!readOn(line)) continue;
      sealIfLong();
      return;
    }
    throw new SightlineError('internal', 'it takes no record');
  };
  const named = <T>(work: () => T): T => {
    try {
      return work();
    } catch (thrown) {
      const { code, message } = toSightlineError(thrown);
      const text = `cannot keep the budget's log ${files.path()}: ${message}`;
      throw new SightlineError(code, text, { cause: thrown });
    }
  };
  const close = (): void => {
    isClosed = true;
    files.close();
  };

  try {
    named(begin);
  } catch (thrown) {
    close();
    throw thrown;
  }
  return {
    append: (record) => {
      if (isClosed) throw new SightlineError('internal', "the budget's log is closed");
      named(() => append(formatRecord(record)));
    },
    read: () => {
      if (!isClosed) named(() => readOn());
      return unread.splice(0);
    },
    close,
  };
}

// Of keys and upstreams that nobody has used for long; who still has one open begins anew.
function removeForgotten(folder: string, now: number): void {
  for (const entry of readdirSync(folder)) {
    if (!ANY_LOG.test(entry)) continue;
    const path = join(folder, entry);
    const changedAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? now;
    if (now - changedAt > FORGOTTEN_MS) removeIfPossible(path);
  }
}
