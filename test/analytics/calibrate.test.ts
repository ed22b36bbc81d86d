import { describe, expect, test } from 'vitest';
import type { Choices } from '../../schemas/fixtures/choices.ts';
import { type Conventions, defaultConventions, LIST_ORDERS } from '../../src/analytics/calibration/conventions.ts';
import { membersOf } from '../../src/analytics/calibration/points/point.ts';
import { calibrationPoints } from '../../src/analytics/calibration/points/points.ts';
import { sampleOf } from '../support/counts.ts';
import { openWorkspace } from '../support/workspace.ts';
import { WORLDS } from '../support/worlds.ts';
import { conventionsOf, learnAgain, learnChanged, learnFrom } from './workspace.ts';

const enough = { brands: 1, prompts: 10, days: 34 } as const;

const chosen: [string, number, Partial<Choices>][] = [
  ['the defaults', 1, {}],
  [
    'fractions, unrounded',
    4,
    { scale: 'fraction', decimals: 'none', sentiment: { a: 12.5, b: 33.3, c: -7.25, d: 80 } },
  ],
  ['whole percent', 6, { decimals: 0, sentiment: { positive: 5, mixed: 3.5, negative: 1, neutral: 3 } }],
  [
    'every choice different',
    10,
    {
      scale: 'fraction',
      decimals: 3,
      sentiment: { 'très bien': 2, 'so-so': 0.25, "can't say": -0.5, dreadful: -2, '': 1 },
      domainShareOf: 'responses',
      emptyShare: null,
      emptyDays: 'zero',
      combinedEngine: 'all',
      groupPrompts: 'all',
      ungrouped: 'null',
    },
  ],
  ['two decimals', 7, { decimals: 2, groupPrompts: 'all', ungrouped: 'null', sentiment: { fine: 42 } }],
  ['fractions with two decimals', 3, { scale: 'fraction', decimals: 2, sentiment: { good: 1, meh: 0, awful: -1 } }],
];

// Reports without further questions leave some points open.
const points = calibrationPoints.flatMap((point) => [...membersOf(point).keys()]);
const undetermined = new RegExp(`^empty|^sentiment$|^(${[...points, ...Object.values(LIST_ORDERS)].join('|')})$`);

describe('calibration finds the conventions that the sandbox uses', () => {
  test.for(sampleOf(chosen, 1, 3))('%s', async ([, seed, choices]) => {
    const { conventions, unexplained, stored } = await learnFrom({ ...enough, seed, choices });
    const usual = conventionsOf(choices);
    // The share of a site without sessions is like other empty shares only if these are known.
    const emptySite = stored.emptyShare.source === 'learned' ? usual.emptySite : usual.emptyShare;
    const expected = { ...usual, emptySite };
    expect(conventions).toEqual(expected);
    expect(unexplained).toEqual([]);
    expect(Object.keys(stored).sort()).toEqual(Object.keys(defaultConventions).sort());
    for (const [name, { value, source, compared, agreed, error, note }] of Object.entries(stored)) {
      expect({ name, value }).toEqual({ name, value: expected[name as keyof Conventions] });
      expect(agreed, name).toBe(compared);
      expect(error ?? 0, name).toBeLessThan(1e-9);
      expect({ name, source, note }).toEqual(
        note.startsWith('too little')
          ? { name: expect.stringMatching(undetermined), source: 'default', note }
          : { name, source: 'learned', note: expect.stringMatching(/./) },
      );
    }
    for (const name of ['visibility', 'shareOfVoice', 'avgPosition', 'sentiment', 'labels'] as const) {
      expect(stored[name].compared, name).toBeGreaterThan(500);
    }
    expect(stored.visibilityChange.compared).toBeGreaterThan(10);
    expect(stored.domainShare.compared).toBeGreaterThan(50);
  });
});

