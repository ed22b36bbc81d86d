import { readdirSync, rmSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { findDamagedFiles } from '../../src/operations/backup/restore-snapshot.ts';
import { isSnapshotId, readManifest } from '../../src/publish/snapshot/manifest.ts';
import { readBackupFile, readWhole } from '../../src/warehouse/file/copy-check.ts';
import { builtInCatalogue as catalogue } from '../../src/workspace/catalogues.ts';
import { expectEqualToUpstream, fingerprint } from '../support/compare.ts';
import { countOf } from '../support/counts.ts';
import { spreadOver } from '../support/warehouse-file.ts';
import { type CliWorkspace, openCli, type Running, until } from './helpers.ts';

/** Kills over all kinds of commands in turn, and the most commands that are started for them, as some end before they are killed. */
const COMMAND_KILLS = countOf(2, 30);
const COMMANDS_MAX = 4 * COMMAND_KILLS;
/** Milliseconds for which a command lives after it has begun to write. */
const LIFE_MS = { least: 0, most: 120 };

interface Kind {
  readonly name: string;
  /** Starts the command, which is killed. */
  readonly start: (cli: CliWorkspace, round: number) => Running;
}

// Kills of a sync: test/sync/replay.test.ts. Kills of an export and of the publication of a replica: test/publish/snapshot/publish.test.ts.
const kinds: readonly Kind[] = [
  { name: 'backup', start: ({ start }, round) => start('backup', `backup-${round}.duckdb`) },
  { name: 'restore', start: ({ start }) => start('restore', 'whole.duckdb', '--force', '--yes') },
];

test(`kill -9 of ${kinds.map(({ name }) => name).join(', ')}, ${COMMAND_KILLS} times: no rows are lost or duplicated, and no file is incomplete`, async () => {
  const cli = await openCli({ world: 'tiny' });
  const { done } = cli;
  await done('backup', 'whole.duckdb');
  const before = await cli.inside(fingerprint);
  let killed = 0;
  for (let round = 0; killed < COMMAND_KILLS && round < COMMANDS_MAX; round++) {
    const kind = kinds[round % kinds.length] as Kind;
    const untouched = sizesIn(cli);
    const { process: child, finished } = kind.start(cli, round);
    await until('it writes', () => child.exitCode !== null || sizesIn(cli) !== untouched);
    await delay(spreadOver(round, LIFE_MS));
    child.kill('SIGKILL');
    killed += (await finished).signal === null ? 0 : 1;
    await expectWholeFiles(cli);
    expect(await cli.inside(fingerprint), `${kind.name} was killed, round ${round}`).toEqual(before);
  }
  expect(killed).toBeGreaterThan(0);
  await done('restore', 'whole.duckdb', '--force', '--yes');
  await expectWholeFiles(cli);
  await cli.inside(expectEqualToUpstream);
});

// The files in the user's folder and in the workspace's with their sizes, without its locks.
function sizesIn({ folder, data }: CliWorkspace): string {
  const namesIn = (parent: string) => readdirSync(parent).filter((name) => !/owner|waiting/.test(name));
  return [folder, data]
    .flatMap((parent) => namesIn(parent).map((name) => join(parent, name)))
    .map((path) => `${path} ${statSync(path, { throwIfNoEntry: false })?.size}`)
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
