import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { asyncBufferFromFile, parquetMetadataAsync } from 'hyparquet';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { errorTable } from '../../src/base/errors.ts';
import { ownerLimits } from '../../src/operations/query.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { openGuardedSql } from '../../src/warehouse/sql/guarded-sql.ts';
import { temporaryFolder } from '../support/folders.ts';
import { type CliWorkspace, expectRefusal, openCli, openCliFor, until } from './helpers.ts';

describe('sql reads only', () => {
  let workspace: CliWorkspace & { close: () => Promise<void> };

  beforeAll(async () => {
    workspace = await openCliFor({ prompts: 1, days: 1 });
    expect(await workspace.run('sync', '--only', 'prompts')).toMatchObject({ code: 0 });
  });

  afterAll(() => workspace.close());

  test.each([
    ['SELECT nonsense FROM brands', 'nonsense'],
    ['SELEKT 1', 'SELEKT'],
    ["SELECT CAST('x' AS INTEGER)", 'Could not convert'],
    [';', 'no statement'],
    ['/* nothing */', 'no statement'],
  ])('%s fails with the message of DuckDB', async (query, says) => {
    const limits = ownerLimits();
    const guarded = await openGuardedSql(join(workspace.data, 'analytics.duckdb'), { audience: 'owner', limits });
    try {
      const message = expect.stringMatching(new RegExp(says, 'i'));
      await expect(guarded.query(query)).rejects.toMatchObject({ code: 'sql_invalid', message });
      expect((await guarded.query('SELECT 1'))[0]?.rows, 'and the next query is answered').toEqual([[1]]);
    } finally {
      guarded.close();
    }
  });

  test.each([
    ['DELETE FROM prompts', 'sql_rejected'],
    ["SELECT * FROM read_text('/etc/passwd')", 'sql_rejected'],
    ['SELECT nonsense', 'sql_invalid'],
    [';', 'sql_invalid'],
  ] as const)('%s ends with exit code 2', async (query, known) => {
    const { code, stdout, stderr } = await workspace.run('sql', query, '--json');
    const { exit, hint } = errorTable[known];
    expect(code, stderr).toBe(exit);
    const { error } = JSON.parse(stdout);
    expect(error).toEqual({ code: known, message: expect.any(String), hint });
    // DuckDB marks the position on separate lines.
    expect(stderr).toBe(`sightline: ${error.message}\n${hint}\n`);
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  test('the table format shows the result of every statement, and other formats allow one', async () => {
    const both = await workspace.run('sql', 'select 11 as first; select 22 as second');
    expect(both).toMatchObject({ code: 0, stdout: expect.stringMatching(/first[\s\S]*11[\s\S]*second[\s\S]*22/) });
    for (const format of ['csv', 'json', 'ndjson', 'parquet']) {
      const refused = await workspace.run('sql', 'select 1 as a; select 2 as b', '--format', format);
      expectRefusal(refused, 'sql_rejected', false);
    }
    const one = "set variable n = 3; select getvariable('n') as n";
    expect(await workspace.rows(one)).toEqual([{ n: 3 }]);
    expect(await workspace.rows('set variable n = 3')).toEqual([]);
  });

  test('a query stops at its time or memory limit, which the message names', async () => {
    const late = await workspace.run(
      'sql',
      'select count(*) from range(1000000000) a, range(1000000000)',
      '--timeout',
      '1',
    );
    expectRefusal(late, 'query_limit', false);
    expect(late.stderr).toContain('1 s');
    const large = await workspace.run('sql', "select repeat('x', 2000000000)", '--max-memory', '500', '--json');
    expectRefusal(large, 'query_limit', true);
    expect(large.stderr).toContain('500 MB');
    expectRefusal(await workspace.run('sql', 'select 1', '--timeout', '0'), 'usage', false);
    expectRefusal(await workspace.run('sql', 'select 1', '--max-memory', '299'), 'usage', false);
  });

  test('Parquet output has times as instants', async () => {
    const path = join(await temporaryFolder(), 'times.parquet');
    const query =
      "SELECT created_at, created_at AT TIME ZONE 'UTC' AS naive, TIMESTAMP_S '2026-01-01' AS seconds FROM prompts";
    expect(await workspace.run('sql', query, '--output', path)).toMatchObject({ code: 0 });
    const { schema } = await parquetMetadataAsync(await asyncBufferFromFile(path));
    const instant = { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' };
    expect(schema.slice(1).map(({ name, logical_type: type }) => [name, type])).toEqual(
      ['created_at', 'naive', 'seconds'].map((name) => [name, instant]),
    );
  });

  test.each(['csv', 'parquet'])('%s output does not replace a folder', async (format) => {
    const refused = await workspace.run('sql', 'SELECT 1', '--format', format, '--output', 'data', '--json');
    expectRefusal(refused, 'usage', true);
  });

  test.each(['csv', 'parquet'])('%s is not written into the folder of the workspace', async (format) => {
    const write = (path: string) => workspace.run('sql', 'SELECT 1', '--format', format, '--output', path, '--json');
    await symlink(workspace.data, join(workspace.folder, 'link'));
    try {
      for (const path of [join(workspace.data, 'warehouse.duckdb'), 'link/warehouse.duckdb.wal', 'link/new/rows']) {
        const refused = await write(path);
        expectRefusal(refused, 'usage', true);
        expect(refused.stderr).toContain("lies in the workspace's own folder");
      }
    } finally {
      await rm(join(workspace.folder, 'link'));
    }
  });

  test('and the warehouse is unchanged', async () => {
    const [row] = await workspace.rows('select count(*) as n from prompts');
    expect(Number(row?.['n'])).toBeGreaterThan(0);
    expect(await readdir(workspace.folder)).toEqual(['data']);
    expect(existsSync('/tmp/sightline-must-not-exist.parquet')).toBe(false);
    expect((await readdir(workspace.data)).sort()).toEqual(['analytics.duckdb', 'raw', 'warehouse.duckdb']);
  });
});

describe('sql while a sync runs in another process', () => {
  test('reads the lists during the first sync, states its progress, and reads the copy of the last one afterwards', async () => {
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
    // The lists are published, although the responses still hang.
    await until('the lists are published', () => existsSync(join(workspace.data, 'analytics.duckdb')));
    const listed = 'select (select count(*) from brands) as brands, (select count(*) from responses) as responses';
    const early = await run('sql', listed, '--json');
    expect(JSON.parse(early.stdout)).toEqual([{ brands: 1, responses: 0 }]);
    expect(early.stderr).toMatch(/^Data as of \S+ \S+ UTC; a sync is running: \d+ of about \d+ requests/);
    first.process.kill('SIGKILL');
    await first.finished;
    sandbox.setFaults([]);
    expect(await run('sync')).toMatchObject({ code: 0 });

    const counts = 'select (select count(*) from responses) as responses, (select count(*) from sync.runs) as runs';
    const [before] = await rows(counts);
    expect(before).toEqual({ responses: expect.any(Number), runs: 2 });
    expect(Number(before?.['responses'])).toBeGreaterThan(0);
    const second = await under();
    // Readers keep the rows of the last sync.
    const responses = 'select count(*) as responses from responses';
    expect(await rows(responses)).toEqual([{ responses: before?.['responses'] }]);
    expect(await rows(responses)).toEqual([{ responses: before?.['responses'] }]);
    expect(existsSync(join(workspace.data, 'owner.json'))).toBe(true);
    second.process.kill('SIGINT');
    expect(await second.finished).toMatchObject({ code: 130 });
    expect(await rows(counts)).toEqual([{ ...before, runs: 3 }]);
  });
});

test('sql shows what an interrupted sync left in the warehouse, before and after an export', async () => {
  const { run, rows, data } = await openCli({ prompts: 1, days: 1 });
  expect(await run('sync', '--only', 'prompts')).toMatchObject({ code: 0 });
  // A killed sync leaves committed pages that no copy contains.
  const warehouse = await openDatabase(join(data, 'warehouse.duckdb'));
  await warehouse.exclusive((session) => session.run('INSERT INTO prompts SELECT * FROM prompts'));
  await warehouse.close();
  const counted = (): Promise<Record<string, unknown>[]> => rows('select count(*) as n from prompts');
  expect(await counted()).toEqual([{ n: 2 }]);
  expect(await run('export')).toMatchObject({ code: 0 });
  expect(await counted()).toEqual([{ n: 2 }]);
});

describe('saved queries and the gallery', () => {
  let workspace: CliWorkspace & { close: () => Promise<void> };

  beforeAll(async () => {
    workspace = await openCliFor({ prompts: 2, days: 2 });
    expect(await workspace.run('sync')).toMatchObject({ code: 0 });
    await mkdir(join(workspace.data, 'queries'));
    await writeFile(
      join(workspace.data, 'queries', 'weekly.sql'),
      '-- Brands of the week\nSELECT 7 AS n FROM brands LIMIT 1',
    );
  });

  afterAll(() => workspace.close());

  test('--list-saved lists the files with their titles, and --saved runs one', async () => {
    const list = await workspace.run('sql', '--list-saved', '--json');
    expect(list.code, list.stderr).toBe(0);
    expect(JSON.parse(list.stdout)).toEqual([
      { name: 'weekly', title: 'Brands of the week', changed_at: expect.stringMatching(/Z$/) },
    ]);
    const table = await workspace.run('sql', '--list-saved');
    expect(table.stdout).toContain('Brands of the week');
    const saved = await workspace.run('sql', '--saved', 'weekly', '--json');
    expect(JSON.parse(saved.stdout)).toEqual([{ n: 7 }]);
  });

  test('--gallery lists 25 questions and runs the SQL of one', async () => {
    const list = await workspace.run('sql', '--gallery', '--json');
    const questions = JSON.parse(list.stdout) as { number: number; question: string }[];
    expect(questions.map(({ number }) => Number(number))).toEqual(Array.from({ length: 25 }, (_, index) => index + 1));
    const answered = await workspace.run('sql', '--gallery', '8', '--format', 'csv');
    expect(answered.code, answered.stderr).toBe(0);
    expect(answered.stdout.split('\r\n')[0]).toBe(
      'brand,week,responses,visibility,visibility_lower,visibility_upper,is_complete',
    );
    expect(answered.stdout.trim().split('\n').length).toBeGreaterThan(1);
  });

  test.each([
    [['--saved', 'weekli'], 'there is no saved query weekli'],
    [['--saved', '../keys'], 'the name of a saved query is "../keys"'],
    [['--gallery', '26'], '--gallery is "26"; allowed: a whole number from 1 to 25'],
    [['--gallery', '0'], '--gallery is "0"; allowed: a whole number from 1 to 25'],
    [['SELECT 1', '--saved', 'weekly'], 'QUERY and --saved cannot be combined'],
    [['--file', 'a.sql', '--gallery'], '--file and --gallery cannot be combined'],
    [['--list-saved', '--format', 'parquet'], '--format is "parquet"; allowed for lists'],
  ])('%j is rejected with the allowed values', async (given, says) => {
    const { code, stderr, stdout } = await workspace.run('sql', ...given);
    expect(code).toBe(2);
    expect(stderr).toContain(says);
    expect(stdout).toBe('');
  });
});
