import { expect, test } from 'vitest';
import { BRAND_HINT, expectRefusal, openCli } from './helpers.ts';
import { oneOf, readCopy, tamper } from './tamper.ts';

interface Verified {
  readonly agrees: boolean;
  readonly brands: {
    readonly brandId: string;
    readonly verifiedThrough: string | null;
    readonly days: { readonly verified: number; readonly agree: number };
    readonly differing: { readonly day: string; readonly differences: { readonly measure: string }[] }[];
    readonly settling: { readonly day: string }[];
    readonly ranges: { readonly report: string; readonly status: string }[];
  }[];
  readonly repair: {
    readonly ranges: { readonly from: string; readonly to: string }[];
    readonly requests: number;
  } | null;
}

const dayAgo = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);

test('agrees with upstream after a sync, and stores the last verified day', async () => {
  const workspace = await openCli({ brands: 2, prompts: 3, days: 12 });
  expect((await workspace.run('sync')).code).toBe(0);
  const sent = workspace.sandbox.requests.length;
  // Early in the day a brand may not have a response yet, so that nothing is settling.
  const since = `created_at >= TIMESTAMPTZ '${dayAgo(0)} 00:00:00+00'`;
  const young = await readCopy(workspace, `SELECT DISTINCT CAST(brand_id AS VARCHAR) FROM responses WHERE ${since}`);
  const settlingOf = (brandId: string) => (young.some(([id]) => id === brandId) ? [dayAgo(0)] : []);
  const days = 22 + young.length;
  const { code, stdout, stderr } = await workspace.run('verify', '--json');
  expect(code, stderr).toBe(0);
  const result = JSON.parse(stdout) as Verified;
  expect(result).toMatchObject({ agrees: true, repair: null });
  expect(result.brands).toHaveLength(2);
  for (const brand of result.brands) {
    const settling = settlingOf(brand.brandId);
    expect(brand).toMatchObject({
      differing: [],
      verifiedThrough: dayAgo(1),
      days: { verified: 11 + settling.length, agree: 11 },
    });
    expect(brand.settling.map(({ day }) => day)).toEqual(settling);
    expect(brand.ranges.map(({ report }) => report)).toContain('metrics_groups by tag');
    expect(new Set(brand.ranges.map(({ status }) => status))).toEqual(new Set(['agrees']));
  }
  expect(workspace.sandbox.requests.length).toBe(sent);
  const kept =
    "select count(*) as days, count(*) filter (agrees) as agree from sync.verifications where measure = 'day'";
  expect(await readCopy(workspace, kept)).toEqual([[days, 22]]);
  const again = await workspace.run('verify');
  expect(again.code, again.stderr).toBe(0);
  expect(again.stderr).toBe(`all figures agree: ${days} days of 2 brands\n`);
  expect(again.stdout).toContain('verified through');
  expect(await readCopy(workspace, kept)).toEqual([[days, 22]]);
});

test('finds rows that were changed directly, and repairs them with a few requests', async () => {
  const workspace = await openCli({ brands: 1, prompts: 6, days: 16 });
  expect((await workspace.run('sync')).code).toBe(0);
  const rows = 'select * exclude (_synced_at, _run_id, _row_hash) from';
  const contents = () => Promise.all(tables.map((table) => readCopy(workspace, `${rows} ${table} order by all`)));
  const before = await contents();
  const changed = await tamper(
    workspace,
    `DELETE FROM responses WHERE ${oneOf('responses', 9)}`,
    `UPDATE responses SET brand_mentioned = NOT brand_mentioned WHERE ${oneOf('responses', 8)}`,
    `UPDATE response_competitors SET position = position + 7 WHERE ${oneOf('response_competitors', 6, 'position IS NOT NULL')}`,
    `INSERT INTO responses SELECT * FROM responses WHERE ${oneOf('responses', 4)}`,
  );
  expect(changed).toEqual([1, 1, 1, 1]);
  const found = await workspace.run('verify', '--json');
  expect(found.code, found.stderr).toBe(3);
  const [brand] = (JSON.parse(found.stdout) as Verified).brands;
  expect(brand?.verifiedThrough).toBe(dayAgo(10));
  expect(brand?.differing.map(({ day }) => day)).toEqual([dayAgo(9), dayAgo(8), dayAgo(6), dayAgo(4)]);
  expect(brand?.differing.map(({ differences }) => differences[0]?.measure)).toEqual([
    'responses',
    'mentions',
    'avgPosition',
    'responses',
  ]);
  expect(found.stderr).toContain('1 of 1 brand differs; `sightline verify --repair`');
  const sent = workspace.sandbox.requests.length;
  const mended = await workspace.run('verify', '--repair', '--json');
  expect(mended.code, mended.stderr).toBe(0);
  const { repair, agrees } = JSON.parse(mended.stdout) as Verified;
  expect(agrees).toBe(true);
  expect(repair?.ranges.map(({ from, to }) => [from, to])).toEqual([
    [dayAgo(9), dayAgo(8)],
    [dayAgo(6), dayAgo(6)],
    [dayAgo(4), dayAgo(4)],
  ]);
  // Requests per range: the brands, the description, two resources with day counts, and the page of the day.
  expect(repair?.requests).toBe(workspace.sandbox.requests.length - sent);
  expect(repair?.requests).toBeLessThanOrEqual(3 * 6);
  expect(await contents()).toEqual(before);
});

test('finds a lost citation by the cited domains of the range, and fetches that range again', async () => {
  const workspace = await openCli({ brands: 1, prompts: 5, days: 8 });
  expect((await workspace.run('sync')).code).toBe(0);
  await tamper(workspace, `DELETE FROM response_citations WHERE ${oneOf('response_citations', 5)}`);
  const found = await workspace.run('verify');
  expect(found.code).toBe(3);
  expect(found.stderr).toMatch(/cited_domains .*: citations of /);
  const mended = await workspace.run('verify', '--repair');
  expect(mended.code, mended.stderr).toBe(0);
});

test('finds changes at upstream with fresh reports', async () => {
  const workspace = await openCli({ brands: 1, prompts: 5, days: 12 });
  expect((await workspace.run('sync')).code).toBe(0);
  workspace.sandbox.advance({ deletedResponses: 8 });
  expect((await workspace.run('verify')).code).toBe(0);
  const found = await workspace.run('verify', '--fresh', '--json');
  expect(found.code, found.stderr).toBe(3);
  const [brand] = (JSON.parse(found.stdout) as Verified).brands;
  expect(brand?.differing.length).toBeGreaterThan(0);
  const mended = await workspace.run('verify', '--repair');
  expect(mended.code, mended.stderr).toBe(0);
});

test('rejects invalid arguments', async () => {
  const workspace = await openCli({ brands: 1, prompts: 3, days: 3 });
  expectRefusal(await workspace.run('verify', '--json'), 'no_data', true);
  expect((await workspace.run('sync')).code).toBe(0);
  expectRefusal(await workspace.run('verify', '--brand', 'nobody'), 'usage', false, BRAND_HINT);
  expectRefusal(await workspace.run('verify', '--from', '2026-02-30'), 'usage', false);
  expectRefusal(await workspace.run('verify', '--to', '2026-02-01', '--json'), 'usage', true);
  const nothing = await workspace.run('verify', '--from', '2020-01-01', '--to', '2020-01-31');
  expect(nothing.code).toBe(0);
  expect(nothing.stderr).toContain('nothing to verify');
});

const tables = ['responses', 'response_competitors', 'response_citations'];
