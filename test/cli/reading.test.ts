import { execFile } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Finished, MAIN } from '../support/run-command.ts';
import { type CliWorkspace, expectRefusal, openCliFor, startCli } from './helpers.ts';

let workspace: CliWorkspace & { close: () => Promise<void> };

beforeAll(async () => {
  workspace = await openCliFor({ brands: 1, prompts: 2, days: 3 });
  const { code, stderr } = await workspace.run('sync');
  if (code !== 0) throw new Error(stderr);
});

afterAll(() => workspace.close());

async function withInput(text: string, ...args: string[]): Promise<Finished> {
  const { folder, env } = workspace;
  const file = join(folder, 'input.sql');
  await writeFile(file, text);
  const { process: child, finished } = startCli(args, { cwd: folder, env, stdin: 'pipe' });
  if (child.stdin === null) throw new Error('the command has no input');
  createReadStream(file).pipe(child.stdin);
  return finished;
}

describe('sql', () => {
  test('reads a query from a file and from standard input', async () => {
    const { run, folder } = workspace;
    await writeFile(join(folder, 'query.sql'), 'set variable a = 1;\nselect 2 as b -- the end');
    expect(await run('sql', '--file', 'query.sql', '--format', 'csv')).toMatchObject({ code: 0, stdout: 'b\r\n2\r\n' });
    expect(await withInput('select 3 as c', 'sql', '--json')).toMatchObject({ code: 0, stdout: '[{"c":3}]\n' });
    expect(await withInput('select 4 as d', 'sql', '--file', '-', '--format', 'ndjson')).toMatchObject({
      code: 0,
      stdout: '{"d":4}\n',
    });
    expectRefusal(await run('sql', '--file', 'missing.sql', '--json'), 'usage', true);
    expectRefusal(await run('sql', 'select 1', '--file', 'query.sql'), 'usage', false);
    expectRefusal(await withInput('  \n', 'sql'), 'usage', false);
    expectRefusal(await run('sql', 'select 1', '--format', 'xml'), 'usage', false);
  });

  test('writes complete files in the format of their extension', async () => {
    const { run, folder } = workspace;
    const query = "select range as n, 'ü' as t from range(3) order by n";
    for (const [name, content] of [
      ['rows.csv', 'n,t\n0,ü\n1,ü\n2,ü\n'],
      ['rows.ndjson', '{"n":0,"t":"ü"}\n{"n":1,"t":"ü"}\n{"n":2,"t":"ü"}\n'],
      ['rows.json', '[{"n":0,"t":"ü"},{"n":1,"t":"ü"},{"n":2,"t":"ü"}]\n'],
    ] as const) {
      const { code, stdout, stderr } = await run('sql', query, '--output', name);
      expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
      expect(stderr).toBe(`3 rows in ${join(folder, name)}\n`);
      expect((await readFile(join(folder, name), 'utf8')).replaceAll('\r\n', '\n')).toBe(content);
    }
    // A failed query leaves the existing file unchanged and no temporary file.
    expect(await run('sql', 'select nonsense', '--output', 'rows.csv')).toMatchObject({ code: 2, stdout: '' });
    expect((await stat(join(folder, 'rows.csv'))).size).toBeGreaterThan(0);
    expect((await readdir(folder)).filter((name) => name.endsWith('.new'))).toEqual([]);
  });

  test('writes Parquet for simple readers, with IDs as text and times in UTC', async () => {
    const { run, folder } = workspace;
    const query = `select id, created_at, brand_mentioned, brand_position, 1.5::decimal(4,1) as amount, [1, 2] as list,
      sum(2) over () as total, '2026-01-01 02:00:00+02'::timestamptz as moment, '2026-01-02'::date as day
      from responses order by id -- with a comment`;
    const { code, stderr } = await run('sql', query, '--output', 'rows.parquet');
    expect(code, stderr).toBe(0);
    const rows = await parquetReadObjects({ file: await asyncBufferFromFile(join(folder, 'rows.parquet')) });
    const [held] = await workspace.rows('select id, created_at from responses order by id limit 1');
    expect(rows.length).toBe(Number((await workspace.rows('select count(*) as n from responses'))[0]?.['n']));
    expect(rows[0]).toMatchObject({ id: held?.['id'], amount: 1.5, list: '[1,2]', total: BigInt(2 * rows.length) });
    expect(rows[0]?.['created_at']).toEqual(new Date(String(held?.['created_at'])));
    expect(rows[0]?.['moment']).toEqual(new Date('2026-01-01T00:00:00Z'));
    const piped = await promisify(execFile)(process.execPath, [MAIN, 'sql', 'select 1 as a', '--format', 'parquet'], {
      cwd: folder,
      env: workspace.env,
      encoding: 'buffer',
    });
    expect(await parquetReadObjects({ file: Uint8Array.from(piped.stdout).buffer })).toEqual([{ a: 1 }]);
  });

  test('can access no file except the output', async () => {
    const { run, folder } = workspace;
    await writeFile(join(folder, 'secret.csv'), 'a\n1\n');
    for (const query of ["select * from 'secret.csv'", "copy (select 1) to 'other.csv'", "attach 'x.duckdb'"]) {
      const { code, stdout } = await run('sql', query, '--json');
      expect({ code, error: JSON.parse(stdout) }).toMatchObject({
        code: 2,
        error: { error: { code: 'sql_rejected' } },
      });
    }
    expect((await run('sql', "select * from 'secret.csv'", '--output', 'stolen.parquet')).code).toBe(2);
    expect(await readdir(folder)).not.toContain('other.csv');
    expect(await readdir(folder)).not.toContain('stolen.parquet');
  });
});

