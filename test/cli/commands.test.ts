import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { publishedMarts } from '../../src/analytics/marts/published.ts';
import { commands } from '../../src/cli/program/command-list.ts';
import { builtInCatalogue as catalogue } from '../../src/session/catalogues.ts';
import { catalogueTables } from '../../src/snapshot/exported-table.ts';
import type { Finished } from '../support/run-command.ts';
import { type CliWorkspace, makeFolder, openCliFor, runCli } from './helpers.ts';

// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches control characters on purpose
const ESCAPE_CODES = /\u001b/;
/** The tables of a snapshot with the default settings. */
const EXPORTED = [...catalogueTables(catalogue), ...publishedMarts('star')];
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

interface SyncResult {
  readonly tables: Record<string, { read: number; inserted: number; updated: number; deleted: number }>;
  readonly requests: number;
}

let workspace: CliWorkspace & { close: () => Promise<void> };
let first: Finished;

beforeAll(async () => {
  // The clock stands still, so that no new response appears between two syncs.
  const now = Date.now();
  workspace = await openCliFor({ brands: 2, prompts: 3, days: 4, clock: () => now });
  first = await workspace.run('sync', '--json');
});

afterAll(() => workspace.close());

describe('sync', () => {
  test('prints one line of JSON on standard output and a summary on standard error', () => {
    expect(first.code, first.stderr).toBe(0);
    expect(first.stdout.split('\n')).toHaveLength(2);
    const result = JSON.parse(first.stdout) as SyncResult;
    expect(result).toMatchObject({
      runId: expect.stringMatching(UUID),
      status: 'complete',
      retries: 0,
      quarantined: 0,
    });
    expect(result).toMatchObject({ waitedMs: expect.any(Number), failures: [], warnings: [] });
    expect(result).not.toHaveProperty('error');
    expect(result.requests).toBe(workspace.sandbox.requests.length);
    expect(result.tables['responses']).toEqual({
      read: expect.any(Number),
      inserted: expect.any(Number),
      updated: 0,
      deleted: 0,
    });
    expect(first.stderr).toMatch(
      /^sync complete: [\d,]+ rows inserted, 0 updated, 0 deleted; \d+ requests \(0 repeated\) in /,
    );
    expect(first.stderr.split('\n')).toHaveLength(2);
  });

  test('reports the same row counts as the warehouse', async () => {
    const { tables } = JSON.parse(first.stdout) as SyncResult;
    const counts = Object.keys(tables).map((name) => `select '${name}' as name, count(*) as rows from "${name}"`);
    const inserted = Object.entries(tables).map(([name, table]) => ({ name, rows: table.inserted }));
    expect(await workspace.rows(counts.join(' union all '))).toEqual(inserted);
    expect(Object.keys(tables).length).toBeGreaterThan(10);
  });

  test('changes nothing the second time', async () => {
    const again = await workspace.run('sync');
    expect(again.code, again.stderr).toBe(0);
    expect(again.stderr).toMatch(/^sync complete: 0 rows inserted, 0 updated, 0 deleted/);
    expect(again.stdout).toBe('');
  });

  test('accepts resources and brands, separated by commas or spaces', async () => {
    const [brand, other] = (await workspace.rows('select id from brands order by id')).map(({ id }) => String(id));
    const sent = workspace.sandbox.requests.length;
    const { code, stderr } = await workspace.run(
      'sync',
      '--only',
      'competitors,prompts',
      'alerts',
      '--brand',
      String(brand).toUpperCase(),
    );
    expect(code, stderr).toBe(0);
    const paths = workspace.sandbox.requests.slice(sent).map(({ path }) => path);
    for (const name of ['competitors', 'prompts', 'alerts']) expect(paths.join(' ')).toContain(name);
    expect(paths.join(' ')).not.toMatch(/responses|traffic|forum/);
    expect(paths.join(' ')).not.toContain(other);
  });

  test('fetches a range of days', async () => {
    const day = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
    const sent = workspace.sandbox.requests.length;
    const { code, stderr } = await workspace.run('sync', '--only', 'responses', '--from', day, '--to', day);
    expect(code, stderr).toBe(0);
    const asked = workspace.sandbox.requests.slice(sent).filter(({ path }) => path.endsWith('/responses'));
    expect(asked.length).toBeGreaterThan(0);
    for (const { query } of asked) expect(query).toContain(`from=${day}&to=${day}`);
  });
});

