import { isDeepStrictEqual } from 'node:util';
import type { Catalogue } from '../../contract/catalogue.ts';
import { observedOrder } from '../../contract/list-order.ts';
import type { Database } from '../../warehouse/database.ts';
import { readShapes, type Shapes } from '../../warehouse/ledger/shapes.ts';
import { AGREEING_LEAST, type Finding, LISTED_MAX, wilsonLow } from './candidates.ts';
import { withCommonForms } from './common-forms.ts';
import { defaultConventions, LIST_ORDERS } from './conventions.ts';
import { type Findings, readStoredFindings, writeFindings } from './findings.ts';
import { fitPoints } from './fit-points.ts';
import { readEvidence } from './point-evidence.ts';

/** Options of `calibrateConventions`. */
export interface CalibrationOptions {
  readonly catalogue: Catalogue;
  /** Epoch milliseconds. */
  readonly now: number;
  /** Does nothing if there are findings already. */
  readonly onlyIfNone?: boolean;
}

/**
 * Calibrates how upstream computes and writes its numbers, and stores the findings in `sync.calibration`. Returns the names of
 * contradicted conventions: enough rows, but no definition explains them.
 */
export async function calibrateConventions(
  database: Database,
  { catalogue, now, onlyIfNone = false }: CalibrationOptions,
): Promise<string[]> {
  return database.transaction(async (session) => {
    if (onlyIfNone && (await readStoredFindings(session.query)).size > 0) return [];
    const shapes = await readShapes(session.query);
    const points = withCommonForms(await fitPoints(await readEvidence(session.query, { catalogue, shapes })));
    const findings: Record<string, Finding<unknown>> = { ...points, ...fitListOrders(shapes) };
    await writeFindings(session, findings as Findings, now);
    return Object.entries(findings).flatMap(([name, { contradicted }]) => (contradicted ? [name] : []));
  });
}

// Finds the orders of paged lists, which the pages that a sync reads decide.
function fitListOrders(shapes: Shapes): Record<string, Finding<readonly string[]>> {
  const resources = Object.keys(LIST_ORDERS) as (keyof typeof LIST_ORDERS)[];
  return Object.fromEntries(resources.map((resource) => [LIST_ORDERS[resource], fitListOrder(resource, shapes)]));
}

// The order of a paged list: the one that is left of all known orders.
function fitListOrder(resource: keyof typeof LIST_ORDERS, shapes: Shapes): Finding<readonly string[]> {
  const prior = defaultConventions[LIST_ORDERS[resource]];
  const { shown: left = [], pairs = 0, against = 0 } = observedOrder(resource, shapes.rows) ?? {};
  const compared = pairs + against;
  const agreed = left.length === 0 ? 0 : pairs;
  const contradicted = agreed < AGREEING_LEAST * compared;
  const value = left.find((order) => isDeepStrictEqual(order, prior)) ?? left[0] ?? prior;
  const isLearned = left.length === 1 && !contradicted;
  const note = contradicted
    ? `no known order fits all pages; the best explains ${agreed} of ${compared} rows`
    : pairs === 0
      ? 'too little evidence: no rows to compare'
      : isLearned
        ? `${value.join(', ')}: ${pairs} of the rows rule out other orders`
        : `too little evidence: ${left.length} orders explain the ${pairs} rows`;
  return {
    value,
    source: isLearned ? 'learned' : 'default',
    compared,
    agreed,
    note,
    contradicted,
    confidence: isLearned ? wilsonLow(agreed, compared) : null,
    candidates: left.slice(0, LISTED_MAX).map((order) => ({ value: order, agreed: pairs })),
    left,
  };
}
