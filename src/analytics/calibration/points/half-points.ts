import { isEqual } from '../candidates.ts';
import type { Rounding } from '../conventions.ts';
import type { ReportedFindings } from '../findings.ts';
import { fieldValues } from './facts.ts';
import type { CalibrationPoint } from './point.ts';

/**
 * Returns the roundings of mean sentiment that explain all reported numbers, if they differ in negative halves: -2.5 becomes -3 or -2.
 * Only sentiment can be negative, so other numbers cannot separate them. Returns none if the rounding is known, or if nothing is known
 * about it. The first is the value of the finding.
 */
export function openHalves({ sentiment, labels }: Pick<ReportedFindings, 'sentiment' | 'labels'>): readonly Rounding[] {
  const { value, alike = [] } = sentiment;
  const isSigned = labels.source === 'learned' && Object.values(labels.value).some((worth) => worth < 0);
  const left = alike.filter((other) => other.decimals === value.decimals && !isEqual(other, value));
  const all = [value, ...left];
  const areOpen = isSigned && value.decimals !== null && new Set(all.map(roundsUp)).size > 1;
  return areOpen ? all : [];
}

function roundsUp({ mode }: Rounding): boolean {
  return mode === 'half-up';
}

/** Returns the point about negative halves of mean sentiment; none if reported numbers have decided it. */
export function halfPoints(reported: ReportedFindings): readonly CalibrationPoint[] {
  const candidates = openHalves(reported);
  if (candidates.length === 0) return [];
  const point: CalibrationPoint<'sentiment'> = {
    name: 'sentiment',
    about: 'how negative halves of mean sentiment are rounded',
    resources: ['metrics', 'metrics_daily', 'metrics_prompts', 'metrics_groups'],
    candidates,
    settles: roundsUp,
    isPartial: true,
    facts: (response, question) => fieldValues(response, question, 'sentiment'),
  };
  return [point as CalibrationPoint];
}