describe('calibration reports too little evidence', () => {
  test('with one prompt and two days', async () => {
    const { conventions, stored, unexplained } = await learnFrom({ brands: 1, prompts: 1, days: 2, seed: 5 });
    // The site has days without sessions, but no report shows another empty share.
    expect(conventions).toEqual({ ...defaultConventions, emptySite: 0 });
    expect(unexplained).toEqual([]);
    for (const name of ['visibilityChange', 'topCompetitors', 'groupPrompts'] as const) {
      expect({ name, ...stored[name] }).toMatchObject({
        source: 'default',
        note: expect.stringMatching(/^too little/),
      });
    }
  });

  test('without brands', async () => {
    const { conventions, stored, unexplained } = await learnFrom({ brands: 0 });
    expect(conventions).toEqual(defaultConventions);
    expect(unexplained).toEqual([]);
    expect(Object.keys(stored).sort()).toEqual(Object.keys(defaultConventions).sort());
    for (const { source, compared, note } of Object.values(stored)) {
      expect({ source, compared }).toEqual({ source: 'default', compared: 0 });
      expect(note).toContain('too little evidence: no row');
    }
  });

  test('without responses', async () => {
    const choices = { emptyShare: null };
    const { conventions, stored, unexplained } = await learnFrom({ brands: 1, prompts: 0, choices });
    expect(unexplained).toEqual([]);
    expect(stored.visibility).toMatchObject({ source: 'default', compared: 0 });
    expect(conventions.visibility).toEqual(defaultConventions.visibility);
    // Only the placeholder of empty shares is observable.
    expect(stored.emptyShare).toMatchObject({ source: 'learned', value: null });
  });
});

const gone = '_deleted_at = now()::TIMESTAMP';

test('a share without rows gets the form of the other shares', async () => {
  const { choices } = WORLDS.fractions;
  const workspace = await openWorkspace({ world: 'fractions' });
  const lists = ['cited_domains', 'traffic_totals', 'metrics_prompts', 'metrics_groups'];
  const bare = await learnChanged(workspace, ...lists.map((table) => `DELETE FROM ${table}`));
  for (const name of ['visibilityChange', 'domainShare', 'shareOfSite'] as const) {
    const note = expect.stringContaining('uses the form of');
    expect(bare.stored[name]).toMatchObject({ source: 'default', compared: 0, note });
    expect(bare.conventions[name]).toEqual(conventionsOf(choices)[name]);
  }
  const alone = await learnChanged(
    workspace,
    `UPDATE competitors SET ${gone}`,
    `UPDATE metrics SET ${gone}, share_of_voice = 1 WHERE competitor_id IS NOT NULL`,
    `UPDATE metrics_daily SET ${gone} WHERE competitor_id IS NOT NULL`,
  );
  expect(alone.stored.visibility).toMatchObject({ source: 'learned' });
  expect(alone.stored.competitorType).toMatchObject({ source: 'default', compared: 0, value: 'competitor' });
  // The reported shares include competitors that are deleted by now, which is one of the definitions.
  expect(alone.stored.shareOfVoice).toMatchObject({ source: 'learned' });
  expect(alone.conventions.shareOfVoice).toEqual(conventionsOf(choices).shareOfVoice);
});

