import type { Catalogue } from '../../contract/catalogue.ts';
import { observedOrder } from '../../contract/list-order.ts';
import { dayOf } from '../../contract/time.ts';
import type { Database, Query } from '../../warehouse/database.ts';
import { readShapes, type Shapes } from '../../warehouse/ledger/shapes.ts';
import { type Finding, isEqual, LISTED_MAX, wilsonLow } from './candidates.ts';
import { type ChosenProbe, chooseProbes, type ProbeParts, readProbeVocabulary } from './choose-probes.ts';
import { withCommonForms } from './common-forms.ts';
import { createKnownResults, type KnownResults } from './compute-response.ts';
import { defaultConventions, LIST_ORDERS } from './conventions.ts';
import { type Findings, hasFindings, writeFindings } from './findings.ts';
import { fitPoints, type PointEvidence, type PointFindings } from './fit-points.ts';
import { readEvidence } from './point-evidence.ts';
import type { BrandVocabulary } from './points/point.ts';

/** Options of finding questions. */
interface ProbeOptions extends Pick<CalibrationOptions, 'catalogue' | 'now'> {
  /** Most questions after the first sync, and again after a contradiction. */
  readonly max: number;
}

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
    if (onlyIfNone && (await hasFindings(session))) return [];
    const { findings } = await findConventions(session.query, catalogue);
    await writeFindings(session, findings, now);
    return contradictedOf(findings);
  });
}

/** Questions that are chosen at a time. */
const ROUND_MAX = 3;

/** What holds as long as the stored data do not change. */
interface Known {
  readonly results: KnownResults;
  /** The findings from fewer responses. */
  points?: PointFindings;
}

interface FoundConventions {
  readonly evidence: PointEvidence;
  readonly points: PointFindings;
  readonly findings: Findings;
}

/** Finds every convention. Starts with the values that the calibration before found. */
async function findConventions(
  query: Query,
  catalogue: Catalogue,
  { results, points: before }: Known = { results: createKnownResults() },
): Promise<FoundConventions> {
  const shapes = await readShapes(query);
  const stored = await readEvidence(query, { catalogue, shapes, known: results });
  const evidence = before === undefined ? stored : { ...stored, known: new Map(Object.entries(before)) };
  const points = withCommonForms(await fitPoints(evidence));
  const findings: Record<string, Finding<unknown>> = { ...points, ...fitListOrders(shapes) };
  return { evidence, points, findings: findings as Findings };
}

/** Questions to ask, and the names of contradicted conventions. */
export interface FoundProbes {
  readonly questions: readonly ChosenProbe[];
  /** Null if nothing was calibrated. */
  readonly contradicted: readonly string[] | null;
}

/** Calibrates, and returns the questions to ask next; none if no responses are stored. */
export type FindProbes = () => Promise<FoundProbes>;

/**
 * Returns the function that finds questions. It can be called again after the responses to its questions were kept; the other stored
 * data must not change meanwhile.
 */
export function createProbeFinder(database: Database, { catalogue, now, max }: ProbeOptions): FindProbes {
  const known: Known = { results: createKnownResults() };
  let vocabulary: BrandVocabulary | null | undefined;
  return async () =>
    database.transaction(async (session) => {
      vocabulary ??= await readProbeVocabulary(session.query, catalogue, dayOf(now));
      const brand = vocabulary;
      if (brand === null) return { questions: [], contradicted: null };
      const { points, evidence, findings } = await findConventions(session.query, catalogue, known);
      // The next calibration starts with these findings, so that it compares nothing again.
      known.points = points;
      await writeFindings(session, findings, now);
      const questions = await chooseNext(session.query, { evidence, findings: points, brand, now, max });
      // The answers may leave fewer candidates, which other questions separate.
      return { questions: questions.slice(0, ROUND_MAX), contradicted: contradictedOf(findings) };
    });
}

/**
 * Returns the questions that the next sync would ask if the stored data stayed the same; null if no responses are stored, because the
 * data decide them. Writes nothing.
 */
export async function planProbes(
  query: Query,
  { catalogue, now, max }: ProbeOptions,
): Promise<readonly ChosenProbe[] | null> {
  if (max === 0) return [];
  const brand = await readProbeVocabulary(query, catalogue, dayOf(now));
  if (brand === null) return null;
  const { points, evidence } = await findConventions(query, catalogue);
  return chooseNext(query, { evidence, findings: points, brand, now, max });
}

// Questions are asked once, and once more after a contradiction. `max` is the limit of each time.
async function chooseNext(query: Query, parts: ProbeParts): Promise<ChosenProbe[]> {
  const [row] = await query('SELECT epoch_ms(max(decided_at)) FROM sync.calibration WHERE contradicted');
  const since = Number(row?.[0] ?? 0);
  const answers = parts.evidence.answers.filter(({ isReport, askedAt }) => isReport || askedAt >= since);
  const asked = answers.filter(({ isProbe }) => isProbe).length;
  return chooseProbes({ ...parts, evidence: { ...parts.evidence, answers }, max: parts.max - asked });
}

function contradictedOf(findings: Findings): string[] {
  return Object.entries(findings).flatMap(([name, { contradicted }]) => (contradicted ? [name] : []));
}

// Finds the orders of paged lists, which the pages that a sync reads decide.
function fitListOrders(shapes: Shapes): Record<string, Finding<readonly string[]>> {
  const resources = Object.keys(LIST_ORDERS) as (keyof typeof LIST_ORDERS)[];
  return Object.fromEntries(resources.map((resource) => [LIST_ORDERS[resource], fitListOrder(resource, shapes)]));
}

// The order of a paged list: the one that is left of all known orders.
function fitListOrder(resource: keyof typeof LIST_ORDERS, shapes: Shapes): Finding<readonly string[]> {
  const prior = defaultConventions[LIST_ORDERS[resource]];
  const { shown: left = [], pairs = 0 } = observedOrder(resource, shapes.rows) ?? {};
  const contradicted = pairs > 0 && left.length === 0;
  const value = left.find((order) => isEqual(order, prior)) ?? left[0] ?? prior;
  const isLearned = left.length === 1;
  const note = contradicted
    ? 'no known order fits the newest page'
    : pairs === 0
      ? 'too little evidence: no rows to compare'
      : isLearned
        ? `${value.join(', ')}: ${pairs} of the rows rule out other orders`
        : `too little evidence: ${left.length} orders explain the ${pairs} rows`;
  return {
    value,
    source: isLearned ? 'learned' : 'default',
    compared: pairs,
    agreed: contradicted ? 0 : pairs,
    note,
    contradicted,
    confidence: isLearned ? wilsonLow(pairs, pairs) : null,
    candidates: left.slice(0, LISTED_MAX).map((order) => ({ value: order, agreed: pairs })),
  };
}
