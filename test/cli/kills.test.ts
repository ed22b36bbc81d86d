import { readdirSync, rmSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { findDamagedFiles } from '../../src/operations/backup/restore-snapshot.ts';
import { builtInCatalogue as catalogue } from '../../src/session/catalogues.ts';
import { isSnapshotId, readManifest } from '../../src/snapshot/manifest.ts';
import { readBackupFile, readWhole } from '../../src/warehouse/file/copy-check.ts';
import { expectConsistent, expectEqualToUpstream, fingerprint } from '../support/compare.ts';
import { countOf } from '../support/counts.ts';
import { spreadOver, withWarehouseFile } from '../support/warehouse-file.ts';
import type { TestWorkspace } from '../support/workspace.ts';
import { type CliWorkspace, openCli, type Running, until } from './helpers.ts';

/** Kills over all kinds of commands in turn, and the most commands that are started for them, as some end before they are killed. */
const COMMAND_KILLS = countOf(4, 30);
const COMMANDS_MAX = 4 * COMMAND_KILLS;
/** Milliseconds for which a command lives after it has begun to write. */
const LIFE_MS = { least: 0, most: 120 };

interface Kind {
  readonly name: string;
  /** Starts the command, which is killed. */
  readonly start: (cli: CliWorkspace, round: number) => Running;
  /** Whether the command may change rows. */
  readonly writes: boolean;
}

const kinds: readonly Kind[] = [
  { name: 'backup', writes: false, start: ({ start }, round) => start('backup', `backup-${round}.duckdb`) },
  {
    name: 'restore',
    writes: false,
    start: ({ start }) => start('restore', 'whole.duckdb', '--force', '--yes'),
  },
  { name: 'sync', writes: true, start: ({ start }) => start('sync') },
  { name: 'export', writes: false, start: ({ start }) => start('export') },
];

test(`kill -9 of ${kinds.map(({ name }) => name).join(', ')}, ${COMMAND_KILLS} times: no rows are lost or duplicated, and no file is incomplete`, async () => {
  const cli = await openCli({ world: 'tiny' });
  const { done, sandbox } = cli;
  // Rounds restore the current state.
  const keepState = () => done('backup', 'whole.duckdb', '--force');
  await keepState();
  let before = await inside(cli, fingerprint);
  let killed = 0;
  for (let round = 0; killed < COMMAND_KILLS && round < COMMANDS_MAX; round++) {
    const kind = kinds[round % kinds.length] as Kind;
    if (kind.writes) sandbox.advance({ days: 0, lateAnswers: 20, editedResponses: 10, deletedResponses: 5 });
    const untouched = sizesIn(cli);
    const { process: child, finished } = kind.start(cli, round);
    await until('it writes', () => child.exitCode !== null || sizesIn(cli) !== untouched);
    await delay(spreadOver(round, LIFE_MS));
    child.kill('SIGKILL');
    killed += (await finished).signal === null ? 0 : 1;
    await expectWholeFiles(cli);
    if (!kind.writes) expect(await inside(cli, fingerprint), `${kind.name} was killed, round ${round}`).toEqual(before);
    else {
      await inside(cli, expectConsistent);
      await done('sync');
      await keepState();
      before = await inside(cli, fingerprint);
    }
  }
  expect(killed).toBeGreaterThan(0);
  await done('restore', 'whole.duckdb', '--force', '--yes');
  await done('sync');
  await expectWholeFiles(cli);
  await inside(cli, expectEqualToUpstream);
});

// The files of the workspace with their sizes, without its locks.
function sizesIn({ folder }: CliWorkspace): string {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => !/owner|waiting/.test(name))
    .map((name) => `${name} ${statSync(join(folder, name), { throwIfNoEntry: false })?.size}`)
    .join('\n');
}

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

function inside<T>({ sandbox, data }: CliWorkspace, look: (workspace: TestWorkspace) => Promise<T>): Promise<T> {
  return withWarehouseFile(join(data, 'warehouse.duckdb'), sandbox, look);
}
