import { z } from 'zod';
import { number, time, type ValueOf } from '../../contract/operation/json-parts.ts';
import type { Query, Session } from '../database.ts';
import { toTimestampText } from './ledger.ts';

/** Questions that are kept, newest first. */
const KEPT_MAX = 5_000;

/** A question that was asked of upstream and of the stored data. */
export interface ComparedQuestion {
  readonly resource: string;
  readonly brandId: string | null;
  readonly query: Readonly<Record<string, string>>;
  readonly verdict: 'equal' | 'differs' | 'skipped';
  /** Differing fields. */
  readonly fields: readonly string[];
  /** The conventions with which both responses would be equal, `name: value`, separated by semicolons; null if there are none. */
  readonly convention: string | null;
  readonly detail: string | null;
}

/** Summary of a comparison. */
export const comparisonSummary = z.object({
  at: time,
  compared: number,
  equal: number,
  skipped: number,
  differing: z.array(z.string()).describe('differing fields with their resource, at most 5'),
});

type ComparisonSummary = ValueOf<typeof comparisonSummary>;

/** Adds the questions of one comparison. `at` is epoch milliseconds. */
export async function writeComparison(
  session: Session,
  { runId, at }: { readonly runId: string; readonly at: number },
  questions: readonly ComparedQuestion[],
): Promise<void> {
  for (const { resource, brandId, query, verdict, fields, convention, detail } of questions) {
    await session.run(
      `INSERT INTO sync.comparisons SELECT CAST($1 AS TIMESTAMP), CAST($2 AS UUID), $3, CAST($4 AS UUID), CAST($5 AS JSON), $6,
         CAST($7 AS JSON), $8, $9`,
      [
        toTimestampText(at),
        runId,
        resource,
        brandId,
        JSON.stringify(query),
        verdict,
        JSON.stringify(fields),
        convention,
        detail,
      ],
    );
  }
  await session.run(
    `DELETE FROM sync.comparisons WHERE rowid NOT IN (
       SELECT rowid FROM sync.comparisons ORDER BY compared_at DESC, rowid DESC LIMIT ${KEPT_MAX})`,
  );
}

/** Reads when each resource was last compared, epoch milliseconds. */
export async function readComparedAt(query: Query): Promise<ReadonlyMap<string, number>> {
  const rows = await query('SELECT resource, epoch_ms(max(compared_at)) FROM sync.comparisons GROUP BY resource');
  return new Map(rows.map(([resource, at]) => [String(resource), Number(at)]));
}

/** Reads the last comparison; null if there was none. */
export async function readComparison(query: Query): Promise<ComparisonSummary | null> {
  const rows = await query(
    `SELECT epoch_ms(compared_at), resource, verdict, CAST(fields AS VARCHAR) FROM sync.comparisons
     WHERE compared_at = (SELECT max(compared_at) FROM sync.comparisons)`,
  );
  const [first] = rows;
  if (first === undefined) return null;
  const count = (wanted: string): number => rows.filter(([, , verdict]) => verdict === wanted).length;
  const fields = rows.flatMap(([, resource, verdict, text]) =>
    verdict === 'differs'
      ? (JSON.parse(String(text ?? '[]')) as string[]).map((field) => `${String(resource)}: ${field}`)
      : [],
  );
  const [equal, differs] = [count('equal'), count('differs')];
  return {
    at: new Date(Number(first[0])).toISOString(),
    compared: equal + differs,
    equal,
    skipped: count('skipped'),
    differing: [...new Set(fields)].slice(0, 5),
  };
}
