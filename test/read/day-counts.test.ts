import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addDays } from '../../src/contract/time.ts';
import { defaultConventions } from '../../src/metrics/calibration/conventions.ts';
import { type GroupTally, readDayCounts, type Selection, tally } from '../../src/metrics/numbers/aggregate.ts';
import { createBrandCounts } from '../../src/read/brand-counts.ts';
import type { Query } from '../../src/warehouse/database.ts';
import { countOf } from '../support/counts.ts';
import { openWorkspace, type TestWorkspace } from '../support/workspace.ts';

const MODES = ['first', 'best', 'each'] as const;
const FIRST = '2026-03-07';
const LABELS = [['positive', 'neutral', 'negative', 'mixed'], ['', 'negative'], []] as const;
const MANY = 1_000_000;

type Mode = (typeof MODES)[number];

interface World {
  readonly workspace: TestWorkspace;
  readonly query: Query;
  readonly engines: readonly string[];
  selection(mode: Mode, labels: readonly string[]): Omit<Selection, 'from' | 'to'>;
}

// Some responses list a competitor twice, have no label, no engine or no time, or are deleted.
async function openWorld(): Promise<World> {
  const workspace = await openWorkspace({ world: 'small' });
  const { database, catalogue } = workspace.warehouse();
  await database.transaction(async ({ run }) => {
    await run(`INSERT INTO response_competitors SELECT * REPLACE (ordinal + 100 AS ordinal, coalesce(position, 9) - 1 AS position,
      'negative' AS sentiment) FROM response_competitors WHERE rowid % 3 = 0`);
    await run(`UPDATE response_competitors SET sentiment = NULL WHERE rowid % 7 = 0`);
    await run(`UPDATE responses SET brand_sentiment = NULL WHERE rowid % 5 = 0`);
    for (const table of ['responses', 'response_competitors']) {
      const id = table === 'responses' ? 'id' : 'response_id';
      const some = (rest: number): string => `WHERE hash(${id}) % 11 = ${rest}`;
      await run(`UPDATE ${table} SET engine = NULL ${some(0)}`);
      await run(`UPDATE ${table} SET created_at = NULL ${some(1)}`);
      await run(`UPDATE ${table} SET _deleted_at = TIMESTAMP '2026-03-15' ${some(2)}`);
    }
  });
  const [brand] = await workspace.query('SELECT CAST(id AS VARCHAR) AS id FROM brands');
  const engines = await workspace.query('SELECT DISTINCT engine FROM responses WHERE engine IS NOT NULL ORDER BY 1');
  return {
    workspace,
    query: (sql, parameters) => database.exclusive((session) => session.query(sql, parameters)),
    engines: engines.map(({ engine }) => String(engine)),
    selection: (mode, labels) => ({
      catalogue,
      brandId: String(brand?.['id']),
      declared: catalogue.get('metrics_daily').query,
      values: {},
      mayRepeat: true,
      counting: {
        ...defaultConventions,
        repeatedMentions: mode,
        labels: Object.fromEntries(labels.map((label) => [label, 1])),
      },
    }),
  };
}

// Groups and competitors have no order.
function sorted(groups: readonly GroupTally[]): unknown[] {
  return groups
    .map(({ key, own, competitors }) => ({ key, own, competitors: [...competitors].toSorted() }))
    .toSorted((a, b) => (JSON.stringify(a.key) < JSON.stringify(b.key) ? -1 : 1));
}

test('counts by day and engine add to those of SQL for random days, engines, groupings and labels', async () => {
  const { query, engines, selection } = await openWorld();
  const counts = new Map<string, Selection['counts']>();
  for (const mode of MODES) {
    for (const labels of LABELS) {
      const groups = await readDayCounts(query, selection(mode, labels), MANY);
      counts.set(JSON.stringify([mode, labels]), groups ?? []);
    }
  }
  const day = fc.integer({ min: -3, max: 16 }).map((days) => addDays(FIRST, days));
  let withRows = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        mode: fc.constantFrom(...MODES),
        from: day,
        // A few ranges are reversed.
        span: fc.integer({ min: -2, max: 18 }),
        engine: fc.option(fc.constantFrom(...engines, 'none'), { nil: undefined }),
        grouping: fc.constantFrom('nothing' as const, 'day' as const, 'day-and-engine' as const),
        labels: fc.constantFrom(...LABELS),
      }),
      async ({ mode, from, span, engine, grouping, labels }) => {
        const values = engine === undefined ? {} : { engine };
        const wanted: Selection = { ...selection(mode, labels), from, to: addDays(from, span), values };
        const known = counts.get(JSON.stringify([mode, labels])) ?? [];
        const added = await tally(
          () => Promise.reject(new Error('SQL is run')),
          { ...wanted, counts: known },
          grouping,
        );
        expect(sorted(added)).toEqual(sorted(await tally(query, wanted, grouping)));
        if (added.some(({ own, competitors }) => own.responses > 0 && competitors.size > 0)) withRows += 1;
      },
    ),
    { numRuns: countOf(100, 1_000) },
  );
  expect(withRows).toBeGreaterThan(15);
});

test('filters and groupings by prompt are counted with SQL', async () => {
  const { query, selection, workspace } = await openWorld();
  const [prompt] = await workspace.query('SELECT CAST(id AS VARCHAR) AS id FROM prompts');
  const brand = { ...selection('first', LABELS[0]), from: FIRST, to: addDays(FIRST, 9) };
  for (const [values, grouping] of [
    [{}, 'prompt'],
    [{ promptId: String(prompt?.['id']) }, 'day'],
    [{ branded: 'branded' }, 'day'],
  ] as const) {
    const wanted = { ...brand, values };
    expect(sorted(await tally(query, { ...wanted, counts: [] }, grouping))).toEqual(
      sorted(await tally(query, wanted, grouping)),
    );
  }
});

test('counts of a brand are read once after its first request, unless they are too many or cannot be read', async () => {
  const { query, selection } = await openWorld();
  const brand = selection('first', LABELS[0]);
  const groups = (await readDayCounts(query, brand, MANY)) ?? [];
  const rows = groups.reduce((sum, { competitors }) => sum + 1 + competitors.size, 0);
  expect(rows).toBeGreaterThan(20);
  expect(await readDayCounts(query, brand, rows - 1)).toBe(null);
  let reads = 0;
  const limits: number[] = [];
  const counts = createBrandCounts(async (brandId, countsMax) => {
    reads += 1;
    limits.push(countsMax);
    if (brandId === 'failing') throw new Error('stopped');
    return brandId === 'large' ? null : groups;
  });
  for (const brandId of [brand.brandId, 'failing', 'large', 'last'])
    for (let request = 0; request < 2; request++) expect(counts.of(brandId)).toBe(undefined);
  await counts.settled();
  expect(counts.of(brand.brandId)).toBe(groups);
  expect(counts.of('failing')).toBe(undefined);
  expect(counts.of('large')).toBe(undefined);
  expect(reads).toBe(4);
  expect(limits).toEqual([limits[0], Number(limits[0]) - rows, Number(limits[0]) - rows, Number(limits[0]) - rows]);
});
