import { existsSync, readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { findDamagedFiles } from '../../src/operations/backup/restore-snapshot.ts';
import { builtInCatalogue as catalogue } from '../../src/session/catalogues.ts';
import { isSnapshotId, readManifest } from '../../src/snapshot/manifest.ts';
import { readBackupFile, readWhole } from '../../src/warehouse/file/copy-check.ts';
import { openWarehouse } from '../../src/warehouse/warehouse.ts';
import { expectConsistent, expectEqualToUpstream, fingerprint } from '../support/compare.ts';
import type { TestWorkspace } from '../support/workspace.ts';
import { type CliWorkspace, openCli, type Running, until } from './helpers.ts';

/** Number of kills, over all kinds of commands in turn; `KILLS=150` for the long proof. */
const KILLS = Number(process.env['KILLS'] ?? 6);
/** Maximum number of started commands. Some end before they are killed. */
const ROUNDS_MAX = 3 * KILLS;
const LEAST_MS = 60;

interface Kind {
  readonly name: string;
  /** Starts the command. The first returned process is killed; the others end by themselves. */
  readonly start: (cli: CliWorkspace, round: number) => Promise<readonly [Running, ...Running[]]>;
  /** Whether the command may change rows. */
  readonly writes: boolean;
}

const kinds: readonly Kind[] = [
  { name: 'export', writes: false, start: async ({ start }) => [start('export')] },
  { name: 'backup', writes: false, start: async ({ start }, round) => [start('backup', `backup-${round}.duckdb`)] },
  {
    name: 'restore',
    writes: false,
    start: async ({ start }) => [start('restore', 'whole.duckdb', '--force', '--yes')],
  },
  {
    name: 'state import',
    writes: false,
    start: async ({ start }) => [start('state', 'import', 'state.json', '--yes')],
  },
  { name: 'sync', writes: true, start: async ({ start }) => [start('sync')] },
  { name: 'serve', writes: true, start: startServing },
];

// Starts a server that runs a sync for a client.
async function startServing({ start, data }: CliWorkspace): Promise<[Running, Running]> {
  const served = start('serve', '--port', '0', '--no-jobs');
  await until('the workspace is served', () => existsSync(join(data, 'serving.json')));
  return [served, start('sync')];
}

test(`kill -9 of ${kinds.map(({ name }) => name).join(', ')}, ${KILLS} times: no rows are lost or duplicated, and no file is incomplete`, {
  timeout: 180_000 + KILLS * 40_000,
}, async () => {
  const now = Date.now();
  const cli = await openCli({ brands: 1, prompts: 2, days: 4, latencyMs: 5, clock: () => now });
  const { run, sandbox } = cli;
  const expectDone = async (...args: string[]): Promise<void> => {
    const { code, stderr } = await run(...args);
    expect(code, stderr).toBe(0);
  };
  for (const args of [['sync'], ['export'], ['backup', 'whole.duckdb'], ['state', 'export', 'state.json']]) {
    await expectDone(...args);
  }
  const killed: Record<string, number> = {};
  const lives = new Map<string, number>();
  for (let round = 1, left = KILLS; left > 0 && round <= ROUNDS_MAX; round++) {
    const kind = kinds[(round - 1) % kinds.length] as Kind;
    if (kind.writes) sandbox.advance({ days: 0, lateAnswers: 20, editedResponses: 10, deletedResponses: 5 });
    const before = await fingerprintOf(cli);
    const startedAt = performance.now();
    const [{ process: child, finished }, ...others] = await kind.start(cli, round);
    await Promise.race([finished, delay(LEAST_MS + shareOf(round) * (lives.get(kind.name) ?? 2_500))]);
    child.kill('SIGKILL');
    const { signal } = await finished;
    await Promise.all(others.map((other) => other.finished));
    // A command that ends by itself shows how long the command takes.
    if (signal === null) lives.set(kind.name, performance.now() - startedAt);
    left -= signal === null ? 0 : 1;
    killed[kind.name] = (killed[kind.name] ?? 0) + (signal === null ? 0 : 1);
    await expectWholeFiles(cli);
    const after = await fingerprintOf(cli);
    if (!kind.writes) expect(after, `rows after ${kind.name} was killed, round ${round}`).toEqual(before);
    else {
      await expectDone('sync');
      await inside(cli, (workspace) => expectEqualToUpstream(workspace));
      // Later rounds restore the current state.
      await expectDone('backup', 'whole.duckdb', '--force');
      await expectDone('state', 'export', 'state.json', '--force');
    }
  }
  for (const args of [
    ['backup', 'backup-2.duckdb', '--force'],
    ['restore', 'whole.duckdb', '--force', '--yes'],
    ['export'],
    ['sync'],
  ]) {
    await expectDone(...args);
  }
  await expectWholeFiles(cli);
  await inside(cli, (workspace) => expectEqualToUpstream(workspace));
  if (process.env['KILLS'] !== undefined) process.stdout.write(`${JSON.stringify(killed)}\n`);
});

// Checks that every file with a final name is complete: backups, the replica and all snapshots. Removes files that each round
// creates under a new name.
async function expectWholeFiles({ folder, data }: CliWorkspace): Promise<void> {
  const backups = readdirSync(folder).filter((name) => name.endsWith('.duckdb'));
  const kept = readdirSync(data).filter((name) => /^warehouse\.\d{8}T\d{6}Z\.duckdb$/.test(name));
  const paths = [...backups.map((name) => join(folder, name)), ...kept.map((name) => join(data, name))];
  for (const path of [...paths, join(data, 'analytics.duckdb')]) {
    await readBackupFile(path, catalogue);
    await readWhole(path);
    if (/\d/.test(basename(path))) rmSync(path);
  }
  const snapshots = join(data, 'snapshots');
  for (const name of [...readdirSync(snapshots).filter(isSnapshotId), 'latest']) {
    const manifest = await readManifest(join(snapshots, name));
    expect(manifest, `the manifest of ${name}`).not.toBeNull();
    if (manifest !== null) expect(await findDamagedFiles(join(snapshots, name), manifest)).toEqual([]);
  }
}

async function fingerprintOf(cli: CliWorkspace): Promise<unknown> {
  let print: unknown;
  await inside(cli, async (workspace) => {
    await expectConsistent(workspace);
    print = await fingerprint(workspace);
  });
  return print;
}

// Checks the warehouse after the command.
async function inside(
  { sandbox, data }: CliWorkspace,
  look: (workspace: TestWorkspace) => Promise<unknown>,
): Promise<void> {
  const { database, close } = await openWarehouse(join(data, 'warehouse.duckdb'), catalogue, {});
  const query: TestWorkspace['query'] = (sql) => database.exclusive((session) => session.all(sql));
  try {
    const opened: Pick<TestWorkspace, 'sandbox' | 'catalogue' | 'query'> = { sandbox, catalogue, query };
    await look(opened as TestWorkspace);
  } finally {
    await close();
  }
}

// Spreads the values evenly for any count: multiples of the golden ratio.
function shareOf(round: number): number {
  return (round * 0.618_033_988_749_894_9) % 1;
}
