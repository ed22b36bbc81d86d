import type { Catalogue, Resource } from '../../contract/catalogue.ts';
import { daysToKeep } from '../../contract/plausibility/mass-deletion.ts';
import type { Session } from '../database.ts';
import {
  clearCheckpoints,
  type KnownSlices,
  MISSING,
  type SeenRows,
  sumCheckpoints,
  writeCoverage,
} from '../ledger/ledger.ts';
import { forgetUnconfirmedDeletion, writeUnconfirmedDeletion } from '../ledger/unconfirmed-deletions.ts';
import type { UnconfirmedRows, PageCommit, PageResult } from './page-commit.ts';
import type { TableWriters } from './table-writers.ts';
import { countByDay, type UnseenRow } from './tombstones.ts';
import type { Changes } from './upsert.ts';

/** Dependencies of `closeSlice`. */
export interface CloseParts {
  readonly catalogue: Catalogue;
  readonly writers: TableWriters;
  readonly known: KnownSlices;
  /** Slices that may have unconfirmed deletions. */
  readonly unconfirmed: KnownSlices;
}

/**
 * Ends a slice with its last page: sets the tombstones of rows that no page listed, unless the guard holds them back,
 * deletes the checkpoints and writes the coverage. Adds the deletions to `tables`.
 */
export async function closeSlice(
  { catalogue, writers, known, unconfirmed: slicesWithThem }: CloseParts,
  session: Session,
  last: PageCommit,
  seen: readonly SeenRows[],
  tables: ReadonlyMap<string, Changes>,
  syncedAt: string,
): Promise<Pick<PageResult, 'deletionsSkipped' | 'unconfirmed'>> {
  const { run, slice, date, page, next, doubtful = false } = last;
  const noCheckpoints = { unidentified: 0, rows: 0, since: null };
  const earlier = page === 1 ? noCheckpoints : await sumCheckpoints(session, slice.id);
  const unidentified = seen.reduce((sum, rows) => sum + rows.unidentified, earlier.unidentified);
  const deletionsSkipped =
    unidentified > 0
      ? 'items without a readable key, null instead of a list, or a full page without a next cursor'
      : null;
  const resource = catalogue.get(slice.resource);
  const unconfirmed: UnconfirmedRows[] = [];
  let deleted = 0;
  // A slice that ended early did not list the remaining rows.
  if (next === null && impliesDeletions(resource) && deletionsSkipped === null) {
    if (await slicesWithThem.mayHave(session, slice.id)) await forgetUnconfirmedDeletion(session, slice.id);
    for (const rows of seen) {
      const changes = tables.get(rows.table) as Changes;
      const result = await deleteUnseen(resource, writers, session, last, rows, syncedAt);
      deleted += result.deleted;
      changes.deleted += result.deleted;
      if (result.unconfirmed !== null) unconfirmed.push(result.unconfirmed);
    }
  }
  if (page > 1) await clearCheckpoints(session, slice.id);
  const rows = seen.reduce((sum, { keys }) => sum + keys.length, earlier.rows);
  // A settled list is read up to the first page without changes, which can hide missing rows on later pages. After a
  // deletion the next read covers all pages.
  const isMissing = last.isMissing === true && page === 1;
  const covered = isMissing
    ? { ...slice, state: MISSING }
    : deleted + unconfirmed.length > 0
      ? { ...slice, state: null }
      : slice;
  if (!doubtful) await writeCoverage(session, run, covered, { rows, at: earlier.since ?? date, known });
  return { deletionsSkipped, unconfirmed };
}

// Sets the tombstones of a table's rows that the slice lacks. Returns their number, and the rows that the guard holds back.
async function deleteUnseen(
  resource: Resource,
  writers: TableWriters,
  session: Session,
  { run, slice, page, guard, doubtful = false, tables }: PageCommit,
  { table, keys }: SeenRows,
  syncedAt: string,
): Promise<{ deleted: number; unconfirmed: UnconfirmedRows | null }> {
  const tombstones = writers.tombstonesOf(slice.resource, table);
  const extent = { fixed: slice.fixed, from: slice.from, to: slice.to };
  // A list of a single page is identified by its keys, so wrong times of its items do not matter.
  if (doubtful && (page > 1 || tombstones.extent.kind === 'time')) return { deleted: 0, unconfirmed: null };
  const written = tables.find((rows) => rows.table.name === table)?.rows ?? [];
  if (page === 1 && (await tombstones.areAll(session, written, extent))) return { deleted: 0, unconfirmed: null };
  const unseen = await tombstones.findUnseen(session, slice.id, keys, extent);
  if (unseen.length === 0) return { deleted: 0, unconfirmed: null };
  const losses = guard === null ? new Map() : await tombstones.countLosses(session, unseen, extent);
  const days = guard === null ? new Set<string>() : daysToKeep(resource, guard, losses);
  // Day counts prove that a window lacks rows.
  const mayMove = page > 1 && guard !== null && guard.counts === null;
  const lackedBefore = new Set(guard?.lackedBefore?.[table]);
  const isUnconfirmed = ({ day, key }: UnseenRow): boolean =>
    days.has(day) || (mayMove && !lackedBefore.has(JSON.stringify(key)));
  const gone = unseen.filter((row) => !isUnconfirmed(row)).map(({ key }) => key);
  const deleted = await tombstones.mark(session, gone, syncedAt);
  const kept = unseen.filter(isUnconfirmed);
  if (kept.length === 0) return { deleted, unconfirmed: null };
  const before = [...losses.values()].reduce((sum, loss) => sum + loss.before, 0);
  const loss = { table, before, lost: kept.length };
  if (guard?.counts === null) await writeUnconfirmedDeletion(session, run.runId, slice, loss, syncedAt);
  return { deleted, unconfirmed: { ...loss, days: countByDay(kept), keys: kept.map(({ key }) => key) } };
}

/** Whether a complete read deletes the rows that it lacks. A series keeps earlier rows, and a detail is a part of a list's row. */
export function impliesDeletions(resource: Resource): boolean {
  return resource.change.kind !== 'value' && resource.change.kind !== 'detail';
}
