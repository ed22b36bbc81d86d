import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { shiftedLikeTests } from '../support/shifted.ts';
import { HURRIED_NODE } from '../support/short-lived.ts';

const CHILD = fileURLToPath(new URL('warm-child.mjs', import.meta.url));
/** Resident memory above which a process runs no further command, in MB: it would count as memory of that command. */
const RESIDENT_MB_MAX = 220;
/** Processes that wait for a command. Others end. */
const IDLE_MAX = 2;

/** How a command ended. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Peak resident memory during the command, in MB; 0 if the process has ended, or without /proc. */
  readonly peakMb: number;
}

/** A process that runs one command at a time and keeps its modules loaded in between. */
interface Warm {
  readonly child: ChildProcess;
  run(command: Command): Promise<Ended & { readonly isReusable: boolean }>;
}

interface Command {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Runs commands of `main` in processes that are reused, which saves loading and compiling the modules for each. */
export interface WarmPool {
  /** Starts a command. `child` runs nothing else until it has ended. */
  start(command: Command): { readonly process: ChildProcess; readonly finished: Promise<Ended> };
}

/** Creates a pool of processes. They end with the process that runs the test file. */
export function warmPool(main: string): WarmPool {
  const idle: Warm[] = [];
  const finish = async (warm: Warm, command: Command): Promise<Ended> => {
    const { isReusable, ...ended } = await warm.run(command);
    if (isReusable && idle.length < IDLE_MAX) idle.push(warm);
    else warm.child.kill('SIGKILL');
    return ended;
  };
  return {
    start: (command) => {
      const warm = idle.pop() ?? startWarm(main);
      return { process: warm.child, finished: finish(warm, command) };
    },
  };
}

function startWarm(main: string): Warm {
  const mark = `\n${randomUUID()}\n`;
  const { args: shift, env: shiftEnv } = shiftedLikeTests();
  const child = spawn(process.execPath, [...HURRIED_NODE, ...shift, CHILD, main, mark], {
    env: shiftEnv,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const streams = [child.stdout, child.stderr].map((stream) => {
    const state = { text: Buffer.alloc(0), onEnd: () => undefined as unknown };
    stream?.on('data', (chunk: Buffer) => {
      state.text = Buffer.concat([state.text, chunk]);
      if (state.text.subarray(-mark.length).toString() === mark) state.onEnd();
    });
    return state;
  });
  const run: Warm['run'] = ({ args, cwd, env }) => {
    resetPeak(child);
    for (const state of streams) state.text = Buffer.alloc(0);
    const outputs = (length: number): string[] =>
      streams.map(({ text }) => text.subarray(0, text.length - length).toString());
    return new Promise((resolve, reject) => {
      const onClose = (code: number | null, signal: NodeJS.Signals | null): void => {
        const [stdout = '', stderr = ''] = outputs(0);
        resolve({ code, signal, stdout, stderr, peakMb: 0, isReusable: false });
      };
      const reported = new Promise<{ exitCode: number; isClean: boolean }>((done) =>
        child.once('message', done as never),
      );
      const written = streams.map(
        (state) =>
          new Promise((done) => {
            state.onEnd = () => done(undefined);
          }),
      );
      child.once('error', reject);
      child.once('close', onClose);
      child.send({ args, cwd, env });
      void Promise.all([reported, ...written]).then(([{ exitCode, isClean }]) => {
        child.off('close', onClose).off('error', reject);
        const [stdout = '', stderr = ''] = outputs(mark.length);
        const { peakMb, residentMb } = memoryOf(child);
        resolve({
          code: exitCode,
          signal: null,
          stdout,
          stderr,
          peakMb,
          isReusable: isClean && residentMb < RESIDENT_MB_MAX,
        });
      });
    });
  };
  return { child, run };
}

// Linux resets the peak when 5 is written to clear_refs.
function resetPeak({ pid }: ChildProcess): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
  } catch {
    // The system has no /proc.
  }
}

function memoryOf({ pid }: ChildProcess): { peakMb: number; residentMb: number } {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const mb = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1] ?? 0) / 1024;
    return { peakMb: mb('VmHWM'), residentMb: mb('VmRSS') };
  } catch {
    return { peakMb: 0, residentMb: 0 };
  }
}
