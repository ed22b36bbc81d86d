import { spawnSync } from 'node:child_process';
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { beforeAll, describe, expect, test } from 'vitest';
import { errorTable } from '../../src/base/errors.ts';
import { type Format, formatRows } from '../../src/cli/output/row-format.ts';
import { runCommandLine } from '../../src/cli/run-command-line.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { openReader } from '../../src/warehouse/reader.ts';
import { expectJson } from '../support/json-outputs.ts';
import { MAIN, runCommand } from '../support/run-command.ts';
import { expectRefusal, openCli, shareCli } from './helpers.ts';

// oxlint-disable-next-line no-control-regex -- the pattern matches control characters on purpose
const ESCAPE_CODES = /\u001b/;

const workspace = shareCli({ world: 'tiny' });

beforeAll(async () => {
  await mkdir(join(workspace.data, 'queries'));
  await writeFile(
    join(workspace.data, 'queries', 'weekly.sql'),
    '-- Brands of the week\nSELECT 7 AS n FROM brands LIMIT 1',
  );
});

/** Formats the rows of a query like the command, without the process that runs SQL of users. */
async function format(query: string, as: Format): Promise<string> {
  const reader = await openReader(join(workspace.data, 'analytics.duckdb'));
  try {
    return formatRows(await reader.query(query), as);
  } finally {
    reader.close();
  }
}

