import { expect, test } from 'vitest';
import { addDays, dayOf } from '../../../src/contract/time.ts';
import { defaultConventions } from '../../../src/metrics/calibration/conventions.ts';
import { describeModel } from '../../../src/metrics/model/measures.ts';
import { explainMetric } from '../../../src/read/metrics/explanations.ts';
import { runDeclaredQuery } from '../../../src/read/metrics/run-declared.ts';
import { runMetrics } from '../../../src/read/metrics/run-metrics.ts';
import type { TableResult } from '../../../src/read/metrics/table-result.ts';
import { openMirror, recordsOf, sourceOf } from '../mirror.ts';
import { sourceBefore } from './source-before.ts';

/** The layer over a world that no test changes. */
const shared = sourceBefore('small');

test('measures and declared queries have the columns that they declare, and a key for one brand sees no other', async () => {
  const source = shared();
  const brands = recordsOf(await runDeclaredQuery(source, 'brands', new URLSearchParams()));
  expect(brands).toHaveLength(2);
  const [first, second] = brands.map((row) => String(row['brand_id']));
  const measured = await runMetrics(source, new URLSearchParams(`metrics=visibility&group_by=engine&brand=${first}`));
  expect(measured.rows.length).toBeGreaterThan(1);
  for (const row of measured.rows) expect(row).toHaveLength(measured.columns.length);
  const restricted = { ...source, brands: [String(second)] };
  expect(recordsOf(await runDeclaredQuery(restricted, 'brands', new URLSearchParams()))).toEqual([brands[1]]);
  await expect(runMetrics(restricted, new URLSearchParams(`metrics=visibility&brand=${first}`))).rejects.toMatchObject({
    code: 'invalid_parameter',
  });
});

test('a brand has the same numbers and p values with and without its competitors', async () => {
  const today = dayOf(shared().nowMs);
  const days = `from=${addDays(today, -3)}&to=${addDays(today, -1)}`;
  for (const brand of shared().replica.brands.keys()) {
    const given = `metrics=visibility,share_of_voice&${days}&brand=${brand}`;
    const [alone = {}] = recordsOf(await runMetrics(shared(), new URLSearchParams(given)));
    const [own] = recordsOf(await runMetrics(shared(), new URLSearchParams(`${given}&group_by=entity`))).filter(
      (row) => row['competitor_id'] === null,
    );
    expect(alone['visibility_p']).not.toBeNull();
    expect(own).toMatchObject(alone);
  }
});

test('a name with a comma is one value, branded is also true or false, and a missing brand is required by its name', async () => {
  const source = shared();
  const found = await source.replica.replica.work((query) =>
    query('SELECT CAST(id AS VARCHAR), name FROM competitors'),
  );
  const competitors = found.map(([id, name]) => ({ id: String(id), name: String(name) }));
  const rival = competitors.find(({ name }) => /, /.test(name));
  if (rival === undefined) throw new Error('the world has no competitor with a comma in its name');
  const asked = (competitor: string): Promise<TableResult> =>
    runMetrics(source, new URLSearchParams({ metrics: 'responses', competitor }));
  const expected = (await asked(rival.id)).rows;
  // The name, in another letter case, and its beginning with the comma.
  const beginning = rival.name.slice(0, rival.name.indexOf(',') + 3);
  for (const text of [rival.name, rival.name.toUpperCase(), ` ${rival.name.toLowerCase()}`, beginning]) {
    expect((await asked(text)).rows, text).toEqual(expected);
  }
  const [other = { id: '', name: '' }] = competitors.filter(({ name, id }) => !name.includes(',') && id !== rival.id);
  expect((await asked(`${other.name},${rival.id}`)).rows).toEqual((await asked(`${other.id},${rival.id}`)).rows);
  const counted = async (branded: string): Promise<unknown> =>
    (await runMetrics(source, new URLSearchParams({ metrics: 'responses', branded }))).rows;
  expect(await counted('true')).toEqual(await counted('branded'));
  expect(await counted('false')).toEqual(await counted('non-branded'));
  expect(await counted('true')).not.toEqual(await counted('false'));
  const brands = recordsOf(await runDeclaredQuery(source, 'brands', new URLSearchParams()));
  const ids = brands.map((row) => `(${String(row['brand_id']).slice(0, 8)})`);
  await expect(explainMetric(source, new URLSearchParams('metric=visibility'))).rejects.toMatchObject({
    code: 'invalid_parameter',
    message: expect.stringMatching(/^brand is required; allowed: one of /),
    facts: { parameter: 'brand', allowed: expect.stringContaining(ids[0] ?? '?') },
  });
});

