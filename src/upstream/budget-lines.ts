import { closeSync, constants, fstatSync, openSync, readdirSync, readSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { SightlineError } from '../base/errors.ts';

const READ_BYTES = 64 * 1024;
/** Times that the folder is listed for one file; more means that it is not what it should be. */
const TRIES_MAX = 1_000;

/** Text files with a common name and a number, of which one is open; they are added to and read, never rewritten. */
export interface NumberedFiles {
  /** Path of the open file. */
  path(): string;
  /** Opens the one with the lowest number there is, or makes the first. */
  first(): void;
  /** Opens the next there is, or makes one behind the open one. */
  next(): void;
  isLast(): boolean;
  /** Whether the open file is no longer in the folder. */
  isRemoved(): boolean;
  /** Gives the lines not read yet, and leaves the file for good when it is told true; returns whether it was. */
  read(take: (line: string) => boolean): boolean;
  bytesRead(): number;
  /** Adds a line in one write; throws `disk_full` when there was room for a part of it only. */
  write(line: string): void;
  close(): void;
}

/** The files `<name>-<number>.log` of a folder; none is open until `first` is called. */
export function numberedFiles(folder: string, name: string): NumberedFiles {
  const pattern = new RegExp(`^${name}-(\\d{1,12})\\.log$`);
  const pathOf = (of: number): string => join(folder, `${name}-${of}.log`);
  const following = (): number | undefined =>
    readdirSync(folder)
      .flatMap((entry) => pattern.exec(entry)?.[1] ?? [])
      .map(Number)
      .sort((a, b) => a - b)
      .find((other) => other > number);
  const buffer = Buffer.alloc(READ_BYTES);
  let number = 0;
  let file = -1;
  let offset = 0;

  // One is made only where none follows, so that none comes back that was removed.
  const next = (): void => {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const found = following();
      const opened = openFile(pathOf(found ?? number + 1), found === undefined);
      if (opened === null) continue;
      if (file >= 0) closeSync(file);
      [file, number, offset] = [opened, found ?? number + 1, 0];
      return;
    }
    throw new SightlineError('internal', 'its files come and go');
  };

  return {
    path: () => pathOf(Math.max(1, number)),
    first: () => {
      number = 0;
      next();
    },
    next,
    isLast: () => following() === undefined,
    isRemoved: () => fstatSync(file).nlink === 0,
    read: (take) => {
      for (;;) {
        const bytes = readSync(file, buffer, 0, READ_BYTES, offset);
        // A line without its end is none yet; one as long as the buffer never will be.
        const end = buffer.subarray(0, bytes).lastIndexOf(0x0a) + 1 || (bytes === READ_BYTES ? bytes : 0);
        if (end === 0) return false;
        offset += end;
        for (const line of buffer.toString('latin1', 0, end).split('\n')) if (take(line)) return true;
      }
    },
    bytesRead: () => offset,
    write: (line) => {
      // The line break before it ends what a full disk may have left of another.
      const text = `\n${line}\n`;
      if (writeSync(file, text) < text.length) throw new SightlineError('disk_full', 'no room for a whole line');
    },
    close: () => {
      if (file >= 0) closeSync(file);
      file = -1;
    },
  };
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

/** Removes a file if that can be done: another may have been quicker, and some systems keep what is open. */
export function removeIfPossible(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {}
}
