import type { Catalogue } from '../../contract/catalogue.ts';
import type { Query } from '../../warehouse/database.ts';
import { readAnswers, readPassStart } from '../../warehouse/ledger/answers.ts';
import { readDaysOf } from '../../warehouse/ledger/echoed-days.ts';
import { readShapes } from '../../warehouse/ledger/shapes.ts';
import { REPEATED_MENTIONS } from '../numbers/aggregate.ts';
import { type Finding, isEqual } from './candidates.ts';
import { createCompute, createKnownResults, type KnownResults } from './compute-response.ts';
import { type Conventions, defaultConventions } from './conventions.ts';
import { type ReportedFindings, readConventions, readStoredFindings } from './findings.ts';
import { fitPoints, type PointEvidence, type PointFindings } from './fit-points.ts';
import { halfPoints } from './points/half-points.ts';
import type { CalibrationPoint, KnownAnswer } from './points/point.ts';
import { calibrationPoints } from './points/points.ts';

/** Fits the points to the kept responses. Points start with the values of the calibration before. */
export async function fitStoredPoints(
  query: Query,
  catalogue: Catalogue,
  reported: ReportedFindings,
  results: KnownResults = createKnownResults(),
): Promise<{ points: PointFindings; evidence: PointEvidence }> {
  const values = Object.fromEntries(Object.entries(reported).map(([name, { value }]) => [name, value]));
  const conventions = { ...defaultConventions, ...(await readConventions(query)), ...values };
  const shapes = await readShapes(query);
  const mayRepeat = shapes.get(REPEATED_MENTIONS.resource, REPEATED_MENTIONS.form) !== null;
  const compute = createCompute(query, { catalogue, mayRepeat, known: results });
  const answers = await readKnownAnswers(query);
  const startedAt = await readPassStart(query);
  // Findings of the same pass may be from data that were not complete.
  const known = new Map(
    [...(await readStoredFindings(query))]
      .filter(([, { decidedAt }]) => decidedAt < startedAt)
      .map(([name, finding]) => [name, { ...finding, largestError: null }]),
  );
  const points = [...calibrationPoints.flatMap((point) => openPart(point, reported) ?? []), ...halfPoints(reported)];
  const evidence: PointEvidence = { points, answers, conventions, compute, known };
  return { points: await fitPoints(evidence), evidence };
}

// Removes the values that reported numbers have decided, because they are more evidence than the few kept responses. Returns null if
// none is left to decide.
function openPart(point: CalibrationPoint, reported: ReportedFindings): CalibrationPoint | null {
  const known: Readonly<Record<string, Finding<unknown> | undefined>> = reported;
  const isDecided = (name: string): boolean => known[name]?.source === 'learned';
  if (point.members === undefined) return isDecided(point.name) ? null : point;
  const members = Object.entries(point.members);
  const open = members.filter(([name]) => !isDecided(name));
  const [first] = open;
  if (first === undefined) return null;
  if (open.length === members.length) return point;
  const decided = members.map(([name]) => name).filter(isDecided);
  const candidates = (point.candidates as readonly Readonly<Record<string, unknown>>[]).filter((candidate) =>
    decided.every((name) => isEqual(candidate[name], known[name]?.value)),
  );
  return { ...point, name: first[0] as keyof Conventions, members: Object.fromEntries(open), candidates };
}

// Reads the kept responses that are evidence for a point: responses to questions first, then reports, newest first.
async function readKnownAnswers(query: Query): Promise<KnownAnswer[]> {
  const resources = [...new Set(calibrationPoints.flatMap((point) => point.resources))];
  const stored = await readAnswers(query, resources);
  const daysOf = await readDaysOf(query);
  const answers = stored.flatMap(({ body, brandId, purpose, ...answer }): KnownAnswer[] => {
    if (brandId === null) return [];
    const { query: asked, askedAt } = answer;
    const isSettled =
      purpose === 'probe' || (asked['to'] !== undefined && asked['to'] < daysOf(answer.resource, brandId)(askedAt));
    return [
      {
        ...answer,
        brandId,
        isReport: purpose === 'report',
        isProbe: purpose === 'probe',
        isSettled,
        body: parse(body),
      },
    ];
  });
  return answers.toSorted((a, b) => Number(a.isReport) - Number(b.isReport));
}

function parse(text: string | null): unknown {
  try {
    return JSON.parse(text ?? 'null');
  } catch {
    return null;
  }
}
