import { describe, expect, test } from 'vitest';
import type { Choices } from '../../schemas/fixtures/choices.ts';
import { type Conventions, defaultConventions, LIST_ORDERS } from '../../src/metrics/calibration/conventions.ts';
import { calibrationPoints } from '../../src/metrics/calibration/points/points.ts';
import { openWorkspace } from '../support/workspace.ts';
import { WORLDS } from '../support/worlds.ts';
import { conventionsOf, learnAgain, learnChanged, learnFrom, type ReportRow, type RowChanges } from './workspace.ts';

const enough = { brands: 1, prompts: 10, days: 34 } as const;

const differing = {
  scale: 'fraction',
  decimals: 3,
  sentiment: { 'très bien': 2, 'so-so': 0.25, "can't say": -0.5, dreadful: -2 },
  unlabelled: 1,
  domainShareOf: 'responses',
  emptyShare: null,
  emptyDays: 'zero',
  combinedEngine: 'all',
  groupPrompts: 'all',
  ungrouped: 'null',
  groupOrder: ['stageAppearance', 'listed'],
} as const satisfies Partial<Choices>;

// Reports without further questions leave some points open.
const points = calibrationPoints.flatMap(({ names }) => names);
const decided = ['visibility', 'shareOfVoice', 'avgPosition', 'labels', 'visibilityChange', 'domainShare'];
const open = [...points, ...Object.values(LIST_ORDERS)].filter((name) => !decided.includes(name));
const undetermined = new RegExp(`^(${open.join('|')})$`);

test('calibration finds the conventions of a sandbox with other choices', async () => {
  const { conventions, unexplained, stored } = await learnFrom({ ...enough, seed: 10, choices: differing });
  const expected = conventionsOf(differing);
  expect(conventions).toEqual(expected);
  expect(unexplained).toEqual([]);
  expect(Object.keys(stored).sort()).toEqual(Object.keys(defaultConventions).sort());
  for (const [name, { value, source, compared, agreed, note }] of Object.entries(stored)) {
    expect({ name, value }).toEqual({ name, value: expected[name as keyof Conventions] });
    expect(agreed, name).toBe(compared);
    expect({ name, source, note }).toEqual(
      note.startsWith('too little')
        ? { name: expect.stringMatching(undetermined), source: 'default', note }
        : { name, source: 'learned', note: expect.stringMatching(/./) },
    );
  }
  for (const name of ['visibility', 'shareOfVoice', 'avgPosition', 'sentiment', 'labels'] as const) {
    expect(stored[name].compared, name).toBeGreaterThan(100);
  }
  expect(stored.visibilityChange.compared).toBeGreaterThan(10);
  expect(stored.domainShare.compared).toBeGreaterThan(50);
});

