import type { Catalogue } from '../../contract/catalogue.ts';
import { dayOf } from '../../contract/time.ts';
import type { Database, Query } from '../../warehouse/database.ts';
import { readShapes } from '../../warehouse/ledger/shapes.ts';
import { type Finding, isEqual } from './candidates.ts';
import { type ChosenProbe, chooseProbes, type ProbeParts, readProbeVocabulary } from './choose-probes.ts';
import { createKnownResults, type KnownResults } from './compute-response.ts';
import { defaultConventions } from './conventions.ts';
import { type CountedRows, type CountedTables, countedTables } from './counted-tables.ts';
import { collectGroups } from './evidence-groups.ts';
import { readCombinedEngines, readCompetitorTypes, readDomains, readEmptyDays, readSites } from './evidence-lists.ts';
import { collectPrompts, countPrompts } from './evidence-prompts.ts';
import { collectStandings, createNumbers, readLabels, readSince } from './evidence.ts';
import { type Findings, hasFindings, type ReportedFindings, readConventions, writeFindings } from './findings.ts';
import type { PointEvidence, PointFindings } from './fit-points.ts';
import { fitReported, type ReportedEvidence } from './fit-reported.ts';
import { fitStoredPoints } from './point-evidence.ts';
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
    const { reported, points } = await findConventions(session.query, { catalogue, now });
    const findings = mergeFindings(reported, points);
    await writeFindings(session, findings, now);
    return contradictedOf(findings);
  });
}

/** Questions that are chosen at a time. */
const ROUND_MAX = 3;
/** Numbers are compared with the rows that upstream counts; if a calibration finds other rows, the numbers are compared again. */
const PASSES_MAX = 2;

/** Finds every convention. Starts with the rows that the calibration before found. */
async function findConventions(
  query: Query,
  { catalogue, now }: Pick<CalibrationOptions, 'catalogue' | 'now'>,
  known: Known = { results: createKnownResults(), reported: new Map() },
): Promise<FoundConventions> {
  let counted = countedRows(await readConventions(query));
  for (let pass = 1; ; pass++) {
    const key = JSON.stringify(counted);
    const tables = countedTables(counted, dayOf(now));
    const reported = known.reported.get(key) ?? fitReported(await readEvidence(query, tables));
    known.reported.set(key, reported);
    const found = await fitStoredPoints(query, catalogue, reported, known.results);
    const values = Object.fromEntries(Object.entries(found.points).map(([name, { value }]) => [name, value]));
    const next = countedRows({ ...defaultConventions, ...values });
    if (pass === PASSES_MAX || isEqual(counted, next)) return { reported, ...found };
    counted = next;
  }
}

/** Results that hold as long as the stored data do not change. */
interface Known {
  readonly results: KnownResults;
  /** Findings from reported numbers, by the rows that count. */
  readonly reported: Map<string, ReportedFindings>;
}

interface FoundConventions {
  readonly reported: ReportedFindings;
  readonly points: PointFindings;
  readonly evidence: PointEvidence;
}

// A point that neither numbers nor responses have decided keeps the value that the numbers suggest.
function mergeFindings(reported: ReportedFindings, points: PointFindings): Findings {
  const known: Readonly<Record<string, Finding<unknown> | undefined>> = reported;
  const own = Object.entries(points).filter(
    ([name, { compared }]) => compared > 0 || known[name]?.source !== 'default',
  );
  return { ...reported, ...Object.fromEntries(own) } as Findings;
}

function countedRows(conventions: CountedRows): CountedRows {
  const { countedResponses, currentDay, repeatedMentions, citationCount } = conventions;
  return { countedResponses, currentDay, repeatedMentions, citationCount };
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
  const known: Known = { results: createKnownResults(), reported: new Map() };
  let vocabulary: BrandVocabulary | null | undefined;
  return async () =>
    database.transaction(async (session) => {
      vocabulary ??= await readProbeVocabulary(session.query, catalogue, dayOf(now));
      const brand = vocabulary;
      if (brand === null) return { questions: [], contradicted: null };
      const { reported, points, evidence } = await findConventions(session.query, { catalogue, now }, known);
      // The next calibration starts with these values, so that it compares nothing again.
      const findings = mergeFindings(reported, points);
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
  const { points, evidence } = await findConventions(query, { catalogue, now });
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

async function readEvidence(query: Query, tables: CountedTables): Promise<ReportedEvidence> {
  const since = (await readSince(query)) ?? '1970-01-01';
  const labels = await readLabels(query, since);
  const numbers = createNumbers();
  await collectStandings(query, numbers, { tables, labels, since });
  const counts = await countPrompts(query, numbers, tables, labels);
  await collectPrompts(query, counts);
  await collectGroups(query, counts);
  return {
    labels,
    numbers,
    prompts: counts.evidence,
    domains: await readDomains(query, tables),
    sites: await readSites(query),
    emptyDays: await readEmptyDays(query, tables, since),
    combinedEngines: await readCombinedEngines(query, since),
    competitorTypes: await readCompetitorTypes(query, since),
    shapes: await readShapes(query),
  };
}
