import { describe, expect, test } from 'vitest';
import { formulas } from '../../src/metrics/marts/formulas.ts';
import { below, type Random, randomOf } from '../../src/sandbox/random.ts';
import type { ResultRow } from '../../src/warehouse/database.ts';
import { countOf } from '../support/counts.ts';
import { type Asked, drawn, exactly, openWorlds, single, worldId } from '../support/period-worlds.ts';

const PROMPTS = 180;
const WORLDS = countOf(6, 30);
/** Worlds with a significant change: at a level of 0.05 there are more of 6 or 30 with a probability below 0.003. */
const CHANGED_MOST = countOf(2, 6);

/** Prompts of a world in which nothing changes: each prompt and engine has one rate for both periods. */
function stationary(random: Random, engines: readonly string[], answers: () => number): Asked[] {
  return Array.from({ length: PROMPTS }, (_, prompt) => prompt).flatMap((prompt) => {
    const rate = random();
    return engines.map((engine, index) => {
      const own = rate / (1 + index);
      return { prompt, engine, before: drawn(random, answers(), own), recent: drawn(random, answers(), own) };
    });
  });
}

/** Returns the prompts that a mart lists over all engines, by world. */
function listedBy(rows: readonly ResultRow[], worlds: number): number[][] {
  return Array.from({ length: worlds }, (_, world) =>
    rows.filter(({ brand }) => brand === worldId(world)).map(({ text }) => Number(String(text).split(' ').at(-1))),
  );
}

function listing(mart: string, condition = "scope = 'all engines'"): string {
  return `SELECT CAST(brand_id AS VARCHAR) AS brand, text FROM mart.${mart} WHERE ${condition}`;
}

describe('in worlds where nothing changes', () => {
  test('at most 5 % of prompts are listed as movers or as lost', async () => {
    const engines = ['one', 'two', 'three'];
    const worlds = Array.from({ length: WORLDS }, (_, world) => {
      const random = randomOf('stationary', world);
      return stationary(random, engines, () => 1 + below(random, 19));
    });
    const { all } = await openWorlds(worlds);
    for (const mart of ['prompt_movers', 'lost_prompts']) {
      const counts = listedBy(await all(listing(mart)), WORLDS).map((prompts) => prompts.length);
      expect(Math.max(...counts), mart).toBeLessThanOrEqual(0.05 * PROMPTS);
      expect(counts.filter((count) => count > 0).length, mart).toBeLessThanOrEqual(CHANGED_MOST);
      const perEngine = await all(listing(mart, "scope = 'engine'"));
      expect(perEngine.length, mart).toBeLessThanOrEqual(0.001 * WORLDS * PROMPTS * engines.length);
    }
    const brands = await all("SELECT 1 FROM mart.brand_changes WHERE measure = 'visibility' AND is_significant");
    expect(brands.length).toBeLessThanOrEqual(CHANGED_MOST);
    const [tested] = await all(
      'SELECT count(*) AS rows, sum(tested) AS sum FROM mart.prompt_changes WHERE p_value <= 0.05',
    );
    expect(Number(tested?.['rows'])).toBeGreaterThan(WORLDS / 2);
  });

  test('other shares of the engines do not make prompts movers', async () => {
    const random = randomOf('shares of engines');
    const prompts = Array.from({ length: PROMPTS }, (_, prompt) => [
      { prompt, engine: 'often', before: drawn(random, 40, 0.9), recent: drawn(random, 5, 0.9) },
      { prompt, engine: 'rarely', before: drawn(random, 5, 0.1), recent: drawn(random, 40, 0.1) },
    ]);
    const { all } = await openWorlds([prompts.flat()]);
    expect(await all(listing('prompt_movers'))).toEqual([]);
    const lower = await all("SELECT 1 FROM mart.prompt_changes WHERE change_upper < 0 AND scope = 'all engines'");
    expect(lower.length).toBe(PROMPTS);
  });

  test('an engine that stops responding does not make prompts lost', async () => {
    const random = randomOf('a stopped engine');
    const prompts = Array.from({ length: PROMPTS }, (_, prompt) => [
      { prompt, engine: 'often', before: drawn(random, 30, 0.9), recent: [] },
      { prompt, engine: 'rarely', before: drawn(random, 30, 0.05), recent: drawn(random, 30, 0.05) },
    ]);
    const { all } = await openWorlds([prompts.flat()]);
    expect(await all(listing('lost_prompts'))).toEqual([]);
  });
});

describe('a planted change', () => {
  test('of 20 points with 50 responses in each period is found, whatever the rate before', async () => {
    const worlds = Array.from({ length: 41 }, (_, mentions) => [
      [single(exactly(mentions, 50), exactly(mentions + 10, 50))],
      [single(exactly(mentions + 10, 50), exactly(mentions, 50))],
    ]).flat();
    const { all } = await openWorlds(worlds);
    const rows = await all(`SELECT CAST(brand_id AS VARCHAR) AS brand, text, change, change_lower, change_upper,
      before_responses, recent_responses, interval_level FROM mart.prompt_movers WHERE scope = 'all engines'`);
    expect(rows.length).toBe(worlds.length);
    for (const row of rows) {
      expect(row).toMatchObject({ before_responses: 50n, recent_responses: 50n, interval_level: 0.95 });
      expect(Math.abs(Number(row['change']))).toBeCloseTo(0.2, 12);
      expect(Number(row['change_lower']) * Number(row['change_upper'])).toBeGreaterThan(0);
    }
  });
});

test('one response without the brand makes a prompt lost only after 19 that all mention it', async () => {
  const worlds = [1, 2, 5, 18].map((count) => [single(exactly(count, count), exactly(0, 1))]);
  // The response without the brand is the last of 20 with probability 1/20.
  worlds.push([single(exactly(19, 19), exactly(0, 1))]);
  const { all } = await openWorlds(worlds);
  expect(listedBy(await all(listing('lost_prompts')), 5).map((prompts) => prompts.length)).toEqual([0, 0, 0, 0, 1]);
});

test('intervals of differences match published values', async () => {
  // Newcombe, R. G. (1998), Statistics in Medicine 17:873-890, table II, method 10.
  const published = [
    [56, 70, 48, 80, 0.0524, 0.3339],
    [9, 10, 3, 10, 0.1705, 0.809],
    [6, 7, 2, 7, 0.0582, 0.8062],
    [5, 56, 0, 29, -0.0381, 0.1926],
  ] as const;
  const { all } = await openWorlds(published.map(([a, m, b, n]) => [single(exactly(b, n), exactly(a, m))]));
  const rows = await all(
    "SELECT change_lower, change_upper FROM mart.prompt_changes WHERE scope = 'all engines' ORDER BY brand_id",
  );
  expect(rows.length).toBe(published.length);
  for (const [index, [, , , , lower, upper]] of published.entries()) {
    expect(Number(rows[index]?.['change_lower'])).toBeCloseTo(lower, 4);
    expect(Number(rows[index]?.['change_upper'])).toBeCloseTo(upper, 4);
  }
});

test.each([
  [1.959964, 0.05],
  [-3.290527, 0.001],
  [5.199338, 2e-7],
])('the two-sided p-value of the standard normal deviate %f is %f', async (z, p) => {
  const { all } = await openWorlds([[single(exactly(1, 2), exactly(2, 2))]]);
  const [row] = await all(`SELECT ${formulas.two_sided_p(`(${z})`)} AS p`);
  expect(Number(row?.['p']) / p).toBeCloseTo(1, 5);
});
