import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readdirSync, readSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { SightlineError, toSightlineError } from '../base/errors.ts';
import { ensureWritableFolder } from '../base/files.ts';
import { readEarlierBudget } from './budget-earlier.ts';
import { ageOf, type BudgetLog, type BudgetRecord, formatRecord, type Moment, parseRecord } from './budget-record.ts';

/** A file that has grown to this is sealed, and the log goes on in the next. */
const FILE_BYTES_MAX = 256 * 1024;
/** How long a sealed file is kept: longer than anything in it holds, which is a gate and the caution after it. */
const SEALED_KEEP_MS = 30 * 60_000;
const READ_BYTES = 64 * 1024;
/** Files that may be passed within one call; more means that the folder is not what it should be. */
const MOVES_MAX = 10_000;
/** A log that was not added to for so long is removed when one is opened. */
const FORGOTTEN_MS = 7 * 24 * 60 * 60_000;
/** Characters of the hash that stands for a key and its upstream. */
const HASH_CHARACTERS = 16;
const ANY_LOG = /^[0-9a-f]{16}-\d{1,12}\.log$/;

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
 * Opens the log that all processes of this machine share which use the same key and base URL and the same folder.
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
  const name = createHash('sha256')
    .update(`${options.key}\n${options.baseUrl}`)
    .digest('hex')
    .slice(0, HASH_CHARACTERS);
  const log = openLog(join(folder, name), folder, name, options.fileBytesMax ?? FILE_BYTES_MAX, moment);
  if (earlier !== undefined) {
    for (const record of readEarlierBudget(earlier, moment())) log.append(record);
    rmSync(earlier, { force: true });
  }
  return log;
}

interface Sealed {
  readonly path: string;
  readonly seal: BudgetRecord;
}

function openLog(prefix: string, folder: string, name: string, bytesMax: number, moment: () => Moment): BudgetFile {
  const pathOf = (number: number): string => `${prefix}-${number}.log`;
  const pattern = new RegExp(`^${name}-(\\d{1,12})\\.log$`);
  const numbers = (): number[] =>
    readdirSync(folder)
      .flatMap((entry) => pattern.exec(entry)?.[1] ?? [])
      .map(Number)
      .sort((a, b) => a - b);

  let number = 0;
  let file = -1;
  let offset = 0;
  let isClosed = false;
  let limit: BudgetRecord | null = null;
  const unread: BudgetRecord[] = [];
  let sealed: Sealed[] = [];
  const buffer = Buffer.alloc(READ_BYTES);

  // The next file that exists. One is made only behind the last, so that none comes back that was removed.
  const moveOn = (): void => {
    for (let tries = 0; tries < MOVES_MAX; tries++) {
      const next = numbers().find((other) => other > number);
      const opened = openFile(pathOf(next ?? number + 1), next === undefined);
      if (opened === null) continue;
      if (file >= 0) closeSync(file);
      file = opened;
      number = next ?? number + 1;
      offset = 0;
      return;
    }
    throw new SightlineError('internal', 'its files come and go');
  };
  const discard = (): void => {
    const now = moment();
    const isOver = ({ seal }: Sealed): boolean => ageOf(seal, now) > SEALED_KEEP_MS;
    for (const { path } of sealed.filter(isOver)) remove(path);
    sealed = sealed.filter((candidate) => !isOver(candidate));
  };

  // Reads to the end of the log; tells whether `own` was among the lines that count.
  const readOn = (own: string | null): boolean => {
    let isMet = false;
    for (let moves = 0; moves < MOVES_MAX; moves++) {
      const seal = readFile((line, record) => {
        if (line === own) isMet = true;
        if (record.kind === 'limit') limit = record;
        unread.push(record);
      });
      if (seal === null) return isMet;
      sealed.push({ path: pathOf(number), seal });
      moveOn();
    }
    throw new SightlineError('internal', 'it has no end');
  };

  const readFile = (take: (line: string, record: BudgetRecord) => void): BudgetRecord | null => {
    for (;;) {
      const bytes = readSync(file, buffer, 0, READ_BYTES, offset);
      // A line without its end is none yet; one as long as the buffer never will be.
      const end = buffer.subarray(0, bytes).lastIndexOf(0x0a) + 1 || (bytes === READ_BYTES ? bytes : 0);
      if (end === 0) return null;
      offset += end;
      for (const line of buffer.toString('latin1', 0, end).split('\n')) {
        const record = parseRecord(line);
        if (record?.kind === 'seal') return record;
        if (record !== null) take(line, record);
      }
    }
  };

  // The line break before a record ends what a full disk may have left of another.
  const write = (line: string): void => {
    const text = `\n${line}\n`;
    if (writeSync(file, text) < text.length)
      throw new SightlineError('disk_full', 'there was no room for a whole line');
  };
  const sealIfLong = (): void => {
    if (offset < bytesMax) return;
    write(formatRecord({ kind: 'seal', id: '-', value: 0, ...moment() }));
    readOn(null);
    // Who comes after the sealed files are gone is told the limit, by the moment at which it was learned.
    if (limit !== null) write(formatRecord(limit));
    discard();
  };
  // From the first file to the last; every one before the last is sealed, unless somebody has put it there.
  const begin = (): void => {
    number = 0;
    do {
      moveOn();
      readOn(null);
    } while (numbers().some((other) => other > number));
    discard();
  };
  // Files that somebody has removed: all begin anew in the same one.
  const recover = (): void => {
    if (fstatSync(file).nlink > 0) return;
    readOn(null);
    if (fstatSync(file).nlink === 0) begin();
  };
  const append = (line: string): void => {
    recover();
    for (let moves = 0; moves < MOVES_MAX; moves++) {
      write(line);
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
      const text = `cannot keep the budget's log ${pathOf(Math.max(1, number))}: ${message}`;
      throw new SightlineError(code, text, { cause: thrown });
    }
  };

  named(begin);
  return {
    append: (record) => {
      if (isClosed) throw new SightlineError('internal', "the budget's log is closed");
      named(() => append(formatRecord(record)));
    },
    read: () => {
      if (!isClosed) named(() => readOn(null));
      return unread.splice(0);
    },
    close: () => {
      if (!isClosed) closeSync(file);
      isClosed = true;
    },
  };
}

// Of keys and upstreams that nobody has used for long; who still has one open begins anew.
function removeForgotten(folder: string, now: number): void {
  for (const entry of readdirSync(folder)) {
    if (!ANY_LOG.test(entry)) continue;
    const path = join(folder, entry);
    const changedAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? now;
    if (now - changedAt > FORGOTTEN_MS) remove(path);
  }
}

// Null where the file is gone that was there a moment ago.
function openFile(path: string, isNew: boolean): number | null {
  try {
    return openSync(path, constants.O_RDWR | constants.O_APPEND | (isNew ? constants.O_CREAT : 0), 0o600);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT' && !isNew) return null;
    throw thrown;
  }
}

// Another may have been quicker, and some systems keep what is open; there is time.
function remove(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {}
}
