import { z } from 'zod';
import { number, time, type ValueOf } from '../../contract/operation/json-parts.ts';
import type { TableLoss } from '../../contract/plausibility/mass-deletion.ts';
import type { Query, Session } from '../database.ts';
import type { SliceRef } from './ledger.ts';

/** Deletions of one read that nothing confirms; the rows stay live. */
export const unconfirmedDeletion = z.object({
  resource: z.string(),
  brandId: z.string().nullable(),
  table: z.string(),
  before: number,
  lost: number,
  missingSince: time,
});

/** Deletions of one read that nothing confirms. */
export type UnconfirmedDeletion = ValueOf<typeof unconfirmedDeletion>;

/** Records an unconfirmed deletion until a later read of the slice. `at` is upstream's time as UTC timestamp text. */
export async function writeUnconfirmedDeletion(
  session: Session,
  runId: string,
  slice: Pick<SliceRef, 'id' | 'resource' | 'fixed'>,
  { table, before, lost }: TableLoss,
  at: string,
): Promise<void> {
  await session.run(
    `INSERT INTO sync.unconfirmed_deletions
     SELECT $1, CAST($2 AS UUID), $3, $4, $5, $6, CAST($7 AS TIMESTAMP), CAST($8 AS UUID)`,
    [slice.resource, (slice.fixed['brand_id'] ?? null) as string | null, table, slice.id, before, lost, at, runId],
  );
}

/** Deletes the record of a slice that is read again. */
export async function forgetUnconfirmedDeletion(session: Session, sliceId: string): Promise<void> {
  await session.run('DELETE FROM sync.unconfirmed_deletions WHERE slice = $1', [sliceId]);
}

/**
 * Deletes records of earlier runs about lists that run `runId` has read. Needed because a list with a moving range has
 * another slice id each day.
 */
export async function forgetEarlierDeletions(session: Session, runId: string): Promise<void> {
  await session.run(
    `DELETE FROM sync.unconfirmed_deletions AS h WHERE run_id <> CAST($1 AS UUID) AND EXISTS (
       SELECT 1 FROM sync.coverage c WHERE c.run_id = CAST($1 AS UUID) AND c.resource = h.resource
         AND c.brand_id IS NOT DISTINCT FROM h.brand_id)`,
    [runId],
  );
}

/** Reads the unconfirmed deletions. */
export async function readUnconfirmedDeletions(query: Query): Promise<UnconfirmedDeletion[]> {
  const rows = await query(
    `SELECT resource, CAST(brand_id AS VARCHAR), table_name, CAST(rows_before AS DOUBLE), CAST(rows_lost AS DOUBLE),
       strftime(missing_since, '%Y-%m-%dT%H:%M:%S.%gZ') FROM sync.unconfirmed_deletions ORDER BY ALL`,
  );
  return rows.map(([resource, brandId, table, before, lost, missingSince]) => ({
    resource: String(resource),
    brandId: brandId as string | null,
    table: String(table),
    before: Number(before),
    lost: Number(lost),
    missingSince: String(missingSince),
  }));
}
