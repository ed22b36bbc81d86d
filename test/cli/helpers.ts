import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import type { WorkspaceOptions } from '../../schemas/fixtures/start.ts';
import { loadConfig } from '../../src/base/config/config.ts';
import { type ErrorCode, errorTable } from '../../src/base/errors.ts';
import type { JsonName, JsonValue } from '../../src/cli/json/json-outputs.ts';
import { formatRows } from '../../src/cli/output/row-format.ts';
import { layoutOf } from '../../src/publish/snapshot/layout.ts';
import { openReader } from '../../src/warehouse/reader.ts';
import { openNewestReplicaWith } from '../../src/workspace/newest-replica.ts';
import { NOW_MS } from '../support/clocks.ts';
import { createEmptyWarehouse } from '../support/empty-warehouse.ts';
import { expectJson } from '../support/json-outputs.ts';
import { NO_PROBES } from '../support/no-probes.ts';
import { type Finished, MAIN, runCommand, type Surroundings } from '../support/run-command.ts';
import { shiftedLikeTests } from '../support/shifted.ts';
import { oneThread } from '../support/short-lived.ts';
import { startStillSandbox } from '../support/still-sandbox.ts';
import { withWarehouseFile } from '../support/warehouse-file.ts';
import { timed } from '../support/work-times.ts';
import type { TestWorkspace } from '../support/workspace.ts';
import { copyWorld, startWorldSandbox, type World, worldClock } from '../support/worlds.ts';

/** A running command. */
export interface Running {
  readonly process: ChildProcess;
  readonly finished: Promise<Finished>;
}

/** Starts the built command line in a separate process. */
export function startCli(
  args: readonly string[],
  {
    cwd,
    env = {},
    stdin = 'ignore',
    nowMs,
  }: Pick<Surroundings, 'cwd' | 'env'> & { readonly stdin?: 'ignore' | 'pipe'; readonly nowMs?: number | undefined },
): Running {
  const shifted = shiftedLikeTests(nowMs);
  const child = spawn(process.execPath, [...shifted.args, MAIN, ...args], {
    cwd,
    env: { PATH: process.env['PATH'], HOME: cwd, ...oneThread(), ...shifted.env, ...env },
    stdio: [stdin, 'pipe', 'pipe'],
  }) as ChildProcess & { stdout: Readable; stderr: Readable };
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
  const finished = timed(
    'process of a command',
    () =>
      new Promise<Finished>((resolve, reject) => {
        child.once('error', reject);
        child.once('close', (code, signal) => {
          resolve({ code, signal, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString() });
        });
      }),
  );
  return { process: child, finished };
}

/** Returns the line that a server prints with `--json` when it is ready; rejects if it ends before. */
export async function startedLine({ process: child, finished }: Running): Promise<JsonValue<'serve'>> {
  const lines = createInterface({ input: child.stdout as Readable });
  const line = await new Promise<string>((resolve, reject) => {
    lines.once('line', resolve);
    void finished.then(({ stderr }) => reject(new Error(stderr)));
  });
  return expectJson('serve', line);
}

/** Runs a command until it ends, in this process unless its environment has variables of Node or the system. */
export function runCli(args: readonly string[], surroundings: Surroundings): Promise<Finished> {
  const isOwn = Object.keys(surroundings.env ?? {}).every((name) => name.startsWith('SIGHTLINE_'));
  return isOwn ? runCommand(args, surroundings) : startCli(args, surroundings).finished;
}

/** Polls of `until`, which only catch hangs: a busy machine takes minutes for what an idle one does in seconds. */
const POLLS_MAX = 20_000;

/** Resolves as soon as `holds` returns true. Fails with `what` if it does not in time. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let polls = 0; polls < POLLS_MAX; polls++) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`waited in vain until ${what}`);
}

/** Creates a folder that outlives a test. The caller removes it. */
export function makeFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'sightline-cli-'));
}

/** A sandbox, a working folder and commands on both. */
export type CliWorkspace = Omit<Awaited<ReturnType<typeof openCliFor>>, 'close'>;

/** Options of a workspace. */
export type CliOptions = WorkspaceOptions & {
  /** Opens a copy of this world, which is synced, instead of an empty warehouse. Its commands run at the time of the world. */
  readonly world?: World;
  /** Whether the first command creates the warehouse. */
  readonly isNew?: true;
};

/** Opens a small workspace with a high rate limit. */
export async function openCli(options: CliOptions = {}): Promise<CliWorkspace> {
  const workspace = await openCliFor(options);
  onTestFinished(workspace.close);
  return workspace;
}