describe('export', () => {
  test('reports exactly the files that it wrote', async () => {
    const { code, stdout, stderr } = await workspace.run('export', '--json');
    expect(code, stderr).toBe(0);
    const { snapshotId, path, tables } = JSON.parse(stdout);
    expect(stdout.split('\n')).toHaveLength(2);
    expect(snapshotId).toMatch(/^\d{8}T\d{6}Z$/);
    expect(path).toBe(join(workspace.data, 'snapshots', snapshotId));
    expect(await readlink(join(workspace.data, 'snapshots', 'latest'))).toBe(snapshotId);
    expect(tables.map(({ name }: { name: string }) => name)).toEqual(EXPORTED.map(({ name }) => name));
    const counts: string[] = [];
    for (const { name, rows, files, bytes } of tables) {
      const found = (await readdir(join(path, name), { recursive: true })).filter((file) => file.endsWith('.parquet'));
      expect(found).toHaveLength(files);
      expect(bytes).toBeGreaterThan(0);
      const relation = EXPORTED.find((table) => table.name === name)?.kind === 'mart' ? `mart.${name}` : `"${name}"`;
      counts.push(`select '${name}' as name, ${rows} as rows where ${rows} = (select count(*) from ${relation})`);
    }
    expect(await workspace.rows(counts.join(' union all '))).toHaveLength(tables.length);
  });

  test('prints the folder, for the next command of a script', async () => {
    const { code, stdout, stderr } = await workspace.run('export');
    expect(code, stderr).toBe(0);
    expect(existsSync(join(stdout.trimEnd(), 'manifest.json'))).toBe(true);
    expect(Number.parseInt(stderr, 10)).toBe(EXPORTED.length);
    expect(stderr).toMatch(/^\d+ tables, [\d,]+ rows, \d+ files, [\d.]+ [kM]B\n0 files changed, 0 B; the others .*\n$/);
  });
});

