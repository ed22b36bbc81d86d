import type { Catalogue } from '../../contract/catalogue.ts';
import { createCompute } from '../../metrics/calibration/compute-response.ts';
import type { Conventions } from '../../metrics/calibration/conventions.ts';
import { type Explanation, explainResponse } from '../../metrics/calibration/explain-response.ts';
import type { Compared } from '../../metrics/calibration/points/point.ts';
import { REPEATED_MENTIONS } from '../../metrics/numbers/aggregate.ts';
import type { Database } from '../../warehouse/database.ts';
import { readShapes } from '../../warehouse/ledger/shapes.ts';
import { type BodyDifference, differencesOf } from './body-differences.ts';
import type { CompareQuestion } from './compare-questions.ts';

/**
 * Returns the conventions with which the stored data give upstream's response, as `name: value`, the most likely first; none if the
 * response is not computed. `fields` are the differing fields.
 */
export type Explainer = (
  question: CompareQuestion,
  upstream: Compared,
  details: { readonly askedAt: number; readonly fields: readonly string[] },
) => Promise<readonly string[]>;

/** Failed searches for an explanation of the same fields, before further questions use only the explanations found. */
const FAILED_MAX = 3;
/** Explanations that are tried for the same fields before a new search. */
const KNOWN_MAX = 8;

/** Creates the function that explains differing responses by the candidates of each open point. */
export function createExplainer(
  database: Database,
  { catalogue, conventions }: { readonly catalogue: Catalogue; readonly conventions: Conventions },
): Explainer {
  const searched = new Map<string, { known: readonly Explanation[]; failed: number }>();
  return ({ resource, brandId, query }, upstream, { askedAt, fields }) => {
    if (catalogue.get(resource).computes === undefined || brandId === null) return Promise.resolve([]);
    const key = [resource, ...fields].join('\n');
    const before = searched.get(key) ?? { known: [], failed: 0 };
    return database.exclusive(async (session) => {
      const shapes = await readShapes(session.query);
      const mayRepeat = shapes.get(REPEATED_MENTIONS.resource, REPEATED_MENTIONS.form) !== null;
      const compute = createCompute(session.query, { catalogue, mayRepeat });
      const question = { resource, brandId, query };
      const fitting: Explanation[] = [];
      for (const known of before.known) {
        const own = await compute(question, askedAt, { ...conventions, ...known.values });
        if (differencesOfResponses(upstream, own).length === 0) fitting.push(known);
      }
      if (fitting.length === 0 && before.failed < FAILED_MAX) {
        const find = (theirs: Compared, ours: Compared) => differencesOfResponses(theirs, ours);
        fitting.push(...(await explainResponse(question, upstream, { askedAt, conventions, compute, find })));
      }
      const known = [...new Set([...fitting, ...before.known])].slice(0, KNOWN_MAX);
      searched.set(key, { known, failed: before.failed + (fitting.length === 0 ? 1 : 0) });
      return fitting.map(({ text }) => text);
    });
  };
}

/** Compares two responses: their status, and the bodies if both are successful. */
export function differencesOfResponses(upstream: Compared, own: Compared): BodyDifference[] {
  if (upstream.status !== own.status)
    return [{ field: 'status', kind: 'value', upstream: upstream.status, own: own.status }];
  return upstream.status === 200 ? differencesOf(upstream.body, own.body) : [];
}
