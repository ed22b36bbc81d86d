import { AsyncLocalStorage } from 'node:async_hooks';
import type { Writable } from 'node:stream';

/** Where a command's words go. */
export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** Where a command runs: its own process, or one that it is carried out for. */
export interface Terminal {
  /** Takes what the next program reads. */
  readonly stdout: Output;
  /** Takes what a person reads. */
  readonly stderr: Output;
  /** Whether it runs in a process that does other things beside it. */
  readonly isCarried: boolean;
  /** The umask of the user, for files outside the data folder; null if the process still has it. */
  readonly umask: number | null;
  /** Whether errors are reported with their causes and stacks. */
  readonly isVerbose: boolean;
  /** The folder in which it was given. */
  readonly folder: string;
  /** Its settings, by variable; null for those of this process. */
  readonly environment: Readonly<Record<string, string | undefined>> | null;
  /** Of the clocks by which times of the day are given. */
  readonly timeZone: string;
}

const given = new AsyncLocalStorage<Terminal>();

/** Where the command under way runs; this process itself, unless it is carried out for another. */
export function terminal(): Terminal {
  return given.getStore() ?? own;
}

/** Runs `work` with another terminal, or with parts of one. */
export function withTerminal<T>(changes: Partial<Terminal>, work: () => Promise<T>): Promise<T> {
  return given.run({ ...terminal(), ...changes }, work);
}

const own: Terminal = {
  isCarried: false,
  isVerbose: false,
  umask: null,
  get stdout() {
    return process.stdout;
  },
  get stderr() {
    return process.stderr;
  },
  get folder() {
    return process.cwd();
  },
  environment: null,
  get timeZone() {
    return Intl.DateTimeFormat().resolvedOptions().timeZone;
  },
};
