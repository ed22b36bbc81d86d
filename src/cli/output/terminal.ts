import { AsyncLocalStorage } from 'node:async_hooks';
import type { Readable, Writable } from 'node:stream';
import { type Clock, systemClock } from '../../base/clock.ts';

/** An output stream of a command. */
export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** An input stream of a command. */
export type Input = Readable & { readonly isTTY?: boolean };

/** Surroundings of a command. Tests replace those of the process. */
export interface Terminal {
  readonly clock: Clock;
  readonly stdin: Input;
  /** Output for programs. */
  readonly stdout: Output;
  /** Messages for people. */
  readonly stderr: Output;
  /** Whether this process does nothing but run the command, or the server that hosts it. */
  readonly ownsProcess: boolean;
  /** Whether the command runs inside another process, such as `serve` or a job. */
  readonly isHosted: boolean;
  /** The umask of the user, for files outside the data folder; null if the process still has it. */
  readonly umask: number | null;
  /** Whether errors are reported with their causes and stacks. */
  readonly isVerbose: boolean;
  /** The user's current directory. */
  readonly folder: string;
  /** Environment variables that override those of `.env`. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Time zone of the times of day on the command line. */
  readonly timeZone: string;
}

const given = new AsyncLocalStorage<Terminal>();

/** The surroundings of the running command. */
export function terminal(): Terminal {
  return given.getStore() ?? own;
}

/** Runs `work` with changed surroundings. */
export function withTerminal<T>(changes: Partial<Terminal>, work: () => Promise<T>): Promise<T> {
  // A copy would read the time zone, which takes longer than the rest of `sightline --help`.
  return given.run(Object.create(terminal(), Object.getOwnPropertyDescriptors(changes)) as Terminal, work);
}

const own: Terminal = {
  clock: systemClock,
  ownsProcess: false,
  isHosted: false,
  isVerbose: false,
  umask: null,
  get stdin() {
    return process.stdin;
  },
  get stdout() {
    return process.stdout;
  },
  get stderr() {
    return process.stderr;
  },
  get folder() {
    return process.cwd();
  },
  get variables() {
    return process.env;
  },
  get timeZone() {
    return Intl.DateTimeFormat().resolvedOptions().timeZone;
  },
};