/** Opens a workspace for all tests of a file or block, in which it is called, and closes it after them. */
export function shareCli(options: CliOptions = {}): CliWorkspace {
  const shared = {} as CliWorkspace & { close: () => Promise<void> };
  beforeAll(async () => {
    Object.assign(shared, await openCliFor(options));
  });
  afterAll(() => shared.close());
  return shared;
}

/** Like `openCli`, but for several tests. The caller closes it. */
export async function openCliFor({ world, isNew, ...options }: CliOptions = {}) {
  const folder = await makeFolder();
  const sandbox =
    world === undefined
      ? await startStillSandbox({ brands: 1, prompts: 3, days: 4, ...options })
      : await startWorldSandbox(world, options);
  const env: Readonly<Record<string, string>> = {
    ...NO_PROBES,
    SIGHTLINE_BASE_URL: sandbox.baseUrl,
    SIGHTLINE_API_KEY: sandbox.key,
  };
  const data = join(folder, 'data', 'default');
  if (world !== undefined) await copyWorld(world, folder);
  else if (isNew === undefined) {
    await mkdir(data, { recursive: true, mode: 0o700 });
    await createEmptyWarehouse(join(data, 'warehouse.duckdb'), { hasMarts: true });
  }
  const started: Running[] = [];
  const start = (...args: string[]): Running => {
    const running = startCli(args, { cwd: folder, env, nowMs: world === undefined ? undefined : NOW_MS });
    started.push(running);
    return running;
  };
  const clock = world === undefined ? {} : { clock: worldClock() };
  const run = (...args: string[]): Promise<Finished> => runCli(args, { cwd: folder, env, ...clock });
  /** Runs a command that must succeed. */
  const done = async (...args: string[]): Promise<Finished> => {
    const finished = await run(...args);
    expect(finished.code, finished.stderr).toBe(0);
    return finished;
  };
  /** Runs the command of an output with --json, which must print one line with the declared members. Returns its value. */
  const json = async <T = ReturnType<typeof JSON.parse>>(name: JsonName, ...args: string[]): Promise<T> => {
    const { stdout } = await done(...name.replace(/ (id|table)$/, '').split(' '), ...args, '--json');
    expect(stdout).toMatch(/^.*\n$/);
    return expectJson<T>(name, stdout);
  };
  /** Runs a query on the newest data and returns the rows of its last statement as objects. */
  const rows = (sql: string) => rowsIn(folder, env, sql);
  /** Passes the warehouse itself to a function such as those of `compare.ts`. Commands read the replica, which has complete days only. */
  const inside = <T>(look: (workspace: TestWorkspace) => Promise<T>): Promise<T> =>
    withWarehouseFile(join(data, 'warehouse.duckdb'), sandbox, look);
  const close = async (): Promise<void> => {
    for (const running of started) {
      running.process.kill('SIGKILL');
      await running.finished;
    }
    await sandbox.close();
    await rm(folder, { recursive: true, force: true });
  };
  return { sandbox, folder, env, data, run, done, json, start, rows, inside, close };
}

/** Runs a query as the command `sql` does in a folder, without its process for SQL of users. Returns the rows as objects. */
export async function rowsIn(
  folder: string,
  environment: Readonly<Record<string, string>>,
  sql: string,
): Promise<Record<string, unknown>[]> {
  const config = loadConfig({ flags: {}, environment, folder });
  const { opened } = await openNewestReplicaWith(config, layoutOf(config.folder), openReader);
  try {
    return JSON.parse(formatRows(await opened.query(sql), 'json')) as Record<string, unknown>[];
  } finally {
    opened.close();
  }
}

/** Starts a server that is not the API on a free port. The caller closes it. */
export async function serve(listener: RequestListener): Promise<{ origin: string; close: () => Promise<void> }> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

/** The hint of an error about an unknown brand. */
export const BRAND_HINT = 'A brand that was just created is known after `sightline sync --only brands`.';

/** Checks the properties of every error: one sentence, its hint, the exit code of its code, no stack. */
export function expectRefusal(
  finished: Pick<Finished, 'code' | 'stdout' | 'stderr'>,
  code: ErrorCode,
  json: boolean,
  hint: string = errorTable[code].hint,
): void {
  const { stdout, stderr } = finished;
  const { exit } = errorTable[code];
  expect(finished, stderr).toMatchObject({ code: exit });
  expect(stderr).toMatch(/^sightline: \S.*\n.*\n$/);
  const [sentence = '', told] = stderr.split('\n');
  expect(told).toBe(hint);
  expect(stdout + stderr).not.toMatch(/\n\s+at /);
  if (json)
    expect(JSON.parse(stdout)).toEqual({ error: { code, message: sentence.slice('sightline: '.length), hint } });
  else expect(stdout).toBe('');
}
