import { createHash } from 'node:crypto';
import type { Resource } from '../../contract/catalogue.ts';
import { isMassDeletion, type TableLoss } from '../../contract/plausibility/mass-deletion.ts';
import type { Rejected } from '../../contract/rows.ts';
import type { Session } from '../database.ts';
import { keepAnswer } from '../ledger/answers.ts';
import { writeDrift } from '../ledger/drift-notes.ts';
import { writeEchoedDay } from '../ledger/echoed-days.ts';
import {
  forgetCoverage,
  forgetDays,
  type QuarantinedItem,
  quarantinedText,
  readListed,
  type SliceRef,
  toTimestampText,
  writeCheckpoint,
  writeQuarantine,
  writeRequests,
} from '../ledger/ledger.ts';
import { writeRawPage } from '../ledger/raw-pages.ts';
import { type CloseParts, closeSlice } from './close-slice.ts';
import { writeListing } from './listings.ts';
import { LossError, type PageChanges, type PageCommit, type PageResult } from './page-commit.ts';

/** Dependencies of `writePage`. */
export interface PageWriterParts extends CloseParts {
  /** The warehouse's data version; raised by every change. */
  readonly version: { current: number };
}

/**
 * Writes a page within a transaction: rows, quarantine, raw position, drift, checkpoint or the end of the slice, and
 * requests.
 * @throws LossError if the page lacks most nested rows of its stored rows and `guard` is set
 */
export async function writePage(parts: PageWriterParts, session: Session, page: PageCommit): Promise<PageResult> {
  const { catalogue, version } = parts;
  const { run, slice, date, raw = null, drift = null, answer = null } = page;
  const syncedAt = `${toTimestampText(date)}000`;
  const resource = catalogue.get(slice.resource);
  const tables = await writeTables(parts, session, page, syncedAt);
  if (raw !== null) writeRawPage(session, run.runId, slice, { number: page.page, at: date, place: raw });
  if (drift !== null) await writeDrift(session, run.runId, drift, date);
  if (page.isOpen === true && resource.zone === 'echoed') await writeEchoedDay(session, slice, date);
  if (answer !== null) {
    const brandId = (slice.fixed['brand_id'] ?? null) as string | null;
    const given = { resource: slice.resource, brandId, purpose: 'report', status: 200, askedAt: date } as const;
    await keepAnswer(session, run.runId, { ...given, ...answer });
  }
  const seen = page.tables.map(({ table, seen: keys, unidentified }) => ({ table: table.name, keys, unidentified }));
  // Other items of the page may be wrong too, so read all days of the window again, including days that other slices
  // have read.
  if (page.doubtful === true) {
    await forgetCoverage(session, slice.id);
    if (resource.change.kind === 'window') await forgetDays(session, slice);
  }
  const ended = page.next === null || (page.untilKnown === true && isUnchanged(tables));
  let end: Pick<PageResult, 'deletionsSkipped' | 'unconfirmed'> = { deletionsSkipped: null, unconfirmed: [] };
  if (ended) {
    // Before the end of the slice, which deletes the checkpoints.
    if (await writeListings(resource, session, page)) version.current += 1;
    end = await closeSlice(parts, session, page, seen, tables, syncedAt);
  } else if (page.doubtful !== true) {
    // Without a checkpoint the slice resumes at the first doubtful page.
    writeCheckpoint(session, run.passId, slice, { number: page.page, next: page.next, seen, at: date });
  }
  const { completed, ...sums } = sumOf(tables);
  if (sums.inserted + sums.updated + sums.deleted + completed > 0) version.current += 1;
  writeRequests(session, run.runId, slice, page.requests, { ...sums, dataVersion: version.current });
  const quarantined = page.tables.reduce((sum, { rejectedCount }) => sum + rejectedCount, 0);
  return { tables, quarantined, ...end, ended };
}

async function writeTables(
  { catalogue, writers }: PageWriterParts,
  session: Session,
  { run, slice, tables, date, guard }: PageCommit,
  syncedAt: string,
): Promise<Map<string, PageChanges>> {
  const written = new Map<string, PageChanges>();
  const provenance = { runId: run.runId, syncedAt };
  const check = guard === null ? undefined : (loss: TableLoss) => rejectLoss(catalogue.get(slice.resource), loss);
  for (const rows of tables) {
    const writer = writers.rowsOf(slice.resource, rows.table.name);
    const changes = await writer.write(session, rows, slice.fixed, provenance, check);
    written.set(rows.table.name, { ...changes, read: rows.rows.length });
    const items = rows.rejected.map((item) => quarantineRow(slice, item));
    await writeQuarantine(session, run.runId, slice, items, date);
  }
  return written;
}

// Store upstream's order of a full list: a new first item changes no other row.
async function writeListings(resource: Resource, session: Session, commit: PageCommit): Promise<boolean> {
  const { slice, tables, page } = commit;
  if (resource.change.kind !== 'set') return false;
  let changed = false;
  for (const { table, seen } of tables) {
    const earlier = page === 1 ? [] : await readListed(session, slice.id, table.name);
    changed = (await writeListing(session, slice, table, [...earlier, ...seen])) || changed;
  }
  return changed;
}

function sumOf(tables: ReadonlyMap<string, PageChanges>) {
  const sums = { rows: 0, inserted: 0, updated: 0, deleted: 0, completed: 0 };
  for (const { read, inserted, updated, deleted, completed } of tables.values()) {
    sums.rows += read;
    sums.inserted += inserted;
    sums.updated += updated;
    sums.deleted += deleted;
    sums.completed += completed;
  }
  return sums;
}

// Rejects a page that lacks most nested rows, because upstream may have dropped the field and not the items.
function rejectLoss(resource: Resource, loss: TableLoss): void {
  if (!isMassDeletion(resource, loss)) return;
  const { table, before, lost } = loss;
  const message =
    `the page lacks ${lost} of ${before} stored rows of ${table} and was not stored. ` +
    'If upstream deleted them, run `sightline sync --accept-deletions`';
  throw new LossError('bad_answer', message);
}

function isUnchanged(tables: ReadonlyMap<string, PageChanges>): boolean {
  const all = [...tables.values()];
  return all.some(({ read }) => read > 0) && all.every(({ inserted, updated }) => inserted + updated === 0);
}

function quarantineRow(slice: SliceRef, { table, reason, item }: Rejected): QuarantinedItem {
  const json = quarantinedText(item);
  const id = createHash('sha256')
    .update(JSON.stringify([slice.resource, table, slice.fixed, reason, json]))
    .digest('hex')
    .slice(0, 32);
  return { id, table, reason, json };
}