describe('calibration reports too little evidence', () => {
  test('with one prompt and two days', async () => {
    const { conventions, stored, unexplained } = await learnFrom({ brands: 1, prompts: 1, days: 2, seed: 5 });
    expect(conventions).toEqual(defaultConventions);
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

const REPORTS = ['metrics', 'metrics_daily', 'metrics_prompts', 'metrics_groups'];

/** Changes each row of some reports. */
function changed(resources: readonly string[], change: RowChanges[string]): RowChanges {
  return Object.fromEntries(resources.map((resource) => [resource, change]));
}

test('a share without rows gets the form of the other shares', async () => {
  const { choices } = WORLDS.fractions;
  const workspace = await openWorkspace({ world: 'fractions' });
  const gone = changed(['cited_domains', 'metrics_prompts', 'metrics_groups'], () => null);
  const { stored, conventions } = await learnChanged(
    workspace,
    gone,
    "DELETE FROM sync.answers WHERE resource = 'traffic'",
  );
  for (const name of ['visibilityChange', 'domainShare', 'shareOfSite'] as const) {
    const note = expect.stringContaining('uses the form of');
    expect(stored[name]).toMatchObject({ source: 'default', compared: 0, note });
    expect(conventions[name]).toEqual(conventionsOf(choices)[name]);
  }
});

test('a number of inconsistent rows decides whether a definition is accepted', async () => {
  const workspace = await openWorkspace({ world: 'tiny' });
  const wrong = (of: number): RowChanges => {
    let count = 0;
    return changed(REPORTS, (row) =>
      ++count % of === 0 ? { ...row, visibility: Number(row['visibility']) + 1.7 } : row,
    );
  };

  const tenth = await learnChanged(workspace, wrong(10));
  expect(tenth.stored.visibility.source).toBe('default');
  expect(tenth.stored.visibility.note).toMatch(/; no value explains \d+ other facts$/);
  expect(tenth.stored.avgPosition.source).toBe('learned');

  const few = await learnChanged(workspace, wrong(50));
  expect(few.stored.visibility).toMatchObject({ source: 'learned', value: defaultConventions.visibility });
  expect(few.unexplained).toEqual([]);

  // Rows without stored responses cannot be compared.
  const gone = (table: string, key: string): string =>
    `UPDATE ${table} SET _deleted_at = now()::TIMESTAMP WHERE hash(${key}) % 2 = 0`;
  const half = await learnChanged(workspace, {}, gone('responses', 'id'), gone('response_citations', 'response_id'));
  expect(half.stored.visibility.compared).toBeLessThan(few.stored.visibility.compared / 2);
});

test('the order of the newest page of a list is contradicted if other pages have no common order with it', async () => {
  const workspace = await openWorkspace({ world: 'tiny' });
  const byDomain = ['-detectedAt', 'domain', 'id'];
  const observed = { left: [byDomain], shown: [byDomain], pairs: 9, against: 20 };
  const { stored, unexplained } = await learnChanged(
    workspace,
    {},
    "DELETE FROM sync.shapes WHERE resource = 'alerts' AND name = 'order'",
    `INSERT INTO sync.shapes (resource, name, value) VALUES ('alerts', 'order', '${JSON.stringify(observed)}')`,
  );
  expect(stored.alertOrder).toMatchObject({ value: byDomain, source: 'default', compared: 29, agreed: 9 });
  expect(unexplained).toEqual(['alertOrder']);
});

test('calibration finds conventions that the sandbox cannot vary', async () => {
  const workspace = await openWorkspace({ brands: 1, prompts: 8, days: 35, seed: 8, choices: { decimals: 'none' } });
  expect((await workspace.sync()).status).toBe('complete');
  const number = (value: unknown): number => Number(value ?? 0);
  const before = (row: ReportRow): number => number(row['visibility']) - number(row['visibilityChange']);

  // Names and placeholders, truncated shares, and relative changes.
  {
    const truncated = (row: ReportRow): ReportRow => ({ ...row, visibility: Math.trunc(number(row['visibility'])) });
    const relative = (row: ReportRow): ReportRow => ({
      ...truncated(row),
      visibilityChange:
        row['visibilityChange'] === null
          ? null
          : Math.round((1000 * number(row['visibilityChange'])) / before(row)) / 10,
    });
    const ifBefore = (row: ReportRow, changed: ReportRow): ReportRow | null => (before(row) === 0 ? null : changed);
    const top = ({ topCompetitors }: ReportRow): unknown[] => (topCompetitors as unknown[]).slice(0, 1);
    const means = (row: ReportRow): ReportRow => ({
      avgPosition: row['avgPosition'] ?? 0,
      sentiment: row['sentiment'] ?? 0,
    });
    const rival = (row: ReportRow): ReportRow => ({
      ...truncated(row),
      ...means(row),
      ...(row['competitorId'] === null ? {} : { entityType: 'rival' }),
    });
    const names: Readonly<Record<string, { readonly groupId: string; readonly name: string }>> = {
      branded: { groupId: 'b1', name: 'Brand' },
      'non-branded': { groupId: 'b0', name: 'Generic' },
    };
    const { stored, conventions } = await learnChanged(workspace, {
      metrics: rival,
      metrics_daily: (row) => ({ ...rival(row), ...(row['engine'] === null ? { engine: '*' } : {}) }),
      metrics_prompts: (row) => ifBefore(row, { ...relative(row), ...means(row), topCompetitors: top(row) }),
      metrics_groups: (row) => ifBefore(row, { ...relative(row), ...means(row), ...names[String(row['groupId'])] }),
    });
    const shown = {
      competitorType: 'rival',
      combinedEngine: '*',
      topCompetitors: 1,
      emptyMean: 0,
      brandedGroups: { true: names['branded'], false: names['non-branded'] },
    };
    for (const [name, value] of Object.entries(shown)) {
      expect({ name, ...stored[name as keyof Conventions] }).toMatchObject({ source: 'learned', value });
    }
    expect(conventions.visibility).toEqual({ whole: 100, decimals: 0, mode: 'down' });
    expect(conventions.shareOfVoice).toMatchObject({ whole: 100, decimals: null });
    expect(conventions.visibilityChange).toMatchObject({ whole: 100, decimals: 1, as: 'relative', of: 'exact' });
  }

  // Changes of rounded shares.
  {
    const rounded = (row: ReportRow): ReportRow => ({ ...row, visibility: Math.round(number(row['visibility'])) });
    const { conventions } = await learnChanged(workspace, {
      ...changed(['metrics', 'metrics_daily'], rounded),
      ...changed(['metrics_prompts', 'metrics_groups'], (row) => ({
        ...rounded(row),
        visibilityChange:
          row['visibilityChange'] === null ? null : Math.round(number(row['visibility'])) - Math.round(before(row)),
      })),
    });
    expect(conventions.visibility).toMatchObject({ whole: 100, decimals: 0 });
    expect(conventions.visibilityChange).toMatchObject({ whole: 100, as: 'difference', of: 'rounded' });
  }
});

test('calibrating twice finds the same', async () => {
  const first = await learnFrom({ world: 'tiny' });
  expect(Object.keys(first.stored).sort()).toEqual(Object.keys(defaultConventions).sort());
  expect((await learnAgain(first.workspace)).stored).toEqual(first.stored);
});