test('days outside the limits, and periods that overlap, are rejected', async () => {
  const [brand = ''] = shared().replica.brands.keys();
  const source = { ...shared(), brands: [brand] };
  const measured = (given: string): Promise<TableResult> =>
    runMetrics(source, new URLSearchParams(`metrics=responses&${given}`));
  const [row = {}] = recordsOf(await measured('from=1970-01-01&to=2999-12-31'));
  expect(row['responses']).toBeGreaterThan(0);
  expect(row['responses_before']).toBeNull();
  for (const parameter of ['from', 'to']) {
    for (const day of ['0001-01-01', '1969-12-31', '3000-01-01', '9999-12-31']) {
      await expect(measured(`${parameter}=${day}&grain=day`)).rejects.toMatchObject({
        code: 'invalid_parameter',
        message: `${parameter} is "${day}"; allowed: a calendar day, YYYY-MM-DD, from 1970-01-01 to 2999-12-31`,
      });
    }
  }

  const explained = (given: string): ReturnType<typeof explainMetric> => {
    const parameters = new URLSearchParams('metric=visibility&from=2026-03-05&to=2026-03-10');
    for (const [name, value] of new URLSearchParams(given)) parameters.set(name, value);
    return explainMetric(source, parameters);
  };
  for (const [given, message] of [
    ['before_from=1969-12-31&before_to=2026-03-01', /^before_from is "1969-12-31"; allowed: .* 1970-01-01 to /],
    ['before_from=2026-03-01&before_to=9999-12-31', /^before_to is "9999-12-31"; allowed: .* to 2999-12-31$/],
    ['before_from=2026-03-01&before_to=2026-03-05', /^before_to is "2026-03-05"; allowed: a day before 2026-03-05/],
    ['before_from=2026-03-01&before_to=2026-03-20', /^before_to is "2026-03-20"; allowed: a day before 2026-03-05/],
    ['before_from=2026-03-10&before_to=2026-03-12', /^before_from is "2026-03-10"; allowed: a day before 2026-03-05/],
    ['before_from=2026-03-01', /^before_to is required; allowed: a calendar day, if before_from is given/],
    [
      'before_from=2026-03-01&before_to=2026-03-02&compare_to=year',
      /^compare_to is "year"; allowed: no value, if before/,
    ],
    ['from=2024-03-09&compare_to=year', /^compare_to is "year"; allowed: previous, or year with /],
  ] as const) {
    await expect(explained(given), given).rejects.toMatchObject({
      code: 'invalid_parameter',
      message: expect.stringMatching(message),
    });
  }
  const touching = await explained('before_from=2026-03-01&before_to=2026-03-04');
  expect(touching).toMatchObject({ beforeFrom: '2026-03-01', beforeTo: '2026-03-04' });
});

test('the model describes every measure with its test, and no SQL', () => {
  const { measures, dimensions } = describeModel();
  for (const { name, kind, test: significance, ...rest } of measures) {
    expect(significance === null, name).toBe(kind === 'count');
    expect(Object.keys(rest)).not.toContain('sums');
    for (const dimension of rest.dimensions) expect(dimensions.map((known) => known.name)).toContain(dimension);
  }
});

test('filters accept prompts and competitors that only stored responses have', async () => {
  const mirror = await openMirror({ world: 'small', conventions: defaultConventions });
  const brand = mirror.sandbox.world.brands[0];
  const prompt = brand?.prompts[0]?.id ?? '';
  const rival = brand?.competitors.find(({ popularity }) => popularity > 0)?.id;
  // As if upstream had deleted them before the first sync.
  for (const [table, id] of [
    ['prompts', prompt],
    ['competitors', rival],
  ])
    await mirror.query(`DELETE FROM ${table} WHERE id = '${id}'`);
  await mirror.publishOnly();
  const source = await sourceOf(mirror);
  const other = await sourceOf(
    mirror,
    mirror.sandbox.world.brands.slice(1).map(({ id }) => id),
  );
  const count = async (sql: string) => Number(Object.values((await mirror.query(sql))[0] ?? {})[0]);
  for (const [filter, id, listed, where] of [
    ['prompt', prompt, 'prompts', `prompt_id = '${prompt}'`],
    [
      'competitor',
      rival,
      'competitors',
      `id IN (SELECT response_id FROM main.response_competitors WHERE competitor_id = '${rival}')`,
    ],
  ] as const) {
    expect(await count(`SELECT count(*) FROM main.${listed} WHERE id = '${id}'`), filter).toBe(0);
    const stored = await count(`SELECT count(*) FROM main.responses WHERE ${where}`);
    expect(stored, filter).toBeGreaterThan(0);
    const asked = new URLSearchParams({
      metrics: 'responses',
      from: '2020-01-01',
      to: '2030-01-01',
      [filter]: String(id).toUpperCase(),
    });
    expect(recordsOf(await runMetrics(source, asked))[0]?.['responses'], filter).toBe(stored);
    await expect(runMetrics(other, asked), filter).rejects.toMatchObject({ code: 'invalid_parameter' });
  }
});

test.each([
  ['grain=hour', 'grain is "hour"; allowed: day, week, month'],
  ['order=sentiment', 'order is "sentiment"'],
  ['compare_to=last', 'compare_to is "last"; allowed: previous, year, none'],
  ['group_by=domain', '(for visibility)'],
  ['engine=nobody', 'unknown engine "nobody"'],
  ['from=2026-02-30', 'from is "2026-02-30"; allowed: a calendar day'],
])('the parameter %s is rejected with what is allowed', async (given, message) => {
  await expect(runMetrics(shared(), new URLSearchParams(`metrics=visibility&${given}`))).rejects.toThrow(message);
});

test('a parameter of more than 4,000 characters is rejected, and errors show the beginning of a long value', async () => {
  const source = shared();
  for (const name of ['prompt', 'competitor', 'engine', 'from', 'group_by']) {
    const given = new URLSearchParams({ metrics: 'visibility' });
    given.append(name, 'x'.repeat(2_000));
    given.append(name, 'y'.repeat(2_000));
    await expect(runMetrics(source, given)).rejects.toThrow(`${name} is "${'x'.repeat(79)}…"; allowed: at most 4000`);
  }
  const near = new URLSearchParams({ metrics: 'visibility', prompt: 'x'.repeat(4_000) });
  await expect(runMetrics(source, near)).rejects.toThrow(`unknown prompt "${'x'.repeat(79)}…"; allowed: `);
});