describe('connect', () => {
  test('prints the line of one client, or all lines as JSON', async () => {
    const { run, data } = workspace;
    const path = join(data, 'analytics.duckdb');
    expect((await run('connect', 'duckdb')).stdout).toBe(`duckdb -readonly '${path}'\n`);
    const all = JSON.parse((await run('connect', '--json')).stdout) as { path: string; clients: object };
    expect(all.path).toBe(path);
    for (const line of Object.values(all.clients)) expect(line).toContain(path);
    expectRefusal(await run('connect', 'excel'), 'usage', false);
    expectRefusal(await run('connect', '--data-dir', 'elsewhere', '--json'), 'no_data', true);
  });

  test('prints a line for Node that works', async () => {
    const { run, folder } = workspace;
    const { stdout } = await run('connect', 'node');
    const script = `import { DuckDBInstance } from ${JSON.stringify(import.meta.resolve('@duckdb/node-api'))};
      ${stdout}
      const connection = await instance.connect();
      console.log((await connection.runAndReadAll('select count(*) from mart.dim_brand')).getRows()[0][0].toString());`;
    const file = join(folder, 'client.mjs');
    await writeFile(file, script);
    expect((await promisify(execFile)(process.execPath, [file])).stdout).toBe('1\n');
  });
});

describe('describe', () => {
  test('describes every table and view of the warehouse with its columns', async () => {
    const { run, rows } = workspace;
    const described = JSON.parse((await run('describe', '--json')).stdout) as {
      name: string;
      about: string;
      columns: { name: string; type: string; about: string }[];
    }[];
    const held = await rows(
      `select case schema_name when 'main' then '' else schema_name || '.' end || table_name as name, column_name as "column",
         data_type as type from duckdb_columns() where not internal and database_name = current_database() order by all`,
    );
    const told = described.flatMap(({ name, columns }) =>
      columns.map((column) => ({ name, column: column.name, type: column.type })),
    );
    const text = (list: unknown[]): string[] => list.map((item) => JSON.stringify(item)).sort();
    expect(text(told)).toEqual(text(held));
    for (const { name, about, columns } of described) {
      expect(about, name).not.toBe('');
      for (const column of columns) expect(column.about, `${name}.${column.name}`).not.toBe('');
    }
  });

  test('describes one table, and lists the known ones for an unknown name', async () => {
    const { run } = workspace;
    const { stdout } = await run('describe', 'RESPONSES');
    expect(stdout).toContain('created_at');
    expect(stdout).toContain('Key: brand_id, id.');
    expect((await run('describe', 'visibility_weekly')).stdout).toMatch(/^mart\.visibility_weekly: /);
    const ambiguous = await run('describe', 'response');
    expectRefusal(ambiguous, 'usage', false, 'Give more characters.');
    expect(ambiguous.stderr).toContain('response_citations');
    const refused = await run('describe', 'respnses');
    expectRefusal(refused, 'usage', false);
    expect(refused.stderr).toContain('did you mean "responses"?');
    expectRefusal(await run('describe', '--json', '--markdown'), 'usage', true);
  });
});
