import { existsSync } from 'node:fs';
import { mkdir, readdir, readlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { publishedMarts } from '../../src/analytics/marts/published.ts';
import { systemClock } from '../../src/base/clock.ts';
import { visible } from '../../src/base/visible.ts';
import type { JsonValue } from '../../src/cli/json/json-outputs.ts';
import { builtInCatalogue as catalogue } from '../../src/session/catalogues.ts';
import { catalogueTables } from '../../src/snapshot/exported-table.ts';
import { countOf } from '../support/counts.ts';
import { temporaryFolder } from '../support/folders.ts';
import { expectJson } from '../support/json-outputs.ts';
import { NO_PROBES } from '../support/no-probes.ts';
import { type Finished, runCommand } from '../support/run-command.ts';
import { rowsIn, shareCli } from './helpers.ts';

/** The tables of a snapshot with the default settings. */
const EXPORTED = [...catalogueTables(catalogue), ...publishedMarts('star')];
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

const workspace = shareCli({ brands: 2, prompts: 1, days: 1 });
let first: Finished;

beforeAll(async () => {
  first = await workspace.done('sync', '--json');
});

describe('sync', () => {
  test('prints one line of JSON with the row counts of the warehouse, and a summary on standard error', async () => {
    expect(first.stdout.split('\n')).toHaveLength(2);
    const result = expectJson<JsonValue<'sync'>>('sync', first.stdout);
    expect(result).toMatchObject({
      runId: expect.stringMatching(UUID),
      status: 'complete',
      requests: workspace.sandbox.requests.length,
      retries: 0,
      quarantined: 0,
      failures: [],
      warnings: [],
    });
    expect(result).not.toHaveProperty('error');
    expect(result.tables['responses']).toMatchObject({ updated: 0, deleted: 0 });
    expect(first.stderr).toMatch(
      /^sync complete: [\d,]+ rows inserted, 0 updated, 0 deleted; \d+ requests \(0 repeated\) in .*\n$/,
    );
    const tables = Object.entries(result.tables);
    const counts = tables.map(([name]) => `select '${name}' as name, count(*) as rows from "${name}"`);
    const inserted = tables.map(([name, table]) => ({ name, rows: table.inserted }));
    expect(await workspace.rows(counts.join(' union all '))).toEqual(inserted);
    expect(tables.length).toBeGreaterThan(10);
  });

  test('fetches the given resources, brands and days, and reports that nothing has changed', async () => {
    const [brand, other] = await workspace.rows('select id, name from brands order by id');
    const day = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
    const sent = workspace.sandbox.requests.length;
    const only = ['--only', 'competitors,prompts', 'responses', '--from', day, '--to', day];
    const { stdout, stderr } = await workspace.done('sync', ...only, '--brand', String(brand?.['name']).toUpperCase());
    expect(stderr).toMatch(/^sync complete: 0 rows inserted, 0 updated, 0 deleted/);
    expect(stdout).toBe('');
    const asked = workspace.sandbox.requests.slice(sent);
    const paths = asked.map(({ path }) => path).join(' ');
    for (const name of ['competitors', 'prompts', 'responses']) expect(paths).toContain(name);
    expect(paths).not.toMatch(/alerts|traffic|forum/);
    expect(paths).not.toContain(other?.['id']);
    const ofDays = asked.filter(({ path }) => path.endsWith('/responses'));
    expect(ofDays.length).toBeGreaterThan(0);
    for (const { query } of ofDays) expect(query).toContain(`from=${day}&to=${day}`);
  });
});

describe('export', () => {
  test('reports exactly the files that it wrote', async () => {
    const { snapshotId, path, tables } = await workspace.json('export');
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
    const { stdout, stderr } = await workspace.done('export');
    expect(existsSync(join(stdout.trimEnd(), 'manifest.json'))).toBe(true);
    expect(Number.parseInt(stderr, 10)).toBe(EXPORTED.length);
    expect(stderr).toMatch(/^\d+ tables, [\d,]+ rows, \d+ files, [\d.]+ [kM]B\n0 files changed, 0 B; the others .*\n$/);
  });
});

test('settings are read from .env, and the environment overrides it', async () => {
  const { baseUrl, key } = workspace.sandbox;
  const cwd = await temporaryFolder();
  await writeFile(join(cwd, '.env'), `SIGHTLINE_BASE_URL=${baseUrl}\nSIGHTLINE_API_KEY="${key}"\n`);
  const plan = (env: Record<string, string>) => runCommand(['plan', '--only', 'engines'], { cwd, env });
  expect(await plan({})).toMatchObject({ code: 0 });
  const overridden = await plan({ SIGHTLINE_API_KEY: 'gsk_of_the_environment' });
  expect(overridden).toMatchObject({ code: 1, stderr: expect.stringContaining('401') });
});

describe('demo', () => {
  test('replaces an earlier demo, keeps its data, and prints without a terminal no colours', async () => {
    const cwd = await temporaryFolder();
    const folder = join(cwd, 'data', 'demo');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, '.demo'), '');
    await writeFile(join(folder, 'of-the-earlier-demo'), '');
    // Two days, because today has few responses just after midnight.
    const days = String(countOf(2, 60));
    const env = { ...NO_PROBES, TERM: 'xterm-256color' };
    const demo = ['demo', '--days', days];
    const { code, stdout, stderr } = await runCommand(demo, { cwd, env, clock: systemClock });
    expect(code, stderr).toBe(0);
    expect(visible(stdout + stderr)).toBe(stdout + stderr);
    const made = ['.demo', 'analytics.duckdb', 'raw', 'snapshots', 'warehouse.duckdb'];
    expect((await readdir(folder)).sort()).toEqual(made);
    for (const title of ['our key figures', 'week by week', 'In which topics']) expect(stdout).toContain(title);
    for (const path of ['warehouse.duckdb', 'analytics.duckdb', 'snapshots/latest']) {
      expect(stdout).toContain(join('data/demo', path));
      expect(existsSync(join(folder, path))).toBe(true);
    }
    expect(stdout.match(/\n[1-9]\d* rows\n/g)).toHaveLength(3);
    const owners = `select owner, count(*) > 1 as several, (select count(*) > ${countOf(20, 100)} from responses) as many
      from mart.dim_domain group by owner order by owner`;
    const found = await rowsIn(cwd, { SIGHTLINE_WORKSPACE: 'demo' }, owners);
    expect(found).toEqual(
      ['competitor', 'owned', 'third party'].map((owner) => ({ owner, several: true, many: true })),
    );
  });
});
