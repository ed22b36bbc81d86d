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

/** A sandbox in its own process. */
export interface Upstream {
  readonly process: ChildProcess;
  readonly baseUrl: string;
  readonly key: string;
  /** Variables with which a command reads it. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Size of a sandbox. */
export interface UpstreamSize {
  readonly days: number;
  /** Responses of each brand on each day. */
  readonly responsesPerDay: number;
  /** Default: 1. */
  readonly brands?: number;
  /** Other keys that open it, each with a rate limit of its own. */
  readonly keys?: readonly string[];
}

/** Starts a sandbox. */
export async function startUpstream(size: UpstreamSize): Promise<Upstream> {
  const child = startScript('upstream.js', [JSON.stringify(size)]);
  const { baseUrl, key } = JSON.parse(await firstLine(child)) as { baseUrl: string; key: string };
  return { process: child, baseUrl, key, environment: { SIGHTLINE_BASE_URL: baseUrl, SIGHTLINE_API_KEY: key } };
}

/** Starts `serve` without a rate limit. */
export async function startServer(
  folder: string,
  args: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
): Promise<{ readonly process: ChildProcess; readonly origin: string }> {
  const options = ['serve', '--port', '0', '--rate-limit', 'off', '--json'];
  const child = startCli(folder, [...options, ...args], environment);
  const { baseUrl } = JSON.parse(await firstLine(child)) as { baseUrl: string };
  return { process: child, origin: new URL(baseUrl).origin };
}

/** Returns the first line that a process prints. */
export async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('the process has no output');
  for await (const line of createInterface({ input: child.stdout })) return line;
  throw new Error(`the process ended without output (exit ${child.exitCode})`);
}
