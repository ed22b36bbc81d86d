import type { Database } from '../database.ts';
import { stage, staged } from '../write/staging.ts';
import { toTimestampText } from './ledger.ts';

/** The last comparison of a day with upstream's own count. */
export interface Audit {
  readonly day: string;
  readonly agreed: boolean;
  /** Items of the day: counted by upstream, and stored here. */
  readonly upstream: number;
  readonly stored: number;
  /** Hash of the responses of both sides and of the differences; equal differences have equal hashes. */
  readonly figures: string;
  /**
   * Hash of the rows of both sides and of everything else that the comparison depends on; null if neither side has
   * rows.
   */
  readonly mark: string | null;
  /** Runs that read the day while it differed or lacked rows that upstream counts; 0 if the day is proven. */
  readonly tries: number;
  /** Time of the next read in epoch milliseconds; null if the day is proven. */
  readonly retryAt: number | null;
}

/** A comparison of a day, without its retries. */
export type Comparison = Omit<Audit, 'tries' | 'retryAt'>;

const columns = [
  { name: 'day', kind: 'day' },
  { name: 'agreed', kind: 'boolean' },
  { name: 'upstream', kind: 'integer' },
  { name: 'stored', kind: 'integer' },
  { name: 'figures', kind: 'text' },
  { name: 'mark', kind: 'text' },
  { name: 'tries', kind: 'integer' },
  { name: 'retry_at', kind: 'timestamp' },
] as const;

/** Reads the last audit of every day of a resource, keyed by day. */
export async function readAudits(
  database: Database,
  resource: string,
  brandId: string,
): Promise<ReadonlyMap<string, Audit>> {
  const rows = await database.exclusive((session) =>
    session.query(
      `SELECT strftime(day, '%Y-%m-%d'), agreed, upstream, stored, figures, mark, coalesce(tries, 0),
         CAST(epoch_ms(retry_at) AS DOUBLE) FROM sync.audits
       WHERE resource = $1 AND brand_id = CAST($2 AS UUID)`,
      [resource, brandId],
    ),
  );
  return new Map(
    rows.map(([day, agreed, upstream, stored, figures, mark, tries, retryAt]) => [
      String(day),
      {
        day: String(day),
        agreed: agreed === true,
        upstream: Number(upstream),
        stored: Number(stored),
        figures: String(figures),
        mark: mark === null ? null : String(mark),
        tries: Number(tries),
        retryAt: retryAt === null ? null : Number(retryAt),
      },
    ]),
  );
}

/** Replaces the audits of these days. `checkedAt` is upstream's time in epoch milliseconds. */
export async function writeAudits(
  database: Database,
  resource: string,
  brandId: string,
  audits: readonly Audit[],
  checkedAt: number,
): Promise<void> {
  if (audits.length === 0) return;
  await database.transaction(async (session) => {
    const rows = stage(
      audits.map(({ day, agreed, upstream, stored, figures, mark, tries, retryAt }) => {
        const retry = retryAt === null ? null : toTimestampText(retryAt);
        return { day, agreed, upstream, stored, figures, mark, tries, retry_at: retry };
      }),
    );
    await session.run(
      `DELETE FROM sync.audits WHERE resource = $2 AND brand_id = CAST($3 AS UUID)
         AND day IN (SELECT day FROM ${staged(columns, '$1')})`,
      [rows, resource, brandId],
    );
    await session.run(
      `INSERT INTO sync.audits SELECT $2, CAST($3 AS UUID), s.day, CAST($4 AS TIMESTAMP), s.agreed, s.upstream, s.stored,
         s.figures, s.mark, s.tries, s.retry_at FROM ${staged(columns, '$1')} s`,
      [rows, resource, brandId, toTimestampText(checkedAt)],
    );
  });
}
