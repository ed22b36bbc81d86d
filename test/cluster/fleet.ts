import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { startSandboxWorkspace, type WorkspaceOptions, type WorkspaceSandbox } from '../../schemas/fixtures/start.ts';
import { expectEqualToUpstream } from '../support/compare.ts';
import { NO_PROBES } from '../support/no-probes.ts';
import { ROOT } from '../support/root.ts';
import { oneThread } from '../support/short-lived.ts';
import { withWarehouseFile } from '../support/warehouse-file.ts';

const MAIN = fileURLToPath(new URL('dist/src/cli/main.js', ROOT));
/** The environment variable with the database's address. */
const VARIABLE = 'CLUSTER_DATABASE_URL';

/** Workspaces with a sandbox each, a folder with the settings of all, and processes that work on them. */
export type Fleet = Awaited<ReturnType<typeof startFleet>>;

/** Options of `startFleet`. */
export interface FleetOptions {
  readonly workspaces: number;
  /** Returns the options of a sandbox by its number. */
  sandboxOf(index: number): WorkspaceOptions;
  /** Database of the queue and the budgets; if omitted, one process does everything. */
  readonly databaseUrl?: string;
  /** Other settings in the file. */
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly environment?: Readonly<Record<string, string>>;
}

/** Starts the sandboxes and writes the settings. */
export async function startFleet(options: FleetOptions) {
  const { workspaces: number, sandboxOf, databaseUrl, settings } = options;
  const sandboxes = new Map<string, WorkspaceSandbox>();
  const environment: Record<string, string> = { ...NO_PROBES, ...options.environment };
  const workspaces: Record<string, { baseUrl: string; apiKeyVariable: string }> = {};
  for (let index = 0; index < number; index++) {
    const name = `w${String(index + 1).padStart(2, '0')}`;
    const sandbox = await startSandboxWorkspace({ key: `gsk_cluster_${name}_00000000`, ...sandboxOf(index) });
    sandboxes.set(name, sandbox);
    environment[`KEY_${name.toUpperCase()}`] = sandbox.key;
    workspaces[name] = { baseUrl: sandbox.baseUrl, apiKeyVariable: `KEY_${name.toUpperCase()}` };
  }
  const folder = await mkdtemp(join(tmpdir(), 'sightline-cluster-'));
  const shared =
    databaseUrl === undefined
      ? {}
      : {
          runner: {
            kind: 'postgres',
            urlVariable: VARIABLE,
            ...(settings?.['home'] === undefined && { sharedFolder: true }),
          },
          budget: { kind: 'postgres', urlVariable: VARIABLE },
        };
  if (databaseUrl !== undefined) environment[VARIABLE] = databaseUrl;
  const written = JSON.stringify({ ...shared, ...settings, workspaces });
  await writeFile(join(folder, 'sightline.config.json'), written);
  const running = new Set<ChildProcess>();
  /** Starts a process in the folder of another machine. */
  const startIn = (cwd: string, ...args: readonly string[]) => {
    const env = { PATH: process.env['PATH'], HOME: folder, ...oneThread(), ...environment };
    const child = spawn(process.execPath, [MAIN, ...args], {
      cwd,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      // Ctrl-C reaches only the parent process, which passes it on.
      detached: true,
    }) as ChildProcess & { stdout: Readable; stderr: Readable };
    running.add(child);
    const started = { process: child, lines: linesOf(child.stderr), stdout: linesOf(child.stdout) };
    const ended = new Promise<number | NodeJS.Signals | null>((resolve) =>
      child.once('close', (code, signal) => resolve(code ?? signal)),
    );
    void ended.then(() => running.delete(child));
    return { ...started, ended };
  };
  const start = (...args: readonly string[]) => startIn(folder, ...args);
  return {
    folder,
    environment,
    sandboxes,
    start,
    startIn,
    /** Makes a folder with the same settings, as on another machine, and returns its path. */
    machine: async (name: string): Promise<string> => {
      const cwd = join(folder, name);
      await mkdir(cwd, { recursive: true });
      await writeFile(join(cwd, 'sightline.config.json'), written);
      return cwd;
    },
    /** Runs a command to its end and returns its output; throws if it fails. */
    run: async (...args: readonly string[]): Promise<string> => {
      const { ended, stdout, lines } = start(...args);
      const code = await ended;
      if (code !== 0) throw new Error(`sightline ${args.join(' ')} ended with ${code}: ${lines.join('\n')}`);
      return stdout.join('\n');
    },
    /**
     * Compares a workspace's warehouse with the responses of its sandbox and returns the number of rows. `only` are the synced resources,
     * `machine` is the folder of another machine.
     */
    compare: async (workspace: string, only?: readonly string[], machine = folder): Promise<number> => {
      const file = join(machine, 'data', workspace, 'warehouse.duckdb');
      const compared = await withWarehouseFile(file, sandboxes.get(workspace) as WorkspaceSandbox, (opened) =>
        expectEqualToUpstream(opened, only === undefined ? {} : { only }),
      );
      return Object.values(compared).reduce((sum, rows) => sum + rows, 0);
    },
    close: async (): Promise<void> => {
      const gone = [...running].map((child) => new Promise((resolve) => child.once('close', resolve)));
      for (const child of running) child.kill('SIGKILL');
      await Promise.all(gone);
      await Promise.all([...sandboxes.values()].map((sandbox) => sandbox.close()));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function linesOf(stream: Readable): string[] {
  const lines: string[] = [];
  let rest = '';
  stream.on('data', (chunk: Buffer) => {
    const parts = `${rest}${chunk.toString()}`.split('\n');
    rest = parts.pop() ?? '';
    lines.push(...parts);
  });
  return lines;
}
