import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { addDays, daysInRange } from '../../../src/contract/time.ts';
import { type DimensionName, dimensions } from '../../../src/metrics/model/dimensions.ts';
import { GRAINS, type Measure, measures } from '../../../src/metrics/model/measures.ts';
import { runMetrics } from '../../../src/read/metrics/run-metrics.ts';
import type { TableResult } from '../../../src/read/metrics/table-result.ts';
import { countOf, sampleOf } from '../../support/counts.ts';
import {
  emptyCount,
  hasCurrencies,
  isGap,
  type NaiveRequest,
  type NaiveWorld,
  naiveUnits,
  readNaiveWorld,
} from '../../support/oracle/metrics.ts';
import { readHeld } from '../../support/oracle/rows.ts';
import { adjust, changeOf, type Estimate, estimate, pValue } from '../../support/oracle/statistics.ts';
import { DAYS, LAST_DAY, openRandomWorld, type WorldSettings } from './random-world.ts';

/** Requests per world and calibration. */
const QUESTIONS = countOf(12, 200);
/** The SQL of one of so many results runs again. */
const RERUN_EVERY = 6;

interface Asked {
  readonly measures: readonly Measure[];
  readonly groupBy: readonly string[];
  readonly grain: string | null;
  readonly from: string;
  readonly to: string;
  readonly compareTo: 'previous' | 'year' | 'none';
  readonly brands: readonly string[];
  readonly filters: Readonly<Record<string, readonly string[]>>;
}

// The last world has responses of the year before, so that both years have data.
const worlds: readonly WorldSettings[] = [
  { seed: 1, responses: 1_200, labels: { positive: 100, neutral: 40, negative: 10, mixed: 45 }, repeats: false },
  { seed: 2, responses: 800, labels: { positive: 1, negative: -1 }, repeats: true },
  {
    ...{ seed: 3, responses: 1_000, days: 440, repeats: true },
    labels: { positive: 10, neutral: 4, negative: 0, mixed: 5 },
  },
];

// Each world has its sentiment by default, and as calibrated: another scale, one without neutral, and one with an additional label.
const cases = worlds.flatMap((settings) => [
  { ...settings, calibration: 'the default', labels: null, questions: 2 * settings.seed },
  { ...settings, calibration: 'an inferred', questions: 2 * settings.seed + 1 },
]);

describe('measures equal a naive computation', () => {
  test.each(sampleOf(cases, 4))(
    'in world $seed with $responses responses and $calibration calibration',
    async (settings) => {
      const { source, path } = await openRandomWorld(settings);
      const held = await readHeld(path);
      onTestFinished(() => held.reader.close());
      const world = await readNaiveWorld(held, source.replica.conventions.labels);
      let asks = 0;
      await fc.assert(
        fc.asyncProperty(requests(world), async (asked) => {
          const result = await runMetrics(source, toParameters(asked));
          expect(tableOf(result, asked)).toEqual(naiveTable(world, asked));
          // The SQL that the result shows returns the same rows.
          asks += 1;
          if (asks % RERUN_EVERY !== 1) return;
          const shown = await source.replica.replica.work((_query, read) => read(result.sql));
          expect(shown.rows).toEqual(result.rows);
        }),
        { numRuns: QUESTIONS, seed: settings.questions },
      );
    },
  );
});

