import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, readlink, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../../src/cli/json/json-outputs.ts';
import { publishedMarts } from '../../src/metrics/marts/published.ts';
import { catalogueTables } from '../../src/publish/snapshot/exported-table.ts';
import { builtInCatalogue as catalogue } from '../../src/workspace/catalogues.ts';
import { hashes } from '../publish/snapshot/readers.ts';
import { NOW_MS } from '../support/clocks.ts';
import { temporaryFolder } from '../support/folders.ts';
import { shareCli } from './helpers.ts';

/** The tables of a snapshot with the default settings. */
const EXPORTED = [...catalogueTables(catalogue), ...publishedMarts('star')];

const workspace = shareCli({ world: 'small' });

async function exportTo(name: string, ...args: string[]) {
  const folder = join(await temporaryFolder(), name);
  return { folder, ...(await workspace.json<JsonValue<'export --output'>>('export --output', folder, ...args)) };
}

async function numberOf(sql: string): Promise<number> {
  const [row] = await workspace.rows(`SELECT CAST(${sql} AS INTEGER) AS n`);
  return Number(row?.['n']);
}

describe('plain files', () => {
  test('are one per table and identical each time', async () => {
    const { folder, path, snapshotId, tables } = await exportTo('all');
    expect([path, snapshotId]).toEqual([folder, null]);
    const files = await readdir(folder);
    expect(files.sort()).toEqual([...tables.map(({ name }) => `${name}.parquet`), 'export.json'].sort());
    const counts = tables.map(({ name }) => `SELECT '${name}' AS name, count(*) AS rows FROM "${name}"`);
    expect(tables.map(({ name, rows }) => ({ name, rows }))).toEqual(await workspace.rows(counts.join(' UNION ALL ')));
    const before = hashes(folder);
    const listing = JSON.parse(await readFile(join(folder, 'export.json'), 'utf8'));
    for (const { file, sha256 } of listing.tables) expect(before[file]).toBe(sha256);
    await workspace.done('export', '--output', folder);
    expect(hashes(folder)).toEqual(before);
    expect(await readdir(join(folder, '..'))).toEqual(['all']);
  });

  test('have times in UTC, and rows in the order of time', async () => {
    const chosen = ['--tables', 'responses', '--format'];
    const { folder } = await exportTo('a', ...chosen, 'ndjson');
    const text = await readFile(join(folder, 'responses.ndjson'), 'utf8');
    const parsed = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const times = parsed.map((row) => String(row['created_at']));
    expect(times[0]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    expect([...times].sort()).toEqual(times);
    const parquet = await exportTo('c', ...chosen, 'parquet', '--compression', 'snappy');
    const file = await asyncBufferFromFile(join(parquet.folder, 'responses.parquet'));
    expect((await parquetReadObjects({ file })).map(({ id }) => id)).toEqual(parsed.map((row) => row['id']));
    const { schema } = await parquetMetadataAsync(file);
    const moments = schema.filter(({ logical_type: type }) => type?.type === 'TIMESTAMP');
    expect(moments.map(({ name }) => name)).toEqual(['created_at', '_synced_at', '_deleted_at']);
    for (const { logical_type: type } of moments) expect(type).toMatchObject({ isAdjustedToUTC: true, unit: 'MICROS' });
    const csv = await workspace.done('export', ...chosen, 'csv', '--output', '-');
    expect(csv.stdout.split('\n')[0]?.split(',')).toEqual(Object.keys(parsed[0] ?? {}));
    expect(csv.stderr).toMatch(/^1 table, /);
  });

  test('are one workbook if the output is named .xlsx, which replaces an earlier one', async () => {
    const folder = await temporaryFolder();
    const output = join(folder, 'tables.xlsx');
    const args = ['export', '--tables', 'brands,prompts', '--output', output];
    await writeFile(output, 'an earlier workbook');
    const { stdout, stderr } = await workspace.done(...args);
    expect([stdout, stderr]).toEqual([`${output}\n`, expect.stringMatching(/^2 tables, /)]);
    expect((await readFile(output)).subarray(0, 2).toString()).toBe('PK');
    expect(await readdir(folder)).toEqual(['tables.xlsx']);
    const other = await workspace.run(...args, '--format', 'csv');
    expect(other).toMatchObject({ code: 2 });
    expect(other.stderr).toContain('cannot be combined with --format csv; allowed: --format xlsx, or a folder');
  });

  test('contain only the selected days and brands, and may be of views', async () => {
    const [days] = await workspace.rows(
      `SELECT strftime(max(created_at) - INTERVAL 2 DAY, '%Y-%m-%d') AS "from",
         strftime(max(created_at) - INTERVAL 1 DAY, '%Y-%m-%d') AS "to", any_value(brand_id) AS brand FROM responses`,
    );
    const { from, to, brand } = days as { from: string; to: string; brand: string };
    const range = ['--from', from, '--to', to, '--brand', brand.toUpperCase()];
    const names = 'responses,response_citations,metrics_daily,brands,brands_history,mart.visibility_weekly';
    const { tables } = await exportTo('some', '--tables', names, ...range);
    const rows = Object.fromEntries(tables.map((table) => [table.name, table.rows]));
    const [between, ofBrand] = [`BETWEEN DATE '${from}' AND DATE '${to}'`, `brand_id = '${brand}'`];
    const weeks = `week <= DATE '${to}' AND week + 6 >= DATE '${from}'`;
    for (const [name, condition] of [
      ['responses', `CAST(created_at AS DATE) ${between} AND ${ofBrand}`],
      ['response_citations', `CAST(created_at AS DATE) ${between} AND ${ofBrand}`],
      ['metrics_daily', `date ${between} AND ${ofBrand}`],
      ['brands', `id = '${brand}'`],
      ['brands_history', `id = '${brand}'`],
      ['mart.visibility_weekly', `${weeks} AND ${ofBrand}`],
    ] as const)
      expect(rows[name], name).toBe(await numberOf(`(SELECT count(*) FROM ${name} WHERE ${condition})`));
    expect(rows['mart.visibility_weekly']).toBeGreaterThan(0);
    expect(rows['responses']).toBeGreaterThan(0);
    const whole = await workspace.run('export', '--tables', 'brands', ...range, '--format', 'csv', '--output', '-');
    expect(whole.stderr).toContain('Exported completely, because their rows have no day: brands.\n');
  });

  test('contain each week, month and range with one of the selected days, and report what was cut', async () => {
    const [expected] = await workspace.rows(
      `WITH chosen AS (SELECT CAST(max(created_at) AS DATE) - 1 AS day, CAST(date_trunc('week', day) AS DATE) AS monday FROM responses)
       SELECT strftime(day, '%Y-%m-%d') AS day, strftime(monday, '%Y-%m-%d') AS monday,
         strftime(monday + 6, '%Y-%m-%d') AS sunday, strftime(date_trunc('month', day), '%Y-%m-%d') AS first,
         strftime(last_day(day), '%Y-%m-%d') AS last,
         (SELECT count(*) FROM mart.visibility_weekly WHERE week = monday)::INTEGER AS weekly,
         (SELECT count(*) FROM mart.visibility_weekly WHERE week <> monday)::INTEGER AS "otherWeeks",
         (SELECT count(*) FROM mart.net_sentiment_monthly WHERE month = date_trunc('month', day))::INTEGER AS monthly,
         (SELECT count(*) FROM metrics WHERE range_from <= day AND range_to >= day)::INTEGER AS metrics,
         (SELECT count(*) FROM responses WHERE CAST(created_at AS DATE) <> day)::INTEGER AS others FROM chosen`,
    );
    const { day, monday, sunday, first, last } = expected as Record<string, string>;
    const counts = expected as Record<string, number>;
    expect(Math.min(...['weekly', 'monthly', 'metrics', 'others'].map((name) => Number(counts[name])))).toBeGreaterThan(
      0,
    );
    const names = ['mart.visibility_weekly', 'mart.net_sentiment_monthly', 'metrics', 'responses', 'brands'];
    const args = ['--tables', names.join(','), '--from', String(day), '--to', String(day)];
    const { tables, folder } = await exportTo('partial', ...args);
    const { weekly, otherWeeks, monthly, metrics, others } = counts;
    expect(tables).toMatchObject([
      { rows: weekly, time: 'week', cut: { omitted: otherWeeks, partial: weekly, from: monday, to: sunday } },
      { rows: monthly, time: 'month', cut: { partial: monthly, from: first, to: last } },
      { rows: metrics, time: 'range_from' },
      { time: 'created_at', cut: { omitted: others, partial: 0, from: day, to: day } },
      { time: null, cut: { omitted: 0, partial: 0, from: null, to: null } },
    ]);
    const listing = JSON.parse(await readFile(join(folder, 'export.json'), 'utf8'));
    expect(listing.tables.map(({ cut }: { cut: unknown }) => cut)).toEqual(tables.map(({ cut }) => cut));

    const shown = await workspace.run('export', ...args, '--format', 'csv', '--output', join(folder, '..', 'text'));
    expect(shown.stderr).toContain(`mart.visibility_weekly covers ${monday} to ${sunday}: ${weekly} of its rows`);
    expect(shown.stderr).toMatch(
      new RegExp(`left out, because none of their days is selected:.* responses ${others}\\.`),
    );
  });

  test('may be only the changes since the last export, in a folder with the date', async () => {
    const parent = await temporaryFolder();
    const year = String(new Date(NOW_MS).getUTCFullYear());
    const to = (...args: string[]) => workspace.run('export', '--tables', 'brands', '--since', 'last', ...args);
    const first = await to('--output', join(parent, '%Y', '100%%'));
    expect(first).toMatchObject({ code: 0, stdout: `${join(parent, year, '100%')}\n` });
    expect(first.stderr).toContain('Changes from the start: 2 inserted, 0 updated, 0 deleted.');
    const later = await to('--output', '-', '--format', 'csv', '--name', join(parent, '%Y', '100%%'));
    expect(later.stdout.split('\n')).toEqual([expect.stringMatching(/^_change,id,/), '']);
    expect(later.stderr).toMatch(/Changes since \d{4}-.* UTC: 0 inserted, 0 updated, 0 deleted\./);
  });

  test('replace files of an earlier export only, also in the target of a symlink, which is kept', async () => {
    const parent = await temporaryFolder();
    const [folder, disk] = [join(parent, 'out'), join(parent, 'disk')];
    const to = (...args: string[]) => workspace.run('export', '--tables', 'brands', '--output', folder, ...args);
    await mkdir(disk);
    await symlink('disk', folder);
    for (const format of ['csv', 'ndjson']) {
      expect(await to('--format', format)).toMatchObject({ code: 0, stdout: `${folder}\n` });
      expect((await readdir(disk)).sort()).toEqual([`brands.${format}`, 'export.json']);
    }
    expect(await readlink(folder)).toBe('disk');
    expect((await readdir(parent)).sort()).toEqual(['disk', 'out']);
    await writeFile(join(disk, 'notes.txt'), 'mine');
    const refused = await to();
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('contains "notes.txt", which no export'),
    });
    expect((await readdir(disk)).sort()).toEqual(['brands.ndjson', 'export.json', 'notes.txt']);
  });

  test('are recovered after a crash between the two renames', async () => {
    const { folder } = await exportTo('out', '--tables', 'brands', '--format', 'csv');
    const parent = join(folder, '..');
    const before = hashes(folder);
    await rename(folder, join(parent, '.out.old-999999999'));
    await mkdir(join(parent, '.out.old-notes'));
    const failed = await workspace.run('export', '--tables', 'nothing', '--output', folder);
    expect(failed.code).toBe(2);
    expect(hashes(folder)).toEqual(before);
    expect((await readdir(parent)).sort()).toEqual(['.out.old-notes', 'out']);
  });

  test.each([
    ['--tables nope --output x', 'unknown table "nope"; allowed: '],
    ['--tables sync.runs --output x', 'unknown table "sync.runs"; allowed: '],
    ['--format csv', '--output is required'],
    ['--format csv --compression zstd --output x', '--compression cannot be combined with --format csv'],
    ['--from 2026-02-02 --to 2026-02-01 --output x', '--from 2026-02-02 is after --to 2026-02-01'],
    ['--brand me --output x', 'unknown brand "me"; allowed: '],
    ['--output -', '--output - allows one table'],
    ['--tables brands --output - --json', '--output - cannot be combined with --json'],
    ['--since yesterday --output x', '--since is "yesterday"; allowed: last, the ID of a snapshot such as'],
    ['--since last', '--output is required'],
    ['--since last --tables brands --output -', '--since last with --output - requires --name'],
    ['--since 20200101T000000Z --output x', 'no snapshot has the ID 20200101T000000Z; allowed: last'],
    [
      '--since last --tables mart.visibility_weekly --output x',
      '--since cannot be combined with the view mart.visibility_weekly',
    ],
    ['--name x --output x', '--name x requires --since last'],
    ['--output x/%y', '--output "x/%y" contains "%y"; allowed: %Y, %m, %d, %H'],
    ['--output x%', '--output "x%" contains "%"; allowed: %Y'],
  ])('are rejected with %s', async (line, message) => {
    const { code, stderr } = await workspace.run('export', ...line.split(' '));
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(`sightline: ${message}`) });
    expect(await readdir(workspace.folder)).toEqual(['data']);
  });
});

test('a snapshot shares unchanged files with the previous one, and its command prints the folder for scripts', async () => {
  const { stdout, stderr } = await workspace.done('export');
  expect(existsSync(join(stdout.trimEnd(), 'manifest.json'))).toBe(true);
  expect(Number.parseInt(stderr, 10)).toBe(EXPORTED.length);
  expect(stderr).toMatch(/^\d+ tables, [\d,]+ rows, \d+ files, [\d.]+ [kM]B\n0 files changed, 0 B; the others .*\n$/);
});

test('a snapshot with another compression is written again, and the command reports exactly the written files', async () => {
  const { snapshotId, path, tables, written, deleted } = await workspace.json('export', '--compression', 'zstd');
  expect(snapshotId).toMatch(/^\d{8}T\d{6}Z/);
  expect(path).toBe(join(workspace.data, 'snapshots', snapshotId));
  expect(await readlink(join(workspace.data, 'snapshots', 'latest'))).toBe(snapshotId);
  expect(deleted).toEqual([]);
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
  expect(written.files).toBe(tables.reduce((sum: number, table: { files: number }) => sum + table.files, 0));
});
