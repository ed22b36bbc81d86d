import { toCanonicalJson } from '../../base/json.ts';
import type { Catalogue } from '../../contract/catalogue.ts';
import type { Query } from '../../warehouse/database.ts';
import { type KeptAnswer, readAnswers, readPassStart } from '../../warehouse/ledger/answers.ts';
import { readDaysOf } from '../../warehouse/ledger/echoed-days.ts';
import type { Shapes } from '../../warehouse/ledger/shapes.ts';
import { createCompute } from './compute-response.ts';
import { readConventions, readStoredFindings } from './findings.ts';
import type { PointEvidence } from './fit-points.ts';
import type { KnownAnswer } from './points/point.ts';
import { calibrationPoints } from './points/points.ts';

/** Maximum number of sentiment labels to distinguish. */
const LABELS_MAX = 12;

/** Reads the evidence for the points: stored responses of upstream, and the findings of the previous calibration. */
export async function readEvidence(
  query: Query,
  { catalogue, shapes }: { readonly catalogue: Catalogue; readonly shapes: Shapes },
): Promise<PointEvidence> {
  const startedAt = await readPassStart(query);
  return {
    points: calibrationPoints,
    answers: await readKnownAnswers(query),
    labels: await readLabels(query),
    conventions: await readConventions(query),
    compute: createCompute(query, catalogue, shapes),
    // Findings of the same pass may be from data that were not complete.
    known: new Map([...(await readStoredFindings(query))].filter(([, { decidedAt }]) => decidedAt < startedAt)),
  };
}

async function readLabels(query: Query): Promise<string[]> {
  const rows = await query(
    `SELECT label FROM (
       SELECT brand_sentiment AS label, count(*) AS n FROM responses WHERE _deleted_at IS NULL AND brand_mentioned GROUP BY 1
       UNION ALL
       SELECT sentiment AS label, count(*) AS n FROM response_competitors WHERE _deleted_at IS NULL GROUP BY 1)
     WHERE label IS NOT NULL GROUP BY label ORDER BY sum(n) DESC, label LIMIT ${LABELS_MAX}`,
  );
  return rows.map(([label]) => String(label));
}

// Reads the kept responses that are evidence for a point: responses to questions first, then reports, newest first.
async function readKnownAnswers(query: Query): Promise<KnownAnswer[]> {
  const resources = [...new Set(calibrationPoints.flatMap((point) => point.resources))];
  const stored = longestReports(await readAnswers(query, resources));
  const daysOf = await readDaysOf(query);
  const answers = stored.toSorted((a, b) => Number(a.purpose === 'report') - Number(b.purpose === 'report'));
  return answers.flatMap(({ body, brandId, purpose, ...answer }): KnownAnswer[] => {
    if (brandId === null) return [];
    const { query: asked, askedAt } = answer;
    const isSettled =
      purpose === 'probe' || (asked['to'] !== undefined && asked['to'] < daysOf(answer.resource, brandId)(askedAt));
    return [{ ...answer, brandId, isSettled, body: body === null ? null : JSON.parse(body) }];
  });
}

// Selects one of the reports that differ in brand and range only, because upstream computes the reports of all brands alike. The brand with
// the longest reports is used, so that its lists are read once. A report of another brand is used if it is much longer.
function longestReports(answers: readonly KeptAnswer[]): KeptAnswer[] {
  const lengths = new Map<string | null, number>();
  const lengthOf = ({ body }: KeptAnswer): number => body?.length ?? 0;
  const reports = answers.filter(({ purpose }) => purpose === 'report');
  for (const report of reports) lengths.set(report.brandId, (lengths.get(report.brandId) ?? 0) + lengthOf(report));
  const [longest] = [...lengths].toSorted(([, a], [, b]) => b - a);
  const worthOf = (report: KeptAnswer): number => lengthOf(report) * (report.brandId === longest?.[0] ? 2 : 1);
  const kept = new Map<string, KeptAnswer>();
  for (const report of reports) {
    const { from: _, to: __, ...others } = report.query;
    const kind = toCanonicalJson([report.resource, others]);
    const known = kept.get(kind);
    if (known === undefined || worthOf(report) > worthOf(known)) kept.set(kind, report);
  }
  const all = new Set(kept.values());
  return answers.filter((answer) => answer.purpose !== 'report' || all.has(answer));
}