describe('sql', () => {
  const ask = async (query: string, format: string, env: Record<string, string> = {}): Promise<string> => {
    const { code, stdout, stderr } = await runCli(['sql', query, '--format', format], {
      cwd: workspace.folder,
      env: { ...workspace.env, ...env },
    });
    expect(code, stderr).toBe(0);
    expect(stderr).toBe('');
    return stdout;
  };
  const odd = `SELECT 'Zoë said "hi", then 日本 🎉' AS "a ""name"", odd", 'two\nlines' AS b, NULL AS c, 1.5 AS d, true AS e, '' AS f`;

  test('prints a table by default', async () => {
    const lines = (
      await ask("SELECT 'brand' AS name, 12 AS mentions UNION ALL SELECT 'x\ty', 3 ORDER BY ALL", 'table')
    ).split('\n');
    expect(lines).toEqual([
      '┌───────┬──────────┐',
      '│ name  │ mentions │',
      '├───────┼──────────┤',
      '│ brand │       12 │',
      '│ x y   │        3 │',
      '└───────┴──────────┘',
      '2 rows',
      '',
    ]);
  });

  test('truncates long texts and replaces control characters in tables only', async () => {
    const long = "SELECT repeat('é', 200) || chr(27) || '[31m' AS \"\x1b[31mred\", 'a' || chr(27) || 'b' AS raw";
    const table = await ask(long, 'table');
    expect(table).not.toMatch(ESCAPE_CODES);
    expect(table).toContain(`${'é'.repeat(79)}…`);
    expect(await ask(long, 'csv')).toContain('é'.repeat(200));
    expect(JSON.parse(await ask(long, 'json'))[0].raw).toBe('a\u001bb');
  });

  test('prints CSV as in RFC 4180, with different forms of empty text and null', async () => {
    expect(await ask(odd, 'csv')).toBe(
      '"a ""name"", odd",b,c,d,e,f\r\n"Zoë said ""hi"", then 日本 🎉","two\nlines",,1.5,true,""\r\n',
    );
    expect(await ask('SELECT 1 AS a WHERE false', 'csv')).toBe('a\r\n');
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
      decimal: ['1234.5600::DECIMAL(10, 4)', 1234.56],
      big_decimal: ['12345678901234567890.12::DECIMAL(30, 2)', '12345678901234567890.12'],
      nothing: ['NULL', null],
      nan: ["'NaN'::DOUBLE", 'NaN'],
      yes: ['true', true],
      text: ['\'Zoë "1"\n日本 🎉\'', 'Zoë "1"\n日本 🎉'],
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
    // The reader's time zone must not shift a timestamp.
    const [row] = JSON.parse(await ask(`SELECT ${list.join(', ')}`, 'json', { TZ: 'Asia/Kolkata' }));
    expect(row).toEqual(Object.fromEntries(Object.entries(values).map(([name, [, expected]]) => [name, expected])));
  });

  test('renames columns with equal names, and prints an empty list if there are no rows', async () => {
    expect(JSON.parse(await ask('SELECT 1 AS a, 2 AS a, 3 AS a', 'json'))).toEqual([{ a: 1, a_2: 2, a_3: 3 }]);
    expect(JSON.parse(await ask('SELECT 1 AS a, 2 AS a_2, 3 AS a', 'json'))).toEqual([{ a: 1, a_2: 2, a_3: 3 }]);
    expect(JSON.parse(await ask('SELECT 1 AS a WHERE false', 'json'))).toEqual([]);
  });

  test('prints the rows of the only statement that returns rows, including SHOW and DESCRIBE', async () => {
    expect(JSON.parse(await ask("SET VARIABLE a = 2; SELECT getvariable('a') AS b;", 'json'))).toEqual([{ b: 2 }]);
    expect(await ask('SHOW TABLES', 'csv')).toContain('responses\r\n');
    expect(await ask('DESCRIBE responses', 'csv')).toContain('created_at,TIMESTAMP');
  });

  test('writes a long result completely to a pipe', async () => {
    const rows = JSON.parse(await ask("SELECT range AS i, repeat('x', 100) AS x FROM range(50000)", 'json'));
    expect(rows).toHaveLength(50_000);
    expect(rows.at(-1).i).toBe(49_999);
  });
});