describe('the rows of a query', () => {
  const odd = `SELECT 'Zoë said "hi", then 日本 🎉' AS "a ""name"", odd", 'two\nlines' AS b, NULL AS c, 1.5 AS d, true AS e, '' AS f`;

  test('prints a table for each statement by default', async () => {
    const query = "SELECT 'brand' AS name, 12 AS mentions UNION ALL SELECT 'x\ty', 3 ORDER BY ALL; SELECT 22 AS second";
    const { stdout } = await workspace.done('sql', query);
    expect(stdout.split('\n')).toEqual([
      '┌───────┬──────────┐',
      '│ name  │ mentions │',
      '├───────┼──────────┤',
      '│ brand │       12 │',
      '│ x y   │        3 │',
      '└───────┴──────────┘',
      '2 rows',
      '',
      '┌────────┐',
      '│ second │',
      '├────────┤',
      '│     22 │',
      '└────────┘',
      '1 row',
      '',
    ]);
  });

  test('truncates long texts and replaces control characters in tables only', async () => {
    const long = "SELECT repeat('é', 200) || chr(27) || '[31m' AS \"\x1b[31mred\", 'a' || chr(27) || 'b' AS raw";
    const table = await format(long, 'table');
    expect(table).not.toMatch(ESCAPE_CODES);
    expect(table).toContain(`${'é'.repeat(79)}…`);
    expect(await format(long, 'csv')).toContain('é'.repeat(200));
    expect(JSON.parse(await format(long, 'json'))[0].raw).toBe('a\u001bb');
  });

  test('prints CSV as in RFC 4180, with different forms of empty text and null', async () => {
    expect(await format(odd, 'csv')).toBe(
      '"a ""name"", odd",b,c,d,e,f\r\n"Zoë said ""hi"", then 日本 🎉","two\nlines",,1.5,true,""\r\n',
    );
    expect(await format('SELECT 1 AS a WHERE false', 'csv')).toBe('a\r\n');
  });

  test('prints JSON with exact numbers and ISO 8601 times', async () => {
    const values: Record<string, [string, unknown]> = {
      small: ['1::TINYINT', 1],
      count: ['count(*)', 1],
      exact: ['9007199254740991::BIGINT', 9007199254740991],
      beyond: ['9007199254740993::BIGINT', '9007199254740993'],
      negative: ['(-9007199254740993)::BIGINT', '-9007199254740993'],
      huge: ['170141183460469231731687303715884105727::HUGEINT', '170141183460469231731687303715884105727'],
      double: ['0.1::DOUBLE', 0.1],
      infinite: ['[1e400, -1e400]', ['Infinity', '-Infinity']],
      decimal: ['1234.5600::DECIMAL(10, 4)', 1234.56],
      big_decimal: ['12345678901234567890.12::DECIMAL(30, 2)', '12345678901234567890.12'],
      nothing: ['NULL', null],
      nan: ["'NaN'::DOUBLE", 'NaN'],
      yes: ['true', true],
      text: ['\'Zoë "1"\n日本 🎉: -Infinity\'', 'Zoë "1"\n日本 🎉: -Infinity'],
      day: ["DATE '2026-02-28'", '2026-02-28'],
      second: ["TIMESTAMP '2026-02-28 23:59:59'", '2026-02-28T23:59:59Z'],
      micro: ["TIMESTAMP '2026-02-28 23:59:59.000001'", '2026-02-28T23:59:59.000001Z'],
      zoned: ["TIMESTAMPTZ '2026-02-28 23:59:59.5+02:00'", '2026-02-28T21:59:59.5Z'],
      seconds: ["'2026-02-28 23:59:59'::TIMESTAMP_S", '2026-02-28T23:59:59Z'],
      nanos: ["'2026-02-28 23:59:59.123456789'::TIMESTAMP_NS", '2026-02-28T23:59:59.123456789Z'],
      forever: ["'infinity'::TIMESTAMP", 'infinity'],
      uuid: ["'0B9F8C1A-0000-4000-8000-000000000000'::UUID", '0b9f8c1a-0000-4000-8000-000000000000'],
      list: ["['a', NULL, 'b']", ['a', null, 'b']],
      nested: [
        "{'n': 1, 'at': TIMESTAMP '2026-01-01', 'deep': [{'x': 9007199254740993}]}",
        { n: 1, at: '2026-01-01T00:00:00Z', deep: [{ x: '9007199254740993' }] },
      ],
      map: ["MAP {'k': 1}", [{ key: 'k', value: 1 }]],
      json: ['\'{"a": [1]}\'::JSON', '{"a": [1]}'],
    };
    const list = Object.entries(values).map(([name, [sql]]) => `${sql} AS ${name}`);
    // The reader's time zone must not shift a timestamp, and a pipe gets the complete result.
    const query = `SELECT ${list.join(', ')}, repeat('x', 5_000_000) AS long`;
    const env = { ...workspace.env, TZ: 'Asia/Kolkata' };
    const options = { cwd: workspace.folder, env, maxBuffer: 16_000_000 };
    const args = [MAIN, 'sql', query, '--format', 'json'];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, options);
    expect(status, stderr.toString()).toBe(0);
    const [{ long, ...row } = {}] = expectJson<Record<string, unknown>[]>('sql', stdout.toString());
    expect(row).toEqual(Object.fromEntries(Object.entries(values).map(([name, [, expected]]) => [name, expected])));
    expect(long).toHaveLength(5_000_000);
  });

  test('are written to a pipe as Parquet', async () => {
    const chunks: Buffer[] = [];
    const stdout = new PassThrough().on('data', (chunk: Buffer) => chunks.push(chunk));
    const surroundings = { stdout, stderr: new PassThrough(), folder: workspace.folder, variables: workspace.env };
    const args = ['sql', 'select 1 as a', '--format', 'parquet'];
    expect(await runCommandLine(args, new AbortController().signal, surroundings)).toBe(0);
    const file = Uint8Array.from(Buffer.concat(chunks)).buffer;
    expect(await parquetReadObjects({ file })).toEqual([{ a: 1 }]);
  });

  test('renames columns with equal names, and prints an empty list if there are no rows', async () => {
    expect(JSON.parse(await format('SELECT 1 AS a, 2 AS a, 3 AS a', 'json'))).toEqual([{ a: 1, a_2: 2, a_3: 3 }]);
    expect(JSON.parse(await format('SELECT 1 AS a, 2 AS a_2, 3 AS a', 'json'))).toEqual([{ a: 1, a_2: 2, a_3: 3 }]);
    expect(JSON.parse(await format('SELECT 1 AS a WHERE false', 'json'))).toEqual([]);
  });

  test('are an empty list if no statement returns rows', async () => {
    expect(await workspace.json('sql', 'SET VARIABLE n = 3')).toEqual([]);
  });
});