function requests(world: NaiveWorld): fc.Arbitrary<Asked> {
  const brands = [...world.hosts.keys()];
  const promptIds = [...new Set(world.answers.map(({ prompt }) => prompt))];
  const pick = (values: readonly (string | null)[]): fc.Arbitrary<string[]> =>
    fc.uniqueArray(fc.constantFrom(...[...new Set(values)].filter((value) => value !== null)), {
      minLength: 1,
      maxLength: 2,
    });
  const all = [...world.prompts.values()];
  const filters: Readonly<Record<string, fc.Arbitrary<readonly string[]>>> = {
    engine: pick(world.answers.map(({ engine }) => engine)),
    topic: pick(all.map(({ topic }) => topic)),
    tag: pick(all.flatMap(({ tags }) => tags)),
    branded: fc.constantFrom(['branded'], ['non-branded']),
    prompt: pick(promptIds),
    competitor: pick([...world.rivals.values()].flat()),
  };
  return fc
    .uniqueArray(fc.constantFrom(...dimensions.map(({ name }) => name)), { maxLength: 2 })
    .map((groupBy): { groupBy: readonly DimensionName[]; fit: readonly Measure[] } => {
      const fits = (names: readonly DimensionName[]): Measure[] =>
        measures.filter(
          (measure) =>
            names.every((name) => measure.dimensions.includes(name)) &&
            (measure.requires === undefined || measure.requires.some((name) => names.includes(name))),
        );
      // No measure has both dimensions.
      if (fits(groupBy).length === 0) return { groupBy: [], fit: fits([]) };
      return { groupBy, fit: fits(groupBy) };
    })
    .chain(({ groupBy, fit }) =>
      fc.record({
        groupBy: fc.constant(groupBy),
        measures: fc.uniqueArray(fc.constantFrom(...fit), { minLength: 1, maxLength: 3, selector: ({ name }) => name }),
        grain: fc.option(fc.constantFrom(...GRAINS), { freq: 2 }),
        from: fc.integer({ min: 0, max: DAYS }).map((days) => addDays(LAST_DAY, -days)),
        length: fc.integer({ min: 1, max: 40 }),
        compareTo: fc.constantFrom('previous' as const, 'previous' as const, 'year' as const, 'none' as const),
        brands:
          groupBy.includes('entity') && !groupBy.includes('brand')
            ? pick(brands).map((ids) => ids.slice(0, 1))
            : fc.oneof(fc.constant<string[]>([]), pick(brands)),
        filters: fc
          .record(filters, { requiredKeys: [] })
          .chain((given) =>
            fc.shuffledSubarray(Object.entries(given), { maxLength: Math.min(2, Object.keys(given).length) }),
          ),
      }),
    )
    .map(({ length, filters: given, ...asked }) => {
      const needsBrand = asked.groupBy.includes('entity') && !asked.groupBy.includes('brand');
      // Ids of a brand are only accepted in a request about it.
      const allowed = given.filter(([name]) => !needsBrand || name === 'engine' || name === 'branded');
      const isFiltered = asked.measures.every((measure) => measure.isFiltered);
      return {
        ...asked,
        brands: needsBrand || allowed.length === 0 || !isFiltered ? asked.brands : [],
        to: addDays(asked.from, length - 1),
        filters: isFiltered ? Object.fromEntries(allowed as [string, readonly string[]][]) : {},
      };
    });
}

function toParameters({
  measures: asked,
  groupBy,
  grain,
  from,
  to,
  compareTo,
  brands,
  filters,
}: Asked): URLSearchParams {
  const given = new URLSearchParams({ metrics: asked.map(({ name }) => name).join(), from, to, compare_to: compareTo });
  if (grain !== null) given.set('grain', grain);
  for (const name of groupBy) given.append('group_by', name);
  for (const id of brands) given.append('brand', id);
  for (const [name, values] of Object.entries(filters)) for (const value of values) given.append(name, value);
  return given;
}

type Cells = Record<string, Record<string, unknown>>;

// Rows by the key of their group, as JSON.
function tableOf({ columns, rows }: TableResult, asked: Asked): Cells {
  const names = columns.map(({ name }) => name);
  const keys = [
    ...(asked.grain === null ? [] : ['period']),
    ...dimensions.filter(({ name }) => asked.groupBy.includes(name)).map(({ key }) => key),
  ];
  const measured = names.filter((name) =>
    asked.measures.some((measure) => name === measure.name || name.startsWith(`${measure.name}_`)),
  );
  const table: Cells = {};
  for (const row of rows) {
    const cellOf = (name: string): unknown => row[names.indexOf(name)];
    const key = JSON.stringify(keys.map(cellOf));
    if (key in table) throw new Error(`the result has two rows of ${key}`);
    table[key] = Object.fromEntries(measured.map((name) => [name, cellOf(name)]));
  }
  return table;
}

