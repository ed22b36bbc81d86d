import { expect, test } from 'vitest';
import { brief as result } from '../../src/metrics/explain/brief-result.ts';
import {
  type BriefFacts,
  composeBrief,
  FINDINGS_MAX,
  readBrief,
  UNCHANGED_WITHIN,
} from '../../src/metrics/explain/brief.ts';
import type { ChangeUnits } from '../../src/metrics/explain/change-units.ts';
import { randomOf } from '../../src/sandbox/random.ts';
import { countOf } from '../support/counts.ts';
import { adjust, changeOf, estimate, pValue } from '../support/oracle/statistics.ts';
import { type Asked, drawn, openWorlds, worldId } from '../support/period-worlds.ts';

const ENGINES = ['one', 'two', 'three'];
/** One in three has no change. */
const WORLDS = countOf(8, 200);
const periods = {
  before: { from: '2026-01-05', to: '2026-02-01' },
  recent: { from: '2026-02-02', to: '2026-03-01' },
};

function unitsOf(world: number): Omit<ChangeUnits, 'metric'> {
  const none = { engines: [], topics: [], tags: [], prompts: [], competitors: [], branded: null, gaps: [] };
  const scope = {
    brandId: worldId(world),
    brands: [worldId(world)],
    ...periods.recent,
    before: periods.before,
    ...none,
  };
  return { scope, labels: {}, mayRepeat: false };
}

/** Worlds of 3 to 400 responses a period and engine, some of them with a change of one engine or of all. */
function draw(world: number): Asked[] {
  const random = randomOf('brief', String(world));
  const count = Math.round(3 * 130 ** random());
  const [rate, shift] = [0.1 + 0.8 * random(), world % 3 === 0 ? 0 : 0.5 * (random() - 0.5)];
  return ENGINES.map((engine, index) => {
    const moved = world % 3 === 1 || index === 0 ? rate + shift : rate;
    return { prompt: index, engine, before: drawn(random, count, rate), recent: drawn(random, count, moved) };
  });
}

function tested(worlds: readonly Asked[]) {
  const unitsIn = (period: 'before' | 'recent') =>
    worlds.flatMap((one) => one[period].map((isMentioned) => ({ y: Number(isMentioned), x: 1 })));
  const [was, is] = [estimate('share', true, unitsIn('before')), estimate('share', true, unitsIn('recent'))];
  return { was, is, ...changeOf(is, was), p: pValue('share', is, was) };
}

const shown = (value: number | null): string => `${(100 * (value ?? Number.NaN)).toFixed(1)} %`;

test('a headline and its findings say what the responses of generated worlds show, no more and no less', async () => {
  const worlds = Array.from({ length: WORLDS }, (_, world) => draw(world));
  const { query } = await openWorlds(worlds);
  const verdicts = new Set<string>();
  for (const [index, world] of worlds.entries()) {
    const { headline, verdict, findings } = await readBrief(query, unitsOf(index));
    const { was, is, lower, upper, p } = tested(world);
    verdicts.add(verdict);
    expect(headline).toContain(shown(is.value));
    if (p !== null && p <= 0.05) {
      expect(headline).toContain(
        `Visibility ${(is.value ?? 0) < (was.value ?? 0) ? 'fell' : 'rose'} from ${shown(was.value)} to ${shown(is.value)}.`,
      );
    } else expect(headline).not.toMatch(/fell|rose/);
    const isWithin = (lower ?? -1) >= -UNCHANGED_WITHIN && (upper ?? 1) <= UNCHANGED_WITHIN;
    expect(headline.includes('unchanged')).toBe(isWithin && (p ?? 1) > 0.05);

    const engines = world.map((one) => tested([one]));
    const adjusted = adjust(engines.map((one) => one.p));
    const moved = engines.flatMap((one, place) =>
      (adjusted[place] ?? 1) <= 0.05 ? [{ ...one, engine: ENGINES[place] }] : [],
    );
    const said = findings.filter(({ kind }) => kind === 'engine');
    // The intervals of rejected tests are wider, and must exclude zero too.
    for (const { engine, size, tone } of said) {
      const own = moved.find((one) => one.engine === engine);
      const change = own?.change ?? Number.NaN;
      expect([size, tone]).toEqual([
        `${change < 0 ? '−' : '+'}${Math.abs(100 * change).toFixed(1)} points`,
        change < 0 ? 'bad' : 'good',
      ]);
    }
    const clear = moved.filter((one) => (adjusted[ENGINES.indexOf(one.engine ?? '')] ?? 1) < 0.001);
    expect(said.map(({ engine }) => engine)).toEqual(expect.arrayContaining(clear.map(({ engine }) => engine)));
    expect(findings.length).toBeLessThanOrEqual(FINDINGS_MAX);
  }
  expect([...verdicts]).toEqual(expect.arrayContaining(['changed', 'within chance']));
});

