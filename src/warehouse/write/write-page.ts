import { createHash } from 'node:crypto';
import type { Catalogue, Resource } from '../../contract/catalogue.ts';
import { isMassDeletion, type TableLoss } from '../../contract/plausibility/mass-deletion.ts';
import type { Rejected, TableRows } from '../../contract/rows.ts';
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
import { type CloseParts, closeSlice, impliesDeletions } from './close-slice.ts';
import { writeListing } from './listings.ts';
import { LossError, type PageCommit, type PageResult } from './page-commit.ts';
import type { Changes, TablePage, TableWriter } from './upsert.ts';

/** Dependencies of `writePages`. */
export interface PageWriterParts extends CloseParts {
  /** The warehouse's data version; raised by every change. */
  readonly version: { current: number };
}

/**
 * Writes pages within a transaction: rows, quarantine, raw positions, drift, checkpoints or the ends of slices, and requests. The result is
 * that of writing one page after the other, but a row that moved from the days of one page to those of a later one is only updated, not
 * deleted and restored. No two pages belong to the same slice, because a slice waits for each of its pages.
 * @throws LossError if a page lacks most nested rows of its stored rows and its `guard` is set
 */
export async function writePages(
  parts: PageWriterParts,
  session: Session,
  pages: readonly PageCommit[],
): Promise<PageResult[]> {
  const results: PageResult[] = [];
  for (const group of independentPages(parts.catalogue, pages)) {
    const written = await writeTables(parts, session, group);
    for (const [index, page] of group.entries())
      results.push(await writePage(parts, session, page, written[index] as Map<string, Changes>));
  }
  return results;
}

// Divides pages, in their order, into groups in which the order does not matter: no two pages have a row in common, and no page deletes
// rows that another page may have.
function independentPages(catalogue: Catalogue, pages: readonly PageCommit[]): PageCommit[][] {
  const groups: PageCommit[][] = [];
  let keys = new Set<string>();
  const deletes = ({ next, slice }: PageCommit): boolean =>
    next === null && impliesDeletions(catalogue.get(slice.resource));
  for (const page of pages) {
    const own = page.tables.flatMap(({ table, rows }) => rows.map(({ key }) => `${table.name} ${JSON.stringify(key)}`));
    const group = groups.at(-1);
    const isDependent = (other: PageCommit): boolean => (deletes(other) || deletes(page)) && isSameExtent(other, page);
    if (group === undefined || own.some((key) => keys.has(key)) || group.some(isDependent)) {
      groups.push([page]);
      keys = new Set(own);
    } else {
      group.push(page);
      for (const key of own) keys.add(key);
    }
  }
  return groups;
}

function isSameExtent({ slice, tables }: PageCommit, { slice: other, tables: others }: PageCommit): boolean {
  const areApart = (slice.from ?? '') > (other.to ?? '~') || (other.from ?? '') > (slice.to ?? '~');
  const isShared = ({ table }: TableRows): boolean =>
    others.some(({ table: { name } }) => name === table.name) &&
    table.fixed.every((name) => slice.fixed[name] === other.fixed[name]);
  return !areApart && tables.some(isShared);
}

async function writePage(
  parts: PageWriterParts,
  session: Session,
  page: PageCommit,
  tables: ReadonlyMap<string, Changes>,
): Promise<PageResult> {
  const { catalogue, version } = parts;
  const { run, slice, date, raw = null, drift = null, answer = null } = page;
  const syncedAt = `${toTimestampText(date)}000`;
  const resource = catalogue.get(slice.resource);
  const quarantined = page.tables.flatMap(({ rejected }) => rejected.map((item) => quarantineRow(slice, item)));
  await writeQuarantine(session, run.runId, slice, quarantined, date);
  if (raw !== null) writeRawPage(session, run.runId, slice, { number: page.page, at: date, place: raw });
  if (drift !== null) writeDrift(session, run.runId, drift, date);
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
  const rejected = page.tables.reduce((sum, { rejectedCount }) => sum + rejectedCount, 0);
  return { tables, quarantined: rejected, ...end, ended };
}

// Writes the rows of pages, with one call of each table's writer, and returns the changes of each page by table.
async function writeTables(
  { catalogue, writers }: PageWriterParts,
  session: Session,
  pages: readonly PageCommit[],
): Promise<Map<string, Changes>[]> {
  const written = pages.map(() => new Map<string, Changes>());
  const byWriter = new Map<TableWriter, TablePage[]>();
  for (const [place, { run, slice, tables, date, guard }] of pages.entries()) {
    const provenance = { runId: run.runId, syncedAt: `${toTimestampText(date)}000` };
    const check = (loss: TableLoss): void => rejectLoss(catalogue.get(slice.resource), loss);
    for (const { table, rows } of tables) {
      const writer = writers.rowsOf(slice.resource, table.name);
      const changes = { read: rows.length, inserted: 0, updated: 0, deleted: 0, completed: 0 };
      const page = { rows, provenance, changes, ...(guard === null ? {} : { checkLoss: check }) };
      byWriter.set(writer, [...(byWriter.get(writer) ?? []), page]);
      written[place]?.set(table.name, changes);
    }
  }
  for (const [writer, own] of byWriter) await writer.write(session, own);
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

function sumOf(tables: ReadonlyMap<string, Changes>) {
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

function isUnchanged(tables: ReadonlyMap<string, Changes>): boolean {
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
