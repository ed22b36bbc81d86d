import { beforeAll, describe, expect, test } from 'vitest';
import type { JsonValue } from '../../src/cli/json/json-outputs.ts';
import { expectJson } from '../support/json-outputs.ts';
import type { Finished } from '../support/run-command.ts';
import { shareCli } from './helpers.ts';

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
