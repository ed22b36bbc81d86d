import { expect, test } from 'vitest';
import { defaultConventions, type Rounding } from '../../src/analytics/calibration/conventions.ts';
import type { ReportedFindings } from '../../src/analytics/calibration/findings.ts';
import { fitPoints, type PointEvidence } from '../../src/analytics/calibration/fit-points.ts';
import { halfPoints, openHalves } from '../../src/analytics/calibration/points/half-points.ts';
import type { KnownAnswer } from '../../src/analytics/calibration/points/point.ts';
import { round } from '../../src/analytics/numbers/definitions.ts';

const away: Rounding = { decimals: 1, mode: 'half-away' };
const up: Rounding = { decimals: 1, mode: 'half-up' };
const even: Rounding = { decimals: 1, mode: 'half-even' };
const AT = Date.parse('2026-03-15T12:00:00Z');

type Reported = Pick<ReportedFindings, 'sentiment' | 'labels'>;

function reported(
  alike: readonly Rounding[],
  labels: Readonly<Record<string, number>> = { good: 1, bad: -1 },
): Reported {
  const common = { source: 'learned', compared: 9, agreed: 9, largestError: 0, note: '', contradicted: false } as const;
  return { sentiment: { ...common, value: away, alike }, labels: { ...common, value: labels } };
}

test('negative halves are open if labels can be negative and the numbers leave both roundings', () => {
  expect(openHalves(reported([away, up]))).toEqual([away, up]);
  expect(openHalves(reported([up, even, away]))).toEqual([away, up, even]);
});

test.each<[string, Reported]>([
  ['labels are not negative', reported([away, up], { good: 1, bad: 0 })],
  ['the numbers rule out half-up', reported([away, even])],
  ['only roundings with other decimals are left', reported([away, { decimals: 2, mode: 'half-up' }])],
  [
    'the worths of labels are unknown',
    { ...reported([away, up]), labels: { ...reported([]).labels, source: 'default' } },
  ],
])('nothing is open if %s', (_, findings) => {
  expect(openHalves(findings)).toEqual([]);
  expect(halfPoints(findings as ReportedFindings)).toEqual([]);
});

// The response that an upstream sends with this rounding; the mean is a negative half in one row only.
function responseWith(rounding: Rounding, means: readonly number[]) {
  const rows = means.map((mean, index) => ({ promptId: `p${index}`, sentiment: round(rounding, mean) }));
  return { status: 200, body: { data: rows } };
}

async function fitted(upstream: Rounding, means: readonly number[]) {
  const points = halfPoints(reported([away, up, even]) as ReportedFindings);
  const question = { resource: 'metrics_prompts', brandId: 'b', query: { from: '2026-03-01', to: '2026-03-08' } };
  const known = { isReport: false, isSettled: true, isProbe: true, isFresh: true, askedAt: AT } as const;
  const answer: KnownAnswer = { ...question, ...responseWith(upstream, means), ...known };
  const evidence: PointEvidence = {
    points,
    answers: [answer],
    conventions: { ...defaultConventions, sentiment: away },
    compute: async (_, __, conventions) => responseWith(conventions.sentiment, means),
  };
  return (await fitPoints(evidence))['sentiment'];
}

test('a negative half and a positive half of a response decide between all roundings', async () => {
  const means = [0.3, -6.25, 6.25];
  for (const upstream of [away, up, even]) {
    expect(await fitted(upstream, means)).toMatchObject({ value: upstream, source: 'learned', contradicted: false });
  }
});

test('a positive half alone does not decide how negative halves are rounded', async () => {
  expect(await fitted(up, [0.3, 6.25])).toMatchObject({ source: 'default', contradicted: false });
});
