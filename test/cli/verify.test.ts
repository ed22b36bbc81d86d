import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { JsonValue } from '../../src/cli/json/json-outputs.ts';
import { DAY_MS, dayOf } from '../../src/contract/time.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { NOW_MS } from '../support/clocks.ts';
import { expectJson } from '../support/json-outputs.ts';
import { BRAND_HINT, expectRefusal, openCli, shareCli } from './helpers.ts';

type Verified = JsonValue<'verify'>;

const TABLES = ['responses', 'response_competitors', 'response_citations'];
const KEPT = "select count(*) as days, count(*) filter (agrees) as agree from sync.verifications where measure = 'day'";

const workspace = shareCli({ world: 'small' });

function dayAgo(days: number): string {
  return dayOf(NOW_MS - days * DAY_MS);
}

/** A condition for one row of a table on the day this many days ago. */
function oneOf(table: string, daysAgo: number, where = 'true'): string {
  const day = `CAST(created_at AS DATE) = DATE '${dayAgo(daysAgo)}'`;
  return `rowid = (SELECT min(rowid) FROM ${table} WHERE ${day} AND ${where})`;
}

/** Changes the warehouse directly. Returns the number of rows that each statement changed. */
async function tamper(...statements: readonly string[]): Promise<number[]> {
  const database = await openDatabase(join(workspace.data, 'warehouse.duckdb'));
  try {
    const changed: number[] = [];
    for (const sql of statements) changed.push(await database.exclusive((session) => session.run(sql)));
    return changed;
  } finally {
    await database.close();
  }
}

async function verify(code: number, ...flags: string[]): Promise<Verified> {
  const finished = await workspace.run('verify', '--json', ...flags);
  expect(finished.code, finished.stderr).toBe(code);
  if (code === 0) expect(finished.stderr).toMatch(/^all figures agree: \d+ days of 2 brands$/m);
  return expectJson<Verified>('verify', finished.stdout);
}

test('agrees with upstream after a sync, and stores the last verified day', async () => {
  const { rows, sandbox } = workspace;
  const result = await verify(0);
  expect(result).toMatchObject({ agrees: true, repair: null });
  expect(result.brands).toHaveLength(2);
  for (const brand of result.brands) {
    expect(brand).toMatchObject({ differing: [], verifiedThrough: dayAgo(1), days: { verified: 8, agree: 7 } });
    expect(brand.settling.map(({ day }) => day)).toEqual([dayAgo(0)]);
    expect(brand.ranges.map(({ report }) => report)).toContain('metrics_groups by tag');
    expect(new Set(brand.ranges.map(({ status }) => status))).toEqual(new Set(['agrees']));
  }
  expect(await rows(KEPT)).toEqual([{ days: 16, agree: 14 }]);
  expect(sandbox.requests).toEqual([]);
});

test('finds rows that were changed directly and a lost citation, and repairs them with a few requests', async () => {
  const { run, rows, sandbox } = workspace;
  const select = 'select * exclude (_synced_at, _run_id, _row_hash) from';
  const contents = () => Promise.all(TABLES.map((table) => rows(`${select} ${table} order by all`)));
  const before = await contents();
  const [{ id } = {}, { id: other } = {}] = await rows('select brand_id as id from responses group by 1 order by 1');
  const own = `brand_id = '${id}'`;
  const changed = await tamper(
    `DELETE FROM responses WHERE ${oneOf('responses', 7, own)}`,
    `UPDATE responses SET brand_mentioned = NOT brand_mentioned WHERE ${oneOf('responses', 6, own)}`,
    `UPDATE response_competitors SET position = position + 7
       WHERE ${oneOf('response_competitors', 4, `${own} AND position IS NOT NULL`)}`,
    `INSERT INTO responses SELECT * FROM responses WHERE ${oneOf('responses', 3, own)}`,
    `DELETE FROM response_citations WHERE ${oneOf('response_citations', 5, `brand_id = '${other}'`)}`,
  );
  expect(changed).toEqual([1, 1, 1, 1, 1]);
  const { stdout, stderr, code } = await run('verify', '--json');
  expect(code).toBe(3);
  const found = expectJson<Verified>('verify', stdout).brands.filter(({ differing }) => differing.length > 0);
  expect(found).toMatchObject([{ brandId: id, verifiedThrough: null }]);
  const differing = found[0]?.differing.map(({ day, differences }) => [day, differences[0]?.measure]);
  expect(differing).toEqual([
    [dayAgo(7), 'responses'],
    [dayAgo(6), 'mentions'],
    [dayAgo(4), 'avgPosition'],
    [dayAgo(3), 'responses'],
  ]);
  // A lost citation is found by the cited domains of the range.
  expect(stderr).toMatch(/cited_domains .*: citations of /);
  expect(stderr).toContain('2 of 2 brands differ; `sightline verify --repair`');
  const sent = sandbox.requests.length;
  const { repair, agrees } = await verify(0, '--repair');
  expect(agrees).toBe(true);
  expect(repair?.ranges.map(({ brandId, from, to }) => [brandId, from, to])).toEqual([
    [id, dayAgo(7), dayAgo(6)],
    [id, dayAgo(4), dayAgo(3)],
    [other, dayAgo(29), dayAgo(0)],
  ]);
  // Requests per range: the brands, the description, two resources with day counts, and the pages of the days.
  expect(repair?.requests).toBe(sandbox.requests.length - sent);
  expect(repair?.requests).toBeLessThanOrEqual(3 * 7);
  expect(await contents()).toEqual(before);
});

test('finds changes at upstream with fresh reports', async () => {
  const { sandbox, run, json } = await openCli({ world: 'tiny' });
  sandbox.advance({ deletedResponses: 8 });
  const { code, stdout, stderr } = await run('verify', '--json', '--fresh');
  expect(code).toBe(3);
  expect(stderr).toContain('1 of 1 brand differs; `sightline verify --repair`');
  const { brands } = expectJson<Verified>('verify', stdout);
  expect(brands.flatMap(({ differing }) => differing).length).toBeGreaterThan(0);
  expect((await json('runs'))[0]).toMatchObject({ kind: 'verify', trigger: 'command' });
});

test('rejects invalid arguments', async () => {
  const { run } = workspace;
  expectRefusal(await run('verify', '--brand', 'nobody'), 'usage', false, BRAND_HINT);
  expectRefusal(await run('verify', '--to', '2026-02-01', '--json'), 'usage', true);
  const nothing = await run('verify', '--from', '2020-01-01', '--to', '2020-01-31');
  expect(nothing).toMatchObject({ code: 0, stdout: expect.stringContaining('verified through') });
  expect(nothing.stderr).toContain('nothing to verify');
});
