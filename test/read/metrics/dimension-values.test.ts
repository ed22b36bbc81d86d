import { expect, test } from 'vitest';
import { defaultConventions } from '../../../src/metrics/calibration/conventions.ts';
import { dimensions } from '../../../src/metrics/model/dimensions.ts';
import { dimensionValues } from '../../../src/read/metrics/dimension-values.ts';
import { runMetrics } from '../../../src/read/metrics/run-metrics.ts';
import { openMirror, sourceOf } from '../mirror.ts';

test('values of each dimension are listed, searched in any letter case, and counted beyond the limit', async () => {
  const mirror = await openMirror({ world: 'small', conventions: defaultConventions });
  mirror.sandbox.world.advance({ deletedPrompts: 1, deletedCompetitors: 1 });
  await mirror.sync({ only: ['prompts', 'competitors'] });
  await mirror.publishOnly();
  const source = await sourceOf(mirror);
  const asked = (given: Record<string, string>) => dimensionValues(source, new URLSearchParams(given));
  const { brands } = mirror.sandbox.world;
  const isListed = ({ deletedAtMs }: { readonly deletedAtMs?: number | undefined }): boolean =>
    deletedAtMs === undefined;

  const prompts = brands.flatMap((brand) => brand.prompts.filter(isListed));
  const found = await asked({ dimension: 'prompt' });
  expect(found.columns.map(({ name }) => name)).toEqual(['prompt_id', 'prompt']);
  expect(found.rows.map(([id]) => id).toSorted()).toEqual(prompts.map(({ id }) => id).toSorted());
  expect(found.total).toBe(prompts.length);
  const names = found.rows.map(([, name]) => String(name).toLowerCase());
  expect(names).toEqual(names.toSorted((a, b) => (Buffer.from(a) < Buffer.from(b) ? -1 : 1)));

  for (const { name: dimension } of dimensions) {
    const all = await asked({ dimension, limit: '10000' });
    expect(all.rows.length, dimension).toBe(all.total);
    expect(all.total, dimension).toBeGreaterThan(0);
    expect(new Set(all.rows.map((row) => JSON.stringify(row))).size, dimension).toBe(all.total);
    for (const row of all.rows) expect(row, dimension).toHaveLength(all.columns.length);
    const name = String(all.rows[0]?.at(-1));
    const search = name.slice(1, 6).toUpperCase();
    const own = all.columns.flatMap(({ name: column, type }, at) =>
      type === 'VARCHAR' && !/_(id|type)$/.test(column) ? [at] : [],
    );
    const matching = all.rows.filter((row) =>
      own.some((at) => String(row[at]).toLowerCase().includes(search.toLowerCase())),
    );
    const searched = await asked({ dimension, search, limit: '1' });
    expect(searched.rows, dimension).toEqual(matching.slice(0, 1));
    expect(searched.total, dimension).toBe(matching.length);
    expect(await asked({ dimension, search: "no such'; name%" }), dimension).toMatchObject({ rows: [], total: 0 });
  }

  const [first, second] = brands;
  const rivals = await asked({ dimension: 'entity', brand: String(first?.name) });
  expect(rivals.rows.map(([, id]) => id).toSorted()).toEqual(
    [null, ...(first?.competitors ?? []).filter(isListed).map(({ id }) => id)].toSorted(),
  );
  const both = await asked({ dimension: 'entity' });
  expect(both.total).toBe(rivals.total + 1 + (second?.competitors ?? []).filter(isListed).length);

  // A listed value is accepted as a filter.
  for (const dimension of ['engine', 'topic', 'tag', 'prompt']) {
    const id = String((await asked({ dimension, brand: String(first?.id) })).rows[0]?.[0]);
    const given = new URLSearchParams({ metrics: 'responses', brand: String(first?.id), [dimension]: id });
    expect((await runMetrics(source, given)).rows, dimension).toHaveLength(1);
  }
  for (const [given, message] of [
    [{}, /^dimension is required; allowed: brand, engine, /],
    [{ dimension: 'topics' }, /^dimension is "topics"; allowed: .*; did you mean "topic"\?$/],
    [{ dimension: 'topic', limit: '0' }, /^limit is "0"; allowed: 1 to 10000$/],
    [{ dimension: 'topic', find: 'x' }, /^parameter is "find"; allowed: dimension, brand, search, limit$/],
  ] as const) {
    await expect(asked(given)).rejects.toMatchObject({
      code: 'invalid_parameter',
      message: expect.stringMatching(message),
    });
  }
});
