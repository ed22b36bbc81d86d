import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const cli = join(import.meta.dirname, '../../src/cli/main.js');

/** Starts the built command line on a data folder and discards its log. */
export function startCli(
  folder: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): ChildProcess {
  return spawn(process.execPath, [cli, ...args], {
    env: { ...process.env, SIGHTLINE_DATA_DIR: folder, ...environment },
    cwd: folder,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}

/** Starts another script of this folder. */
export function startScript(name: string, args: readonly string[]): ChildProcess {
  const script = join(import.meta.dirname, name);
  return spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
}

/** Returns the first line that a process prints. */
export async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('the process has no output');
  for await (const line of createInterface({ input: child.stdout })) return line;
  throw new Error(`the process ended without output (exit ${child.exitCode})`);
}
