import { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Clock } from '../../src/base/clock.ts';
import { runCommandLine } from '../../src/cli/run-command-line.ts';
import { skippingClock } from './clocks.ts';
import { timed } from './work-times.ts';

/** Path of the built command line, which messages name as the program. */
export const MAIN = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));

/** Result and output of a command. */
export interface Finished {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Folder and surroundings of a command. It does not inherit the test's environment. */
export interface Surroundings {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Text of standard input; empty by default. */
  readonly input?: string;
  /** Default: the machine's clock with sleeps that end at once. */
  readonly clock?: Clock;
  /** Columns of the terminal; default: the output goes to a file. */
  readonly columns?: number;
  /** Interrupts the command, as Ctrl-C does. */
  readonly signal?: AbortSignal;
  /** Called with each text that the command writes on standard error. */
  readonly onStderr?: (text: string) => void;
}

/** Commands that run in this process, which has one current directory. */
const running = { count: 0, cwd: '', before: { cwd: '', script: '', umask: 0 } };

/** Runs the command line in this process, from the sources. For tests of the process itself, use `startCli`. */
export async function runCommand(args: readonly string[], surroundings: Surroundings): Promise<Finished> {
  const { cwd, env = {}, input = '', clock = skippingClock(), columns } = surroundings;
  const { signal = new AbortController().signal } = surroundings;
  const [stdout, stderr] = [capture(), capture(surroundings.onStderr)];
  enter(cwd);
  try {
    const code = await timed('command', () =>
      runCommandLine(args, signal, {
        clock,
        stdin: Readable.from(input === '' ? [] : [Buffer.from(input)]),
        stdout: columns === undefined ? stdout.stream : Object.assign(stdout.stream, { columns }),
        stderr: stderr.stream,
        umask: running.before.umask,
        folder: cwd,
        variables: { HOME: cwd, ...env },
      }),
    );
    return { code, signal: null, stdout: stdout.text(), stderr: stderr.text() };
  } finally {
    leave();
  }
}

function enter(cwd: string): void {
  if (running.count > 0 && running.cwd !== cwd)
    throw new Error(`a command runs in ${running.cwd}; commands in other folders at the same time need startCli`);
  if (running.count === 0) {
    // As in main.ts: new files are private.
    running.before = { cwd: process.cwd(), script: process.argv[1] ?? '', umask: process.umask(0o077) };
    running.cwd = cwd;
    process.chdir(cwd);
    process.argv[1] = MAIN;
  }
  running.count += 1;
}

function leave(): void {
  running.count -= 1;
  if (running.count > 0) return;
  process.chdir(running.before.cwd);
  process.argv[1] = running.before.script;
  process.umask(running.before.umask);
}

function capture(onText?: (text: string) => void): { readonly stream: Writable; text(): string } {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      chunks.push(Buffer.from(chunk));
      onText?.(chunk.toString());
      done();
    },
  });
  return { stream, text: () => Buffer.concat(chunks).toString() };
}