describe('a query', () => {
  test('is read from a file or from standard input, and prints the rows of the only statement that returns rows', async () => {
    const { run, folder, env } = workspace;
    const given = (input: string, ...args: string[]) => runCommand(['sql', ...args], { cwd: folder, env, input });
    await writeFile(join(folder, 'query.sql'), "set variable a = 2;\nselect getvariable('a') as b -- the end");
    const csv = await run('sql', '--file', 'query.sql', '--format', 'csv');
    expect(csv).toMatchObject({ code: 0, stdout: 'b\r\n2\r\n', stderr: '' });
    const ndjson = await given('select 4 as d', '--file', '-', '--format', 'ndjson');
    expect(ndjson).toMatchObject({ code: 0, stdout: '{"d":4}\n' });
    expectRefusal(await run('sql', '--file', 'missing.sql', '--json'), 'usage', true);
    await writeFile(join(folder, 'wide.sql'), Buffer.from('\ufeffselect 1', 'utf16le'));
    expectRefusal(await run('sql', '--file', 'wide.sql', '--json'), 'usage', true);
    expectRefusal(await given('  \n'), 'usage', false);
    for (const name of ['query.sql', 'wide.sql']) await rm(join(folder, name));
  });

  test('with several results is rejected in formats of one result', async () => {
    const refused = await workspace.run('sql', 'select 1 as a; select 2 as b', '--format', 'csv');
    expectRefusal(refused, 'sql_rejected', false);
  });

  test('stops at its time or memory limit, which the message names', async () => {
    const endless = 'select count(*) from range(1000000000) a, range(1000000000)';
    const late = await workspace.run('sql', endless, '--timeout', '1');
    expectRefusal(late, 'query_limit', false);
    expect(late.stderr).toContain('1 s');
    const large = await workspace.run('sql', "select repeat('x', 2000000000)", '--max-memory', '500', '--json');
    expectRefusal(large, 'query_limit', true);
    expect(large.stderr).toContain('500 MB');
  });

  test('sees what an interrupted sync left in the warehouse, before and after an export', async () => {
    const { done, rows, data } = await openCli({ world: 'tiny' });
    // A killed sync leaves committed pages that no copy contains.
    const warehouse = await openDatabase(join(data, 'warehouse.duckdb'));
    await warehouse.exclusive((session) => session.run('INSERT INTO prompts SELECT * FROM prompts'));
    await warehouse.close();
    const counted = (): Promise<Record<string, unknown>[]> => rows('select count(*) as n from prompts');
    expect(await counted()).toEqual([{ n: 6 }]);
    await done('export');
    expect(await counted()).toEqual([{ n: 6 }]);
  });
});

