import fc from 'fast-check';
import { expect, test } from 'vitest';
import { defaultConventions } from '../../src/analytics/calibration/conventions.ts';
import { type DayCounts, type GroupTally, type Selection, tally } from '../../src/analytics/numbers/aggregate.ts';
import { readDayCounts } from '../../src/analytics/numbers/day-counts.ts';
import { addDays } from '../../src/contract/time.ts';
import { createBrandCounts } from '../../src/query/brand-counts.ts';
import type { Query } from '../../src/warehouse/database.ts';
import { countOf } from '../support/counts.ts';
import { openWorkspace, type TestWorkspace } from '../support/workspace.ts';

const MODES = ['first', 'best', 'each'] as const;
const FIRST = '2026-03-07';

type Mode = (typeof MODES)[number];

interface World {
  readonly workspace: TestWorkspace;
  readonly query: Query;
  readonly engines: readonly string[];
  selection(mode: Mode): Omit<Selection, 'from' | 'to'>;
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
    selection: (mode) => ({
      catalogue,
      brandId: String(brand?.['id']),
      declared: catalogue.get('metrics_daily').query,
      values: {},
      mayRepeat: true,
      counting: { ...defaultConventions, repeatedMentions: mode },
    }),
  };
}

// Groups and competitors have no order.
function sorted(groups: readonly GroupTally[]): unknown[] {
  return groups
    .map(({ key, own, competitors }) => ({ key, own, competitors: [...competitors].toSorted() }))
    .toSorted((a, b) => (JSON.stringify(a.key) < JSON.stringify(b.key) ? -1 : 1));
}

test('counts in memory are those of SQL for random days, engines, groupings and labels', async () => {
  const { query, engines, selection } = await openWorld();
  const counts = new Map<Mode, DayCounts | null>();
  for (const mode of MODES) counts.set(mode, await readDayCounts(query, selection(mode)));
  const day = fc.integer({ min: -3, max: 16 }).map((days) => addDays(FIRST, days));
  let withRows = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        mode: fc.constantFrom(...MODES),
        from: day,
        // A few ranges are reversed.
        span: fc.integer({ min: -2, max: 18 }),
        lastDay: fc.option(day, { nil: undefined }),
        engine: fc.option(fc.constantFrom(...engines, 'none'), { nil: undefined }),
        grouping: fc.constantFrom('nothing' as const, 'day' as const, 'day-and-engine' as const),
        labels: fc.subarray(['positive', 'neutral', 'negative', 'mixed', '']),
      }),
      async ({ mode, from, span, lastDay, engine, grouping, labels }) => {
        const to = addDays(from, span);
        const values = engine === undefined ? {} : { engine };
        const limited = lastDay === undefined ? {} : { lastDay };
        const wanted: Selection = { ...selection(mode), from, to, values, ...limited };
        const expected = sorted(await tally(query, wanted, grouping, labels));
        const inMemory = counts.get(mode)?.tally(wanted, grouping, labels) ?? [];
        expect(sorted(inMemory)).toEqual(expected);
        if (inMemory.some(({ own, competitors }) => own.responses > 0 && competitors.size > 0)) withRows += 1;
      },
    ),
    { numRuns: countOf(100, 1_000) },
  );
  expect(withRows).toBeGreaterThan(15);
});

test('filters and groupings by prompt, and calibrations with uncounted responses, use SQL; counts are read once', async () => {
  const { query, selection, workspace } = await openWorld();
  const brand = { ...selection('first'), from: FIRST, to: addDays(FIRST, 9) };
  const counts = await readDayCounts(query, brand);
  expect(counts?.tally(brand, 'day', [])).not.toBe(null);
  expect(counts?.tally(brand, 'prompt', [])).toBe(null);
  const [prompt] = await workspace.query('SELECT CAST(id AS VARCHAR) AS id FROM prompts');
  for (const values of [{ promptId: String(prompt?.['id']) }, { branded: 'branded' }])
    expect(counts?.tally({ ...brand, values }, 'day', [])).toBe(null);
  const counting = { ...defaultConventions, countedResponses: 'active' } as const;
  expect(await readDayCounts(query, { ...brand, counting })).toBe(null);
  await expectReadOnce({ workspace, query, selection });
});

// Counts are read once after the first request; a failure leaves the brand to SQL.
async function expectReadOnce({ workspace, query, selection }: Omit<World, 'engines'>): Promise<void> {
  const { catalogue, brandId } = selection('first');
  const options = { catalogue, counting: defaultConventions, mayRepeat: false };
  let reads = 0;
  const counts = createBrandCounts({
    ...options,
    read: (task) => {
      reads += 1;
      return task(query);
    },
  });
  expect(counts.of(brandId)).toBe(undefined);
  expect(counts.of(brandId)).toBe(undefined);
  await counts.settled();
  expect(counts.of(brandId)?.cells).toBeGreaterThan(20);
  expect(reads).toBe(1);
  const failing = createBrandCounts({ ...options, read: () => Promise.reject(new Error('stopped')) });
  failing.of(brandId);
  await failing.settled();
  expect(failing.of(brandId)).toBe(undefined);
  expect(workspace.warehouse().database.damage()).toBeNull();
}