test('inconsistent or missing evidence is not accepted', async () => {
  const workspace = await openWorkspace({ world: 'small' });

  // One number in ten is wrong.
  const tenth = await learnChanged(
    workspace,
    'UPDATE metrics_daily SET visibility = visibility + 1.7 WHERE hash(date, engine, competitor_id) % 10 = 0',
  );
  expect(tenth.stored.visibility).toMatchObject({ source: 'default', value: defaultConventions.visibility });
  expect(tenth.stored.visibility.error).toBeCloseTo(1.7, 6);
  expect(tenth.stored.visibility.note).toMatch(
    /^no definition fits: the best, percent, 1 decimal, half-away, explains \d+ of \d+ rows, largest error 1\.7/,
  );
  expect(tenth.unexplained).toEqual(['visibility']);
  expect(tenth.stored.shareOfVoice.source).toBe('learned');

  // Zeros, which every definition explains, do not outvote numbers that no definition explains.
  const zeros = await learnChanged(
    workspace,
    `UPDATE metrics_daily SET mentions = 0, visibility = CASE WHEN hash(date, engine) % 25 = 0 THEN 12.34 ELSE 0 END`,
    'UPDATE responses SET brand_mentioned = false, brand_position = NULL, brand_sentiment = NULL',
    `UPDATE response_competitors SET ${gone}`,
    'DELETE FROM metrics; DELETE FROM metrics_prompts; DELETE FROM metrics_groups',
  );
  expect(zeros.stored.visibility).toMatchObject({ source: 'default' });
  expect(zeros.stored.visibility.agreed / zeros.stored.visibility.compared).toBeGreaterThan(0.9);

  // A few inconsistent rows are tolerated.
  const few = await learnChanged(
    workspace,
    'UPDATE metrics_daily SET visibility = visibility + 3 WHERE hash(date, engine, competitor_id) % 50 = 0',
  );
  expect(few.stored.visibility).toMatchObject({ source: 'learned', value: defaultConventions.visibility });
  expect(few.stored.visibility.agreed).toBeLessThan(few.stored.visibility.compared);
  expect(few.stored.visibility.error).toBeCloseTo(3, 6);

  // Rows whose responses are not stored are skipped, and the note has their number.
  const half = await learnChanged(
    workspace,
    `UPDATE responses SET ${gone} WHERE hash(id) % 2 = 0`,
    `UPDATE response_citations SET ${gone} WHERE hash(response_id) % 2 = 0`,
  );
  expect(half.stored.visibility.note).toMatch(
    /; \d{3,} rows skipped: response counts differ from the stored responses$/,
  );
  expect(half.stored.visibility.compared).toBeLessThan(tenth.stored.visibility.compared / 2);

  // A complete list of domains needs no stored responses, because its sum is the total. An incomplete list does.
  expect(half.stored.domainShare).toMatchObject({ source: 'learned', value: defaultConventions.domainShare });
  const part = await learnChanged(
    workspace,
    `UPDATE response_citations SET ${gone} WHERE hash(response_id) % 2 = 0`,
    `UPDATE cited_domains SET ${gone} WHERE hash(domain) % 2 = 0`,
  );
  expect(part.stored.domainShare).toMatchObject({ source: 'default', compared: 0 });
  expect(part.unexplained).toContain('domainShare');
});

