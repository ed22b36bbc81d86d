import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { expectRefusal, shareCli } from './helpers.ts';

const workspace = shareCli({ world: 'tiny' });

describe('connect', () => {
  test('prints the line of one client, or all lines as JSON', async () => {
    const { run, json, data } = workspace;
    const path = join(data, 'analytics.duckdb');
    expect((await run('connect', 'duckdb')).stdout).toBe(`duckdb -readonly '${path}'\n`);
    const all = await json<{ path: string; clients: object }>('connect');
    expect(all.path).toBe(path);
    for (const line of Object.values(all.clients)) expect(line).toContain(path);
    expectRefusal(await run('connect', 'excel'), 'usage', false);
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
    const described =
      await workspace.json<{ name: string; about: string; columns: { name: string; type: string; about: string }[] }[]>(
        'describe',
      );
    const query = `select case schema_name when 'main' then '' else schema_name || '.' end || table_name as name,
      column_name as "column", data_type as type
      from duckdb_columns() where not internal and database_name = current_database() order by all`;
    const held = await workspace.rows(query);
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

test('a key for a brand that is not in the data is created, with a note that lists the brands', async () => {
  const [brand] = await workspace.rows('select name from mart.dim_brand');
  const name = String(brand?.['name']);
  const { code, stderr } = await workspace.run('keys', 'create', 'one', '--brand', name, 'Nope');
  expect(code, stderr).toBe(0);
  expect(stderr).toContain(`The data have no brand "Nope", so the key reads nothing of it yet. Brands: ${name}.\n`);
  expect((await workspace.run('keys', 'create', 'two', '--brand', name)).stderr).not.toContain('The data have no');
});