function naiveTable(world: NaiveWorld, asked: Asked): Cells {
  const table: Cells = {};
  const brands = asked.brands.length === 0 ? [...world.hosts.keys()] : asked.brands;
  const ordered = dimensions.map(({ name }) => name).filter((name) => asked.groupBy.includes(name));
  const before = comparedRange(asked);
  // A group has a row if it has units of any measure in any period.
  const found = asked.measures.map((measure) => {
    const request: NaiveRequest = { ...asked, measure: measure.name, groupBy: ordered, before, brands };
    const now = naiveUnits(world, request, asked);
    const all = before === null ? [] : [...naiveUnits(world, request, before)];
    const earlier = new Map(all.filter(([key]) => !isGap(world, request, key, LAST_DAY)));
    return { measure, request, now, earlier };
  });
  const keys = new Set(found.flatMap(({ now, earlier }) => [...now.keys(), ...earlier.keys()]));
  if (ordered.length === 0 && asked.grain === null) keys.add('[]');
  const all = [...keys];
  for (const { measure, request, now, earlier } of found) {
    const { name, kind } = measure;
    const rows = all.map((key) => {
      const isUnknown = hasCurrencies(world, request, key);
      const side = (groups: typeof now): Estimate | null => {
        const estimated = present(measure, groups, key);
        return isUnknown && estimated !== null ? { ...estimated, value: null } : estimated;
      };
      const missing = kind === 'count' ? emptyCount(world, request, key) : null;
      const missingBefore = isGap(world, request, key, LAST_DAY) ? null : missing;
      return { key, missing, missingBefore, own: side(now), old: side(earlier) };
    });
    const ps = rows.map(({ own, old }) => (own === null || old === null ? null : pValue(kind, own, old)));
    // Brands and competitors are two families.
    const place = ordered.indexOf('entity') + (asked.grain === null ? 0 : 1);
    const isRival = rows.map(({ key }) => ordered.includes('entity') && (JSON.parse(key) as unknown[])[place] !== null);
    const [ofBrands, ofRivals] = [false, true].map((rival) =>
      adjust(ps.map((p, index) => (isRival[index] === rival ? p : null))),
    );
    const adjusted = ps.map((_, index) => ofBrands?.[index] ?? ofRivals?.[index]);
    for (const [index, { key, missing, missingBefore, own, old }] of rows.entries()) {
      table[key] = {
        ...table[key],
        ...valuesOf(name, own, kind, missing),
        ...(before === null
          ? {}
          : changesOf(name, own, old, { missing, missingBefore }, ps[index] ?? null, adjusted[index] ?? null)),
      };
    }
  }
  return Object.fromEntries(
    Object.entries(table).map(([key, row]) => [
      key,
      Object.fromEntries(Object.entries(row).map(([name, value]) => [name, close(value)])),
    ]),
  );
}

// A group without units in a period has no estimate.
function present(
  { kind, unit }: Measure,
  groups: ReadonlyMap<string, Parameters<typeof estimate>[2]>,
  key: string,
): Estimate | null {
  const units = groups.get(key);
  return units === undefined ? null : estimate(kind, unit === 'ratio', units);
}

function valuesOf(name: string, own: Estimate | null, kind: string, missing: number | null): Record<string, unknown> {
  const value = own === null ? missing : own.value;
  return {
    [name]: value,
    [`${name}_n`]: own?.n ?? 0,
    [`${name}_numerator`]: kind === 'count' ? value : (own?.part ?? 0),
    [`${name}_denominator`]: kind === 'count' ? null : (own?.whole ?? 0),
    [`${name}_lower`]: own?.lower ?? null,
    [`${name}_upper`]: own?.upper ?? null,
  };
}

function changesOf(
  name: string,
  own: Estimate | null,
  old: Estimate | null,
  { missing, missingBefore }: { readonly missing: number | null; readonly missingBefore: number | null },
  p: number | null,
  adjusted: number | null,
): Record<string, unknown> {
  const bounds = { lower: null, upper: null };
  const earlier = old === null ? missingBefore : old.value;
  const { change, lower, upper } = changeOf(
    own ?? { value: missing, ...bounds },
    old ?? { value: missingBefore, ...bounds },
  );
  return {
    [`${name}_before`]: earlier,
    [`${name}_before_n`]: old?.n ?? 0,
    [`${name}_change`]: change,
    [`${name}_change_lower`]: lower,
    [`${name}_change_upper`]: upper,
    [`${name}_p`]: p,
    [`${name}_p_adjusted`]: adjusted,
    [`${name}_significant`]:
      adjusted === null ? null : adjusted <= 0.05 && lower !== null && upper !== null && (lower > 0 || upper < 0),
  };
}

function comparedRange({ from, to, compareTo }: Asked): { from: string; to: string } | null {
  if (compareTo === 'none') return null;
  const days = compareTo === 'year' ? 365 : daysInRange(from, to);
  return { from: addDays(from, -days), to: addDays(to, -days) };
}

function close(value: unknown): unknown {
  return typeof value === 'number' ? expect.closeTo(value, 6) : value;
}
