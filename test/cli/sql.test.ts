import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { errorTable } from '../../src/base/errors.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { openReader } from '../../src/warehouse/reader.ts';
import { type CliWorkspace, expectRefusal, openCli, openCliFor, until } from './helpers.ts';

describe('sql reads only', () => {
  let workspace: CliWorkspace & { close: () => Promise<void> };

  beforeAll(async () => {
    workspace = await openCliFor({ prompts: 1, days: 1 });
    expect(await workspace.run('sync', '--only', 'prompts')).toMatchObject({ code: 0 });
  });

  afterAll(() => workspace.close());

  test.each([
    ['INSERT INTO brands (id) VALUES (uuid())', 'read-only'],
    ['DELETE FROM prompts', 'read-only'],
    ['CREATE TABLE x (i INTEGER)', 'read-only'],
    ['DROP TABLE brands', 'read-only'],
    ["COPY brands TO 'brands.csv'", 'disabled'],
    ["COPY (SELECT 1) TO '/tmp/sightline-must-not-exist.parquet' (FORMAT parquet)", 'disabled'],
    ["EXPORT DATABASE 'dump'", 'disabled'],
    ["ATTACH 'other.duckdb' AS other", 'disabled'],
    ["ATTACH ':memory:' AS other", 'read-only'],
    ["SELECT * FROM read_csv('/etc/passwd')", 'disabled'],
    ["SELECT * FROM read_text('/etc/passwd')", 'disabled'],
    ["SELECT * FROM '/etc/passwd'", 'passwd'],
    ["SELECT * FROM glob('/etc/*')", 'disabled'],
    ['SET enable_external_access = true', 'locked|external access'],
    ['SET threads = 1', 'locked'],
    ["SET memory_limit = '100GB'", 'locked'],
    ['INSTALL httpfs', 'disabled'],
    ['LOAD httpfs', 'disabled|locked'],
    ['SELECT 1; DELETE FROM prompts; SELECT 2', 'read-only'],
    ['SELECT nonsense FROM brands', 'nonsense'],
    ['SELEKT 1', 'SELEKT'],
    ["SELECT CAST('x' AS INTEGER)", 'Could not convert'],
    [';', 'no statement'],
    ['/* nothing */', 'no statement'],
  ])('%s is refused', async (query, says) => {
    const reader = await openReader(join(workspace.data, 'analytics.duckdb'));
    try {
      const message = expect.stringMatching(new RegExp(says, 'i'));
      await expect(reader.query(query)).rejects.toMatchObject({ code: 'sql_invalid', message });
      expect((await reader.query('SELECT 1')).rows, 'and the next query is answered').toEqual([[1]]);
    } finally {
      reader.close();
    }
  });

  test.each(['DELETE FROM prompts', "SELECT * FROM read_text('/etc/passwd')", ';'])(
    '%s ends with exit code 2',
    async (query) => {
      const { code, stdout, stderr } = await workspace.run('sql', query, '--json');
      const { exit, hint } = errorTable.sql_invalid;
      expect(code, stderr).toBe(exit);
      const { error } = JSON.parse(stdout);
      expect(error).toEqual({ code: 'sql_invalid', message: expect.any(String), hint });
      // DuckDB points at the place, on lines of its own.
      expect(stderr).toBe(`sightline: ${error.message}\n${hint}\n`);
      expect(stderr).not.toMatch(/\n\s+at /);
    },
  );

  test.each(['csv', 'parquet'])('%s is not written in place of a folder', async (format) => {
    const refused = await workspace.run('sql', 'SELECT 1', '--format', format, '--output', 'data', '--json');
    expectRefusal(refused, 'usage', true);
  });

  test('and nothing came of it', async () => {
    const [row] = await workspace.rows('select count(*) as n from prompts');
    expect(Number(row?.['n'])).toBeGreaterThan(0);
    expect(await readdir(workspace.folder)).toEqual(['data']);
    expect(existsSync('/tmp/sightline-must-not-exist.parquet')).toBe(false);
    expect((await readdir(workspace.data)).sort()).toEqual(['analytics.duckdb', 'raw', 'warehouse.duckdb']);
  });
});

describe('sql while a sync runs in another process', () => {
  test('says before the first sync is over that it still runs, and answers from the copy afterwards', async () => {
    const workspace = await openCli({ prompts: 2, days: 2 });
    const { sandbox, start, run, rows } = workspace;
    const under = async (): Promise<ReturnType<typeof start>> => {
      sandbox.setFaults([{ kind: 'hang', match: '/responses' }]);
      const asked = sandbox.requests.length;
      const running = start('sync');
      await until('the sync waits for responses', () =>
        sandbox.requests.slice(asked).some(({ fault }) => fault === 'hang'),
      );
      return running;
    };
    const first = await under();
    const refused = await run('sql', 'select 1', '--json');
    expectRefusal(refused, 'no_data', true);
    expect(refused.stderr).toContain('its first sync is still running');
    first.process.kill('SIGKILL');
    await first.finished;
    sandbox.setFaults([]);
    expect(await run('sync')).toMatchObject({ code: 0 });

    const counts = 'select (select count(*) from responses) as responses, (select count(*) from sync.runs) as runs';
    const [before] = await rows(counts);
    expect(before).toEqual({ responses: expect.any(Number), runs: 2 });
    expect(Number(before?.['responses'])).toBeGreaterThan(0);
    const second = await under();
    // The copy is as of the last sync: the run under way is not in it.
    expect(await rows(counts)).toEqual([before]);
    expect(await rows(counts)).toEqual([before]);
    expect(existsSync(join(workspace.data, 'owner.json'))).toBe(true);
    second.process.kill('SIGINT');
    expect(await second.finished).toMatchObject({ code: 130 });
    expect(await rows(counts)).toEqual([{ ...before, runs: 3 }]);
  });
});

test('sql shows what an interrupted sync left in the warehouse, before and after an export', async () => {
  const { run, rows, data } = await openCli({ prompts: 1, days: 1 });
  expect(await run('sync', '--only', 'prompts')).toMatchObject({ code: 0 });
  // What a sync that was killed leaves: pages that are committed and that no copy holds.
  const warehouse = await openDatabase(join(data, 'warehouse.duckdb'));
  await warehouse.exclusive((session) => session.run('INSERT INTO prompts SELECT * FROM prompts'));
  await warehouse.close();
  const counted = (): Promise<Record<string, unknown>[]> => rows('select count(*) as n from prompts');
  expect(await counted()).toEqual([{ n: 2 }]);
  expect(await run('export')).toMatchObject({ code: 0 });
  expect(await counted()).toEqual([{ n: 2 }]);
});