describe('--output', () => {
  test('writes complete files in the format of their extension', async () => {
    const { run, folder } = workspace;
    const query = "select range as n, 'ü' as t from range(3) order by n";
    for (const [name, content] of [
      ['rows.csv', 'n,t\r\n0,ü\r\n1,ü\r\n2,ü\r\n'],
      ['rows.ndjson', '{"n":0,"t":"ü"}\n{"n":1,"t":"ü"}\n{"n":2,"t":"ü"}\n'],
    ] as const) {
      const { code, stdout, stderr } = await run('sql', query, '--output', name);
      expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
      expect(stderr).toBe(`3 rows in ${join(folder, name)}\n`);
      expect(await readFile(join(folder, name), 'utf8')).toBe(content);
    }
    // A failed query leaves the existing file unchanged and no temporary file.
    const { code, stdout, stderr } = await run('sql', 'select nonsense', '--output', 'rows.csv', '--json');
    const { exit, hint } = errorTable.sql_invalid;
    expect(code, stderr).toBe(exit);
    const { error } = JSON.parse(stdout);
    expect(error).toEqual({ code: 'sql_invalid', message: expect.stringContaining('nonsense'), hint });
    // DuckDB marks the position on separate lines.
    expect(stderr).toBe(`sightline: ${error.message}\n${hint}\n`);
    expect(await readFile(join(folder, 'rows.csv'), 'utf8')).toContain('0,ü');
    expect((await readdir(folder)).sort()).toEqual(['data', 'rows.csv', 'rows.ndjson']);
  });

  test('writes Parquet for simple readers, with IDs as text and times as instants', async () => {
    const { run, folder, rows } = workspace;
    const query = `select id, created_at, brand_mentioned, brand_position, 1.5::decimal(4,1) as amount, [1, 2] as list,
      sum(2) over () as total, '2026-01-01 02:00:00+02'::timestamptz as moment, '2026-01-02'::date as day,
      created_at at time zone 'UTC' as naive, timestamp_s '2026-01-01' as seconds
      from responses order by id -- with a comment`;
    const { code, stderr } = await run('sql', query, '--output', 'rows.parquet');
    expect(code, stderr).toBe(0);
    const file = await asyncBufferFromFile(join(folder, 'rows.parquet'));
    const read = await parquetReadObjects({ file });
    const [held] = await rows('select id, created_at, count(*) over () as n from responses order by id limit 1');
    expect(read.length).toBe(Number(held?.['n']));
    expect(read[0]).toMatchObject({ id: held?.['id'], amount: 1.5, list: '[1,2]', total: BigInt(2 * read.length) });
    expect(read[0]?.['created_at']).toEqual(new Date(String(held?.['created_at'])));
    expect(read[0]?.['moment']).toEqual(new Date('2026-01-01T00:00:00Z'));
    const instant = { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' };
    const times = (await parquetMetadataAsync(file)).schema.filter(
      ({ logical_type: type }) => type?.type === 'TIMESTAMP',
    );
    expect(times.map(({ name, logical_type: type }) => [name, type])).toEqual(
      ['created_at', 'moment', 'naive', 'seconds'].map((name) => [name, instant]),
    );
  });

  test.each(['csv', 'parquet'])(
    'does not replace a folder or write %s into the folder of the workspace',
    async (format) => {
      const { data, folder, run } = workspace;
      const write = (path: string) => run('sql', 'SELECT 1', '--format', format, '--output', path, '--json');
      expectRefusal(await write('data'), 'usage', true);
      await symlink(data, join(folder, 'link'));
      const before = await readdir(data);
      try {
        for (const path of [join(data, 'warehouse.duckdb'), 'link/warehouse.duckdb.wal', 'link/new/rows']) {
          const refused = await write(path);
          expectRefusal(refused, 'usage', true);
          expect(refused.stderr).toContain("lies in the workspace's own folder");
        }
      } finally {
        await rm(join(folder, 'link'));
      }
      expect(await readdir(data)).toEqual(before);
    },
  );
});

describe('saved queries and the gallery', () => {
  test('--list-saved lists the files with their titles, and --saved runs one and writes its rows', async () => {
    expect(await workspace.json('sql', '--list-saved')).toEqual([
      { name: 'weekly', title: 'Brands of the week', changed_at: expect.stringMatching(/Z$/) },
    ]);
    const table = await workspace.run('sql', '--list-saved');
    expect(table.stdout).toContain('Brands of the week');
    await workspace.done('sql', '--saved', 'weekly', '--output', 'weekly.json');
    expect(await readFile(join(workspace.folder, 'weekly.json'), 'utf8')).toBe('[{"n":7}]\n');
  });

  test('--gallery lists 25 questions and runs the SQL of one', async () => {
    const questions = await workspace.json<{ number: string }[]>('sql', '--gallery');
    expect(questions.map(({ number }) => Number(number))).toEqual(Array.from({ length: 25 }, (_, index) => index + 1));
    const answered = await workspace.done('sql', '--gallery', '8', '--format', 'csv');
    expect(answered.stdout.split('\r\n')[0]).toBe(
      'brand,week,responses,visibility,visibility_lower,visibility_upper,is_complete',
    );
    expect(answered.stdout.trim().split('\n').length).toBeGreaterThan(1);
  });

  test.each([
    [['--saved', 'weekli'], 'there is no saved query weekli'],
    [['--saved', '../keys'], 'the name of a saved query is "../keys"'],
    [['SELECT 1', '--saved', 'weekly'], 'QUERY and --saved cannot be combined'],
    [['SELECT 1', '--file', 'a.sql'], 'QUERY and --file cannot be combined'],
    [['--file', 'a.sql', '--gallery'], '--file and --gallery cannot be combined'],
    [['--list-saved', '--format', 'parquet'], '--format is "parquet"; allowed for lists'],
  ])('%j is rejected with the allowed values', async (given, says) => {
    const { code, stderr, stdout } = await workspace.run('sql', ...given);
    expect(code).toBe(2);
    expect(stderr).toContain(says);
    expect(stdout).toBe('');
  });
});
