import type { Catalogue } from '../../contract/catalogue.ts';
import type { Query, Session } from '../../warehouse/database.ts';
import { readAnswers, writeAgreements } from '../../warehouse/ledger/answers.ts';
import { readShapes } from '../../warehouse/ledger/shapes.ts';
import { REPEATED_MENTIONS } from '../numbers/aggregate.ts';
import { defaultConventions } from './conventions.ts';
import { type ReportedFindings, readConventions } from './findings.ts';
import { createCompute, fitPoints, type KnownResults, type PointEvidence, type PointFindings } from './fit-points.ts';
import type { KnownAnswer, StoredAgreements } from './points/point.ts';
import { calibrationPoints } from './points/points.ts';

/** A kept response, with its row. */
interface EvidenceAnswer extends KnownAnswer {
  readonly rowId: number;
}

/**
 * Fits the points to the kept responses, and stores the comparisons that were made. Points start with the values of the calibration
 * before, because kept comparisons depend on them.
 */
export async function fitStoredPoints(
  session: Session,
  catalogue: Catalogue,
  reported: ReportedFindings,
  known: KnownResults = new Map(),
): Promise<{ points: PointFindings; evidence: PointEvidence }> {
  const { query } = session;
  const values = Object.fromEntries(Object.entries(reported).map(([name, { value }]) => [name, value]));
  const conventions = { ...defaultConventions, ...(await readConventions(query)), ...values };
  const shapes = await readShapes(query);
  const mayRepeat = shapes.get(REPEATED_MENTIONS.resource, REPEATED_MENTIONS.form) !== null;
  const compute = createCompute(query, { catalogue, mayRepeat, known });
  const answers = await readKnownAnswers(query);
  const before = answers.map(({ agreements }) => new Map(agreements));
  const evidence: PointEvidence = { points: calibrationPoints, answers, conventions, compute };
  const points = await fitPoints(evidence);
  for (const [index, { rowId, agreements }] of answers.entries()) {
    if ([...agreements].every(([name, one]) => before[index]?.get(name) === one)) continue;
    await writeAgreements(session, rowId, Object.fromEntries(agreements));
  }
  return { points, evidence };
}

// Reads the kept responses that are evidence for a point: responses to questions first, then reports, newest first.
async function readKnownAnswers(query: Query): Promise<EvidenceAnswer[]> {
  const resources = [...new Set(calibrationPoints.flatMap((point) => point.resources))];
  const stored = await readAnswers(query, resources);
  const answers = stored.flatMap(({ body, brandId, purpose, agreements, ...answer }): EvidenceAnswer[] => {
    if (brandId === null) return [];
    const known = new Map(Object.entries((agreements ?? {}) as Record<string, StoredAgreements>));
    return [{ ...answer, brandId, isReport: purpose === 'report', body: parse(body), agreements: known }];
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
