import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import type { JsonValue } from '../../src/cli/json/json-outputs.ts';
import { temporaryFolder } from '../support/folders.ts';
import { expectJson } from '../support/json-outputs.ts';
import { runCommand } from '../support/run-command.ts';
import { copyWorld, worldClock } from '../support/worlds.ts';

test('load fills a destination with the tables of the replica, and says what it did', async () => {
  const cwd = await temporaryFolder();
  await copyWorld('tiny', cwd);
  const run = (...args: string[]) => runCommand(['load', ...args], { cwd, clock: worldClock() });
  const unset = await run();
  expect(unset).toMatchObject({ code: 2, stderr: expect.stringContaining('destinations is not set') });
  const destinations = {
    own: { kind: 'duckdb', path: 'own.duckdb', schemaPerWorkspace: true },
    away: { kind: 'postgres', urlVariable: 'AWAY' },
  };
  await writeFile(join(cwd, 'sightline.config.json'), JSON.stringify({ destinations }));
  expect(await run('owm')).toMatchObject({ code: 2, stderr: expect.stringContaining('own') });
  expect(await run()).toMatchObject({ code: 2, stderr: expect.stringContaining('AWAY is not set') });

  const compared = await run('own', '--dry-run');
  expect(compared).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^own \(duckdb\): \d+ tables, .* to insert, 0 to update, 0 to delete in /),
  });
  const first = await run('own', '--json');
  expect(first.code).toBe(0);
  const [loaded] = expectJson<JsonValue<'load'>>('load', first.stdout).destinations;
  expect(loaded).toMatchObject({ name: 'own', kind: 'duckdb', status: 'loaded' });
  const instance = await DuckDBInstance.create(join(cwd, 'own.duckdb'));
  const connection = await instance.connect();
  const ofAll = ['brand_freshness', 'share_of_voice', 'visibility_weekly'];
  for (const { name, rows, inserted } of loaded?.tables ?? []) {
    const schema = ofAll.includes(name) ? 'sightline' : 'sightline_default';
    const reader = await connection.runAndReadAll(
      `SELECT count(*) FROM ${schema}."${name}" WHERE workspace = 'default'`,
    );
    expect([name, Number(reader.getRows()[0]?.[0]), inserted]).toEqual([name, rows, rows]);
  }
  expect(loaded?.tables.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['responses', 'responses_history', 'dim_brand', ...ofAll]),
  );
  connection.closeSync();
  instance.closeSync();

  const all = await run('own', '--all', '--json');
  expectJson('load --all', all.stdout);
  expect(JSON.parse(all.stdout)).toMatchObject({ workspace: 'default', destinations: [{ status: 'unchanged' }] });
  const doctor = await runCommand(['doctor', '--offline', '--json'], { cwd, clock: worldClock() });
  const found = expectJson<JsonValue<'doctor'>>('doctor', doctor.stdout).checks.filter(
    (check) => check.check === 'destinations',
  );
  expect(found).toMatchObject([
    { status: 'ok' },
    { status: 'failure', message: expect.stringContaining('AWAY is not set') },
  ]);
  const second = await run('own');
  expect(second).toMatchObject({ code: 0, stdout: expect.stringMatching(/^own \(duckdb\): unchanged in .+\n$/) });
  await writeFile(
    join(cwd, 'sightline.config.json'),
    JSON.stringify({ destinations: { own: { ...destinations.own, path: 'missing/own.duckdb' } } }),
  );
  expect(await run()).toMatchObject({ code: 1 });
  const status = await runCommand(['status', '--json'], { cwd, clock: worldClock() });
  const sum = loaded?.tables.reduce((total, { rows }) => total + rows, 0);
  expect(expectJson<JsonValue<'status'>>('status', status.stdout).destinations).toMatchObject([
    { name: 'own', next: 'nothing', last: { kind: 'duckdb', rows: sum, error: expect.stringContaining('missing') } },
  ]);
});
