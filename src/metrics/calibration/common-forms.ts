import { isDeepStrictEqual } from 'node:util';
import { type Finding, ROWS_LEAST } from './candidates.ts';
import { type Rounding, roundingModes, type ShareForm } from './conventions.ts';
import type { PointFindings } from './fit-points.ts';

const SHARES = ['visibility', 'shareOfVoice', 'visibilityChange', 'domainShare', 'shareOfSite'] as const;
const ROUNDED = [...SHARES, 'avgPosition', 'sentiment'] as const;

/**
 * Completes the forms of numbers by those of other numbers: an upstream usually writes all numbers alike. A share without rows gets the form of
 * the share with most evidence, and all numbers get the rounding mode that explains most of them.
 */
export function withCommonForms(findings: PointFindings): PointFindings {
  return withCommonMode({ ...findings, ...followingForms(findings) });
}

function followingForms(findings: PointFindings): Record<string, Finding<unknown>> {
  const shares = SHARES.flatMap((name) => (findings[name] === undefined ? [] : [{ name, finding: findings[name] }]));
  const [leader] = shares
    .filter(({ finding }) => finding.source === 'learned')
    .toSorted((a, b) => b.finding.agreed - a.finding.agreed);
  if (leader === undefined) return {};
  const { whole, decimals, mode } = leader.finding.value as ShareForm;
  return Object.fromEntries(
    shares.flatMap(({ name, finding }) => {
      if (finding.source === 'learned' || finding.contradicted) return [];
      // Rows that rule out the form are evidence, although they do not decide.
      const value = { ...(finding.value as ShareForm), whole, decimals, mode };
      const isPossible = finding.left.some((left) => isDeepStrictEqual(left, value));
      if ((finding.compared >= ROWS_LEAST && !isPossible) || isDeepStrictEqual(value, finding.value)) return [];
      return [[name, { ...finding, value, note: `${finding.note}; uses the form of ${leader.name}` }]];
    }),
  );
}

// The rows of one kind of number rarely have a half that distinguishes the modes.
function withCommonMode(findings: PointFindings): PointFindings {
  const variantsOf = (mode: Rounding['mode']): [string, Finding<unknown>][] =>
    ROUNDED.flatMap((name) => {
      const finding = findings[name];
      if (finding === undefined || finding.source !== 'learned') return [];
      const value = finding.value as Rounding;
      const variant = { ...value, mode };
      const isAlike = value.decimals !== null && finding.left.some((other) => isDeepStrictEqual(other, variant));
      return isAlike ? [[name, { ...finding, value: variant }]] : [];
    });
  const all = roundingModes.map(variantsOf);
  const most = Math.max(...all.map(({ length }) => length));
  return { ...findings, ...Object.fromEntries(all.find(({ length }) => length === most) ?? []) };
}