describe('settings', () => {
  const isolated = async (files: Record<string, string>): Promise<string> => {
    const cwd = await makeFolder();
    onTestFinished(() => rm(cwd, { recursive: true, force: true }));
    for (const [path, text] of Object.entries(files)) await writeFile(join(cwd, path), text);
    return cwd;
  };

  test('are read from .env, and the environment overrides it', async () => {
    const { sandbox } = workspace;
    const cwd = await isolated({
      '.env': `SIGHTLINE_BASE_URL=${sandbox.baseUrl}\nSIGHTLINE_API_KEY="${sandbox.key}"\n`,
    });
    const args = ['sync', '--only', 'engines'];
    expect(await runCli(args, { cwd })).toMatchObject({ code: 0 });
    const beaten = await runCli(args, { cwd, env: { SIGHTLINE_API_KEY: 'gsk_of_the_environment' } });
    expect(beaten).toMatchObject({ code: 1, stderr: expect.stringContaining('401') });
    const elsewhere = await runCli([...args, '--data-dir', 'b'], { cwd, env: { SIGHTLINE_DATA_DIR: 'a' } });
    expect(elsewhere).toMatchObject({ code: 0 });
    expect((await readdir(cwd)).sort()).toEqual(['.env', 'b', 'data']);
  });

  test('keep workspaces apart, each with its own key', async () => {
    const { sandbox } = workspace;
    const of = (variable: string) => ({ baseUrl: sandbox.baseUrl, apiKeyVariable: variable });
    const config = { dataDir: 'store', workspaces: { acme: of('KEY_A'), globex: of('KEY_B') } };
    const cwd = await isolated({ 'sightline.config.json': JSON.stringify(config) });
    const env = { KEY_A: sandbox.key, KEY_B: 'gsk_unknown_to_anybody' };
    expect(await runCli(['sync', '-w', 'acme', '--only', 'engines'], { cwd, env })).toMatchObject({ code: 0 });
    expect(await runCli(['sync', '-w', 'globex', '--only', 'engines'], { cwd, env })).toMatchObject({ code: 1 });
    expect((await readdir(join(cwd, 'store'))).sort()).toEqual(['.budgets', 'acme', 'globex']);
  });
});

describe('help', () => {
  const names = Object.keys(commands);

  test.each([[], ['--help'], ...names.map((name) => [name, '--help'])].map((args) => ({ args })))(
    '$args',
    async ({ args }) => {
      const { code, stdout, stderr } = await runCli(args, { cwd: workspace.folder });
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toMatch(new RegExp(`^Usage: sightline ${args.length === 2 ? args[0] : '\\[options\\]'}`));
      if (args.length < 2) for (const name of names) expect(stdout).toContain(`\n  ${name}`);
      expect(stdout).not.toMatch(ESCAPE_CODES);
    },
  );

  test('--version prints the version of the package', async () => {
    const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'));
    expect(await runCli(['--version'], { cwd: workspace.folder })).toMatchObject({ code: 0, stdout: `${version}\n` });
  });
});

describe('demo', () => {
  test('replaces an earlier demo, exits by itself and keeps its data', async () => {
    const cwd = await makeFolder();
    onTestFinished(() => rm(cwd, { recursive: true, force: true }));
    const folder = join(cwd, 'data', 'demo');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, '.demo'), '');
    await writeFile(join(folder, 'of-the-earlier-demo'), '');
    // Variables for a terminal must have no effect without a terminal.
    const { code, stdout, stderr } = await runCli(['demo'], { cwd, env: { NO_COLOR: '1', TERM: 'xterm-256color' } });
    expect(code, stderr).toBe(0);
    expect(stdout + stderr).not.toMatch(ESCAPE_CODES);
    expect((await readdir(folder)).sort()).toEqual([
      '.demo',
      'analytics.duckdb',
      'raw',
      'snapshots',
      'warehouse.duckdb',
    ]);
    for (const title of ['How visible', 'share of voice', 'Which domains']) expect(stdout).toContain(title);
    for (const path of ['warehouse.duckdb', 'analytics.duckdb', 'snapshots/latest']) {
      expect(stdout).toContain(join('data/demo', path));
      expect(existsSync(join(folder, path))).toBe(true);
    }
    expect(stdout.match(/\n[1-9]\d* rows\n/g)).toHaveLength(3);
    const asked = await runCli(['sql', '--workspace', 'demo', 'select count(*) as n from responses', '--json'], {
      cwd,
    });
    expect(JSON.parse(asked.stdout)[0].n).toBeGreaterThan(1000);
    const owners = 'select owner, count(*) > 1 as several from mart.dim_domain group by owner order by owner';
    const owned = await runCli(['sql', '--workspace', 'demo', owners, '--json'], { cwd });
    expect(JSON.parse(owned.stdout)).toEqual(
      ['competitor', 'owned', 'third party'].map((owner) => ({ owner, several: true })),
    );
  });
});