const quiet: BriefFacts['visibility'] = {
  brandId: worldId(0),
  metric: 'visibility',
  isHigherBetter: true,
  ...periods.recent,
  beforeFrom: periods.before.from,
  beforeTo: periods.before.to,
  summary: 'No comparison: the earlier period had no responses with data on visibility.',
  total: {
    before: 0.5,
    after: 0.501,
    nBefore: 9_000,
    nAfter: 9_000,
    change: 0.001,
    lower: -0.014,
    upper: 0.016,
    level: 0.95,
    p: 0.9,
    adjustedP: 0.9,
    verdict: 'noise',
  },
  causes: [],
  promptSet: null,
  dimensions: [],
  associations: [],
  associationsWithinChance: 0,
};

function historyOf(changes: BriefFacts['history']['changes']): BriefFacts['history'] {
  const counts = Object.fromEntries(
    changes.map(({ kind }) => [kind, changes.filter((one) => one.kind === kind).length]),
  );
  return { changes, counts };
}

function change(
  kind: 'prompt_lost' | 'prompt_won' | 'alert',
  sentence: string,
): BriefFacts['history']['changes'][number] {
  return { at: '2026-02-10T00:00:00.000Z', kind, brandId: worldId(0), brand: 'World 0', sentence, ids: {} };
}

test('nothing that happened is one sentence', () => {
  const facts = { visibility: quiet, metrics: [], history: historyOf([]), opportunities: [] };
  expect(composeBrief(facts)).toEqual({
    headline: 'Visibility is 50.1 %, unchanged from 50.0 % in the period before.',
    verdict: 'unchanged',
    responses: 9_000,
    findings: [],
  });
  const wide = { ...quiet.total, lower: -0.014, upper: 0.031 };
  expect(composeBrief({ ...facts, visibility: { ...quiet, total: wide } })).toMatchObject({
    headline:
      'Visibility is 50.1 %; it was 50.0 % in the period before, which is no change beyond chance. Nothing else changed beyond chance.',
    verdict: 'within chance',
  });
  const untested = { ...quiet.total, before: null, change: null, verdict: 'not tested' as const };
  expect(composeBrief({ ...facts, visibility: { ...quiet, total: untested } })).toMatchObject({
    headline: `Visibility is 50.1 %. ${quiet.summary}`,
    verdict: 'not compared',
  });
});

test('a better position is good, changes come before tasks, and one of four places is left for a task', () => {
  const position = {
    metric: 'position',
    before: 2.5,
    after: 2.1,
    nBefore: 400,
    nAfter: 410,
    change: -0.4,
    p: 0.001,
  } as const;
  const noise = { ...position, metric: 'sentiment', p: 0.06 } as const;
  const changes = [
    change('prompt_won', 'Won.'),
    change('prompt_lost', 'Lost last.'),
    change('prompt_lost', 'Lost first.'),
    change('alert', 'Alert.'),
  ];
  const tasks = (['source_gap', 'competitor_wins', 'page_cited_once'] as const).map((kind) => {
    return { rank: 1, kind, id: kind, name: kind, n: 5, sentence: `A ${kind}.`, mark: null, evidence: [] };
  });
  const task = tasks[0] as BriefFacts['opportunities'][number];
  const { findings } = composeBrief({
    visibility: quiet,
    metrics: [position, noise],
    history: historyOf(changes),
    opportunities: tasks,
  });
  expect(findings.map(({ tone, size, sentence, detail }) => [tone, size, sentence, detail])).toEqual([
    ['bad', '2', '2 prompts lost the brand.', 'Lost last.'],
    ['good', '−0.40', 'Mean position fell from 2.50 to 2.10, which is better.', '400 and 410 responses'],
    ['good', '1', '1 prompt won.', 'Won.'],
    ['to do', '1', 'Competitors win 1 prompt.', 'A competitor_wins.'],
  ]);
  const few = composeBrief({
    visibility: quiet,
    metrics: [],
    history: historyOf(changes.slice(3)),
    opportunities: tasks,
  });
  expect(few.findings.map(({ kind }) => kind)).toEqual(['competitor_wins', 'source_gap', 'alert']);
  // Lists of changes and opportunities are cut off, so the counts are not those of the lists.
  const many = composeBrief({
    visibility: quiet,
    metrics: [],
    history: { changes, counts: { alert: 1_234, prompt_lost: 2, prompt_won: 1 } },
    opportunities: Array.from({ length: 50 }, (_, index) => ({ ...task, id: `${index}` })),
  });
  expect(many.findings.map(({ size, sentence }) => [size, sentence])).toEqual([
    ['2', '2 prompts lost the brand.'],
    ['1', '1 prompt won.'],
    ['50+', 'At least 50 domains are cited for competitors and never with the brand.'],
    ['1,234', '1,234 alerts were raised.'],
  ]);
  for (const one of findings) expect(result.shape.findings.element.omit({ page: true }).parse(one)).toEqual(one);
});
