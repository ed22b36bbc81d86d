import type { Conventions } from '../../analytics/calibration/conventions.ts';
import { describeConvention } from '../../analytics/calibration/descriptions.ts';
import { createCompute } from '../../analytics/calibration/fit-points.ts';
import type { Compared } from '../../analytics/calibration/points/point.ts';
import { calibrationPoints } from '../../analytics/calibration/points/points.ts';
import { REPEATED_MENTIONS } from '../../analytics/numbers/aggregate.ts';
import type { Catalogue } from '../../contract/catalogue.ts';
import type { Database } from '../../warehouse/database.ts';
import { readShapes } from '../../warehouse/ledger/shapes.ts';
import { differencesOf } from './body-differences.ts';
import type { CompareQuestion } from './compare-questions.ts';

/**
 * Returns the convention with which the stored data give upstream's response, as `name: value`; null if no single convention does, or if the
 * response is not computed.
 */
export type Explainer = (question: CompareQuestion, upstream: Compared, askedAt: number) => Promise<string | null>;

/** Creates the function that explains differing responses by the candidates of each open point. */
export function createExplainer(
  database: Database,
  { catalogue, conventions }: { readonly catalogue: Catalogue; readonly conventions: Conventions },
): Explainer {
  return ({ resource, brandId, query }, upstream, askedAt) => {
    if (catalogue.get(resource).computes === undefined || brandId === null) return Promise.resolve(null);
    return database.exclusive(async (session) => {
      const shapes = await readShapes(session.query);
      const mayRepeat = shapes.get(REPEATED_MENTIONS.resource, REPEATED_MENTIONS.form) !== null;
      const compute = createCompute(session.query, { catalogue, mayRepeat });
      for (const { name, candidates } of calibrationPoints) {
        for (const candidate of candidates) {
          const own = await compute({ resource, brandId, query }, askedAt, { ...conventions, [name]: candidate });
          const isEqual = own.status === upstream.status && differencesOf(upstream.body, own.body).length === 0;
          if (isEqual) return `${name}: ${describeConvention(name, candidate)}`;
        }
      }
      return null;
    });
  };
}
