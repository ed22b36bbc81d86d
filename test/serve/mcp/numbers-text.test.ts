import { expect, test } from 'vitest';
import { declarations } from '../../../schemas/catalogue.ts';
import { createCatalogue } from '../../../src/contract/catalogue.ts';
import { type Conventions, defaultConventions } from '../../../src/metrics/calibration/conventions.ts';
import type { Doubts } from '../../../src/metrics/calibration/findings.ts';
import { describeNumbers } from '../../../src/serve/mcp/endpoints/numbers-text.ts';

const catalogue = createCatalogue(declarations);

function describe(resource: string, changes: Partial<Conventions> = {}, doubts: Doubts = new Map()): string {
  return describeNumbers(catalogue, catalogue.get(resource), { ...defaultConventions, ...changes }, doubts).join(' ');
}

test('results of tools describe the numbers with the calibrated conventions', () => {
  expect(describe('cited_urls')).toBe('title: the latest title.');
  expect(describe('cited_urls', { urlTitle: 'frequent' })).toBe(
    'title: the most frequent title, of several the latest.',
  );
  const groups = describe('metrics_groups');
  expect(groups).toContain('visibility and shareOfVoice: percent, 0 to 100, rounded to 1 decimal.');
  expect(groups).toContain('prompts: prompts with responses in the range.');
  expect(groups).toContain('visibilityChange: since the range of equal length directly before.');
  expect(groups).toContain('Without responses, shares are 0 and means are null.');
  const other = describe('metrics_groups', {
    groupPrompts: 'all',
    groupPromptsFilter: 'matching',
    changePeriod: 'weeks',
    emptyShare: null,
    shareOfVoice: { whole: 1, decimals: null, mode: 'half-away' },
    visibility: { whole: 1, decimals: 0, mode: 'half-away' },
  });
  expect(other).toContain('visibility: fraction, 0 to 1, rounded to whole numbers.');
  expect(other).toContain('shareOfVoice: fraction, 0 to 1, not rounded.');
  expect(other).toContain('prompts: all current prompts, of those that match the filters.');
  expect(other).toContain('visibilityChange: since the same range, earlier by whole weeks.');
  expect(other).toContain('Without responses, shares are null and means are null.');
});

test('results state which conventions upstream has not shown, or contradicts', () => {
  const doubts: Doubts = new Map([
    ['urlTitle', 'undetermined'],
    ['labels', 'undetermined'],
    ['shareOfVoice', 'contradicted'],
    ['countedResponses', 'undetermined'],
  ]);
  expect(describe('cited_urls', {}, doubts)).toBe('title: the latest title (undetermined).');
  const metrics = describe('metrics', {}, doubts);
  expect(metrics).toContain('visibility: percent, 0 to 100, rounded to 1 decimal.');
  expect(metrics).toContain("shareOfVoice: percent, 0 to 100, rounded to 1 decimal (upstream's responses differ).");
  expect(metrics).toContain('higher is better (undetermined).');
  // The default is described only if it is in doubt.
  expect(metrics).toContain('Counted: responses to all prompts (undetermined).');
  expect(describe('metrics')).not.toContain('Counted:');
});

test('definitions of tools leave out what only results need', () => {
  const brief = describeNumbers(catalogue, catalogue.get('metrics_groups'), defaultConventions).join(' ');
  expect(brief).toContain('visibility and shareOfVoice: percent, 0 to 100.');
  expect(brief).toContain('visibilityChange: in percentage points.');
  expect(brief).not.toContain('rounded');
  expect(brief).not.toContain('Without responses');
  const fraction = { whole: 1, decimals: 3, mode: 'half-away' } as const;
  const change = { ...defaultConventions.visibilityChange, whole: 1 } as const;
  const conventions = { ...defaultConventions, visibility: fraction, visibilityChange: change };
  const other = describeNumbers(catalogue, catalogue.get('metrics_groups'), conventions).join(' ');
  expect(other).toContain('shareOfVoice: percent, 0 to 100. visibility: fraction, 0 to 1.');
  expect(other).toContain('visibilityChange: difference of two fractions.');
});
