import { describe, expect, test } from 'vitest';
import type { Choices } from '../../schemas/fixtures/choices.ts';
import { defaultConventions } from '../../src/metrics/calibration/conventions.ts';
import { readCalibratedConventions } from '../../src/metrics/calibration/findings.ts';
import { createComparison } from '../../src/metrics/verification/comparison.ts';
import { type BrandVerification, verifyBrand } from '../../src/metrics/verification/verify-brand.ts';
import { sampleOf } from '../support/counts.ts';
import { openWorkspace, type TestWorkspace } from '../support/workspace.ts';
import { conventionsOf, storeConventions } from './workspace.ts';

/** Days of the world `small`. */
const DAYS = 8;
/** Conventions that an upstream may use; worlds have the default ones. */
const upstreams: readonly Partial<Choices>[] = [
  { scale: 'fraction', decimals: 3, emptyShare: null, emptyDays: 'zero', domainShareOf: 'responses' },
  { decimals: 'none', ungrouped: 'null', groupPrompts: 'all', combinedEngine: 'all' },
];

test.each([
  // mode, written, exact, whether they differ
  ['half-away', 2.4, 2.36, false],
  ['half-away', 2.3, 2.36, true],
  ['down', 2.3, 2.36, false],
  ['down', 2.4, 2.36, true],
  ['half-away', 3, null, true],
  ['half-away', 0, null, false],
] as const)('a mean rounded %s and written as %d differs from %s: %s', (mode, written, exact, differs) => {
  const conventions = { ...defaultConventions, avgPosition: { decimals: 1, mode } };
  const { numberDiffers } = createComparison(conventions, new Set(['avgPosition']));
  expect(numberDiffers('avgPosition', written, exact)).toBe(differs);
});

describe('verifyBrand', () => {
  test.each(sampleOf(upstreams, 1))(
    'finds no differences if there are none, with upstream conventions %j',
    async (choices) => {
      const workspace = await openWorkspace({ brands: 1, prompts: 3, days: DAYS, choices });
      await workspace.sync();
      await storeConventions(workspace, conventionsOf(choices));
      expectEqual(await verify(workspace));
    },
  );

  test('reports a response stored with the wrong prompt although every day agrees, and a mention that is not stored', async () => {
    const workspace = await openWorkspace({ world: 'small' });
    const own = 'FROM responses WHERE brand_id = (SELECT min(id) FROM brands)';
    await workspace.query(`UPDATE responses SET prompt_id = (SELECT min(prompt_id) ${own})
      WHERE rowid = (SELECT min(rowid) ${own} AND prompt_id > (SELECT min(prompt_id) ${own})
        AND created_at < (SELECT max(created_at) ${own}) - INTERVAL 5 DAY)`);
    const { days, ranges } = await verify(workspace);
    expect(days.filter(({ status }) => status === 'differs')).toEqual([]);
    const prompts = ranges.find(({ report }) => report === 'metrics_prompts');
    expect(prompts).toMatchObject({ status: 'differs', countsDiffer: true });
    expect(prompts?.differences.map(({ measure }) => measure)).toContain('responses');
    await workspace.query(
      `UPDATE responses SET brand_mentioned = false WHERE rowid = (SELECT min(rowid) ${own} AND brand_mentioned AND created_at < (SELECT max(created_at) ${own}) - INTERVAL 2 DAY)`,
    );
    const [day] = (await verify(workspace)).days.filter(({ status }) => status === 'differs');
    expect(day?.differences.map(({ measure }) => measure)).toContain('mentions');
  });

  test('excuses a few new responses of cited domains only if they can have arrived after the responses were read', async () => {
    const workspace = await openWorkspace({ world: 'small' });
    expectEqual(await verify(workspace));
    const change = (sign: string, count: number) =>
      workspace.query(`UPDATE cited_domains SET responses = responses ${sign} ${count}, citations = citations ${sign} ${count}
        WHERE rowid = (SELECT min(rowid) FROM cited_domains WHERE range_to = (SELECT max(range_to) FROM cited_domains) AND responses > 3)`);
    const status = async () => {
      const { ranges } = await verify(workspace);
      return ranges.find(({ report }) => report.startsWith('cited_domains'))?.status;
    };
    const setReadBefore = (minutes: number) =>
      workspace.query(`UPDATE sync.coverage SET closed_at = (SELECT max(closed_at) FROM sync.coverage WHERE resource = 'cited_domains')
        - INTERVAL ${minutes} MINUTE WHERE resource = 'responses'`);
    expect(await status()).toBe('agrees');
    await change('+', 1);
    await setReadBefore(0);
    expect(await status()).toBe('differs');
    await setReadBefore(10);
    expect(await status()).toBe('settling');
    // Too many for ten minutes.
    await change('+', 4);
    expect(await status()).toBe('differs');
    await change('-', 6);
    expect(await status()).toBe('differs');
  });

  test('compares no engine that upstream never counts, and each engine that it has counted', async () => {
    const workspace = await openWorkspace({ world: 'small' });
    const rows = "metrics_daily WHERE engine = (SELECT max(engine) FROM responses) AND row_mode = 'engine'";
    await workspace.query(`CREATE TABLE counted AS FROM ${rows}`);
    await workspace.query(`DELETE FROM ${rows}`);
    expectEqual(await verify(workspace));
    await workspace.query('INSERT INTO metrics_daily FROM counted');
    await workspace.query(`UPDATE ${rows.replace('WHERE', 'SET _deleted_at = _synced_at WHERE')}`);
    expect((await verify(workspace)).days.map(({ status }) => status)).toContain('differs');
  });

  test('ignores numbers of default conventions, and marks days without a report as unreported', async () => {
    const workspace = await openWorkspace({ world: 'small' });
    await workspace.query("UPDATE sync.calibration SET source = 'default'");
    await workspace.query('UPDATE responses SET brand_position = brand_position + 1');
    expect((await verify(workspace)).days.flatMap(({ differences }) => differences)).toEqual([]);
    await workspace.query(
      "DELETE FROM sync.coverage WHERE resource = 'metrics_daily' AND range_to >= DATE '2026-01-01'",
    );
    const { days } = await verify(workspace);
    expect(new Set(days.map(({ status }) => status))).toEqual(new Set(days.length === 0 ? [] : ['unreported']));
  });
});

function expectEqual({ days, ranges }: BrandVerification): void {
  expect(days.flatMap(({ differences }) => differences)).toEqual([]);
  expect(days.map(({ status }) => status)).toEqual([...Array(DAYS - 1).fill('agrees'), 'settling']);
  expect(ranges.flatMap(({ differences }) => differences)).toEqual([]);
  expect(ranges.every(({ compared }) => compared > 0)).toBe(true);
}

async function verify({ catalogue, warehouse }: TestWorkspace): Promise<BrandVerification> {
  return warehouse().database.transaction(async ({ query }) => {
    const { conventions, learned: known } = await readCalibratedConventions(query);
    const [row] = await query('SELECT CAST(min(id) AS VARCHAR) FROM brands');
    return verifyBrand({ catalogue, query, conventions, known, brandId: String(row?.[0]), range: null });
  });
}
