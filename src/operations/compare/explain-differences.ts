import { isDeepStrictEqual } from 'node:util';
import type { Catalogue } from '../../contract/catalogue.ts';
import { createCompute } from '../../metrics/calibration/compute-response.ts';
import { type Conventions, defaultConventions } from '../../metrics/calibration/conventions.ts';
import { describeConvention } from '../../metrics/calibration/descriptions.ts';
import { fitPoints } from '../../metrics/calibration/fit-points.ts';
import { distinct } from '../../metrics/calibration/forms.ts';
import { type CalibrationPoint, type KnownAnswer, usedCandidate } from '../../metrics/calibration/points/point.ts';
import { calibrationPoints } from '../../metrics/calibration/points/points.ts';
import type { Query } from '../../warehouse/database.ts';
import { readShapes } from '../../warehouse/ledger/shapes.ts';
import { differencesOfResponses } from './body-differences.ts';

/**
 * Returns, for each differing response that the stored data give with other conventions, these conventions as `name: value`, separated by
 * semicolons. They are calibrated with these responses, starting with the conventions that were used.
 */
export async function explainDifferences(
  query: Query,
  { catalogue, conventions }: { readonly catalogue: Catalogue; readonly conventions: Conventions },
  answers: readonly KnownAnswer[],
): Promise<ReadonlyMap<KnownAnswer, string>> {
  const compute = createCompute(query, catalogue, await readShapes(query));
  // If several values explain the responses, the first is found, so the used value is the first candidate.
  const points = calibrationPoints.map((point) => ({
    ...point,
    candidates: distinct([usedCandidate(point, conventions), ...point.candidates]) as CalibrationPoint['candidates'],
  }));
  const labels = Object.keys({ ...defaultConventions.labels, ...conventions.labels });
  const found = await fitPoints({ points, answers, conventions, compute, labels });
  const changed = Object.entries(found).flatMap(([name, { value }]) =>
    isDeepStrictEqual(value, conventions[name as keyof Conventions]) ? [] : [[name, value] as const],
  );
  const explanations = new Map<KnownAnswer, string>();
  for (const answer of answers) {
    const isExplainedBy = async (values: typeof changed): Promise<boolean> => {
      const own = await compute(answer, answer.askedAt, { ...conventions, ...Object.fromEntries(values) });
      return differencesOfResponses(answer, own).length === 0;
    };
    let needed = changed;
    for (const one of changed) {
      const others = needed.filter((other) => other !== one);
      if (await isExplainedBy(others)) needed = others;
    }
    const texts = needed.map(([name, value]) => `${name}: ${describeConvention(name as keyof Conventions, value)}`);
    if (await isExplainedBy(needed)) explanations.set(answer, texts.join('; '));
  }
  return explanations;
}
