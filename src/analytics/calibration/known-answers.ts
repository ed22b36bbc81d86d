import type { Query } from '../../warehouse/database.ts';
import { readAnswers } from '../../warehouse/ledger/answers.ts';
import type { KnownAnswer } from './points/point.ts';
import { calibrationPoints } from './points/points.ts';

/** Reads the kept responses that are evidence for a point: responses to questions first, then reports, newest first. */
export async function readKnownAnswers(query: Query): Promise<KnownAnswer[]> {
  const resources = [...new Set(calibrationPoints.flatMap((point) => point.resources))];
  const stored = await readAnswers(query, resources);
  const answers = stored.flatMap(({ body, brandId, purpose, ...answer }): KnownAnswer[] =>
    brandId === null ? [] : [{ ...answer, brandId, isReport: purpose === 'report', body: parse(body) }],
  );
  return answers.toSorted((a, b) => Number(a.isReport) - Number(b.isReport));
}

function parse(text: string | null): unknown {
  try {
    return JSON.parse(text ?? 'null');
  } catch {
    return null;
  }
}