test('calibration finds conventions that the sandbox cannot vary', async () => {
  const workspace = await openWorkspace({
    ...enough,
    prompts: 8,
    days: 35,
    seed: 8,
    choices: { decimals: 'none', ungrouped: 'null' },
  });
  expect((await workspace.sync()).status).toBe('complete');
  const reports = ['metrics', 'metrics_daily', 'metrics_prompts', 'metrics_groups'];
  const compared = ['metrics_prompts', 'metrics_groups'];
  const changed = (stands: string) =>
    compared.map((table) => `UPDATE ${table} SET visibility_change = ${stands} WHERE visibility_change IS NULL`);

  // Besides the names, relative changes.
  const before = '(visibility - visibility_change)';
  const names = await learnChanged(
    workspace,
    ...reports.map(
      (table) => `UPDATE ${table} SET avg_position = coalesce(avg_position, 0), sentiment = coalesce(sentiment, 0)`,
    ),
    ...compared.map(
      (table) => `UPDATE ${table} SET visibility_change =
        CASE WHEN ${before} > 1e-9 THEN round(100 * visibility_change / ${before}, 1) END WHERE visibility_change IS NOT NULL`,
    ),
    "UPDATE metrics SET entity_type = 'rival' WHERE competitor_id IS NOT NULL",
    "UPDATE metrics_daily SET entity_type = 'rival' WHERE competitor_id IS NOT NULL",
    "UPDATE metrics_daily SET engine = '*' WHERE row_mode = 'none'",
    "UPDATE metrics_prompts SET top_competitors = to_json(top_competitors->'$[*]')",
    'UPDATE metrics_prompts SET top_competitors = to_json(list_slice(CAST(top_competitors AS JSON[]), 1, 2))',
    "UPDATE metrics_groups SET group_id = 'none', name = 'Nothing' WHERE group_id IS NULL",
    "UPDATE metrics_groups SET group_id = 'b1', name = 'Brand' WHERE group_id = 'branded'",
    "UPDATE metrics_groups SET group_id = 'b0', name = 'Generic' WHERE group_id = 'non-branded'",
  );
  const shown = {
    competitorType: 'rival',
    combinedEngine: '*',
    topCompetitors: 2,
    emptyMean: 0,
    ungrouped: { groupId: 'none', name: 'Nothing' },
    brandedGroups: { true: { groupId: 'b1', name: 'Brand' }, false: { groupId: 'b0', name: 'Generic' } },
  };
  for (const [name, value] of Object.entries(shown)) {
    expect({ name, ...names.stored[name as keyof Conventions] }).toMatchObject({ source: 'learned', value });
  }
  expect(names.stored.visibilityChange.source).toBe('learned');
  expect(names.conventions.visibilityChange).toMatchObject({ whole: 100, decimals: 1, as: 'relative', of: 'exact' });

  const rounded = await learnChanged(
    workspace,
    ...reports.map((table) => `UPDATE ${table} SET visibility = trunc(visibility)`),
    'UPDATE cited_domains SET share = round_even(share, 1)',
    ...changed('0'),
  );
  expect(rounded.stored.emptyChange).toMatchObject({ source: 'learned', value: 0 });
  expect(rounded.conventions.visibility).toEqual({ whole: 100, decimals: 0, mode: 'down' });
  expect(rounded.conventions.shareOfVoice).toMatchObject({ whole: 100, decimals: null });
  expect(rounded.conventions.domainShare).toMatchObject({ whole: 100, decimals: 1 });

  // Changes of rounded shares, and the share itself as the change from a range without responses.
  const changes = await learnChanged(
    workspace,
    ...compared.map(
      (table) =>
        `UPDATE ${table} SET visibility_change = round(visibility) - round(${before}), visibility = round(visibility)`,
    ),
    ...['metrics', 'metrics_daily'].map((table) => `UPDATE ${table} SET visibility = round(visibility)`),
    ...changed('visibility'),
  );
  expect(changes.stored.emptyChange).toMatchObject({ source: 'learned', value: 'visibility' });
  expect(changes.stored.visibilityChange.source).toBe('learned');
  expect(changes.conventions.visibility).toMatchObject({ whole: 100, decimals: 0 });
  expect(changes.conventions.visibilityChange).toMatchObject({ whole: 100, as: 'difference', of: 'rounded' });
});

test('calibrating twice finds the same, only the newest range counts, and competitors that are listed twice count once', async () => {
  const first = await learnFrom({ world: 'small' });
  expect(first.conventions).toEqual({ ...conventionsOf({}), emptySite: 0 });
  // The ranges before the reports have no responses, which decides one point of a pair and leaves the other undetermined.
  expect(first.stored.emptyChange).toMatchObject({ source: 'learned', value: null });
  expect(Object.keys(first.stored).sort()).toEqual(Object.keys(defaultConventions).sort());
  expect((await learnAgain(first.workspace)).stored).toEqual(first.stored);
  // Rows of an older range, which stay in the warehouse, must not count.
  const older = `INSERT INTO metrics SELECT * REPLACE (range_from - 2 AS range_from, range_to - 2 AS range_to, 77.7 AS visibility)
    FROM metrics`;
  const second = await learnChanged(first.workspace, older);
  expect(second.stored.visibility).toMatchObject({ source: 'learned', error: 0 });
  expect(second.conventions).toEqual(first.conventions);
  const twice = await learnChanged(
    first.workspace,
    `INSERT INTO response_competitors
     SELECT * REPLACE (ordinal + 100 AS ordinal, 40 AS position, 'negative' AS sentiment)
     FROM response_competitors WHERE hash(response_id) % 4 = 0`,
  );
  expect(twice.unexplained).toEqual([]);
  for (const name of ['avgPosition', 'sentiment', 'labels'] as const) {
    const { value, source } = first.stored[name];
    expect(source).toBe('learned');
    expect({ name, ...twice.stored[name] }).toMatchObject({ name, value, source });
  }
});
