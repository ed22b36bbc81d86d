import { closeSync, constants, fstatSync, openSync, readdirSync, readSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { SightlineError } from '../../base/errors.ts';

const READ_BYTES = 64 * 1024;
/** Maximum attempts to open the next file; more means that another program changes the folder. */
const TRIES_MAX = 1_000;

/** Numbered append-only text files with a common name. One of them is open. */
export interface NumberedFiles {
  /** Path of the open file. */
  path(): string;
  /** Opens the existing file with the lowest number, or creates the first. */
  first(): void;
  /** Opens the next existing file, or creates the one after the open file. */
  next(): void;
  isLast(): boolean;
  /** True if the open file was deleted. */
  isRemoved(): boolean;
  /** Passes unread lines to `take` until it returns true. Returns true if it did; the rest of the file is then ignored. */
  read(take: (line: string) => boolean): boolean;
  bytesRead(): number;
  /**
   * Appends a line in one write.
   * @throws `disk_full` if only a part of the line was written
   */
  write(line: string): void;
  close(): void;
}

/** Gives access to the files `<name>-<number>.log` of a folder. Call `first` before any other method. */
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

  // Create a file only if no file follows, so that deleted files are not created again.
  const next = (): void => {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const found = following();
      const opened = openFile(pathOf(found ?? number + 1), found === undefined);
      if (opened === null) continue;
      if (file >= 0) closeSync(file);
      [file, number, offset] = [opened, found ?? number + 1, 0];
      return;
    }
    throw new SightlineError('internal', `no file could be opened in ${TRIES_MAX} attempts`);
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
        // A line without a line break is not complete yet. A line as long as the buffer is garbage: skip it.
        const end = buffer.subarray(0, bytes).lastIndexOf(0x0a) + 1 || (bytes === READ_BYTES ? bytes : 0);
        if (end === 0) return false;
        offset += end;
        for (const line of buffer.toString('latin1', 0, end).split('\n')) if (take(line)) return true;
      }
    },
    bytesRead: () => offset,
    write: (line) => {
      // The leading line break ends a partial line that a full disk may have left.
      const text = `\n${line}\n`;
      if (writeSync(file, text) < text.length)
        throw new SightlineError('disk_full', 'only a part of the line was written');
    },
    close: () => {
      if (file >= 0) closeSync(file);
      file = -1;
    },
  };
}

// Returns null if an existing file was deleted in the meantime.
function openFile(path: string, isNew: boolean): number | null {
  try {
    return openSync(path, constants.O_RDWR | constants.O_APPEND | (isNew ? constants.O_CREAT : 0), 0o600);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT' && !isNew) return null;
    throw thrown;
  }
}

/** Deletes a file and ignores errors: another process may have deleted it, and some systems do not delete open files. */
export function removeIfPossible(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {}
}
