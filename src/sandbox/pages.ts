import { readCursor, writeCursor } from './cursor.ts';
import type { FaultKind } from './faults.ts';
import { type Fixture, invalidParameter, type Place, type Question, type Row } from './fixture.ts';

/** A fixture with a paged list. */
export type PagedFixture<W> = Extract<Fixture<W>, { rows: unknown }>;

/** A request for one page. */
export interface PageRequest {
  readonly limit: number;
  /** Undefined for the first page. */
  readonly cursor: string | undefined;
  /** Everything of the request that must stay the same from page to page. */
  readonly binding: string;
  readonly cursorLifetimeMs: number;
  readonly fault: FaultKind | undefined;
}

/**
 * Returns a page of a list.
 *
 * @throws Refusal `invalid_parameter` if the cursor is not valid for this list
 */
export function readPage<W>(fixture: PagedFixture<W>, question: Question<W>, page: PageRequest): unknown {
  const { cursor, binding, fault } = page;
  if (cursor === undefined) return pageFrom(fixture, question, page, undefined);
  if (fault === 'expiredcursor') throw invalidParameter('cursor', cursor, 'a cursor that has not expired');
  const { place, from, to } = readCursor(cursor, binding, question.nowMs, page.cursorLifetimeMs);
  // Keep the range of the first page; otherwise a default range would move at midnight.
  const asked = { ...question, from, to };
  const inserted = fault === 'headinsert';
  if (inserted) fixture.insert?.(asked);
  const read = pageFrom(fixture, asked, page, { ...place, inclusive: inserted });
  return fault === 'stuckcursor' ? { ...read, nextCursor: cursor } : read;
}

function pageFrom<W>(
  fixture: PagedFixture<W>,
  question: Question<W>,
  { limit, binding }: PageRequest,
  after: Place | undefined,
): { data: unknown[]; nextCursor: string | null } {
  const { rows, more } = take(fixture.rows(question, after), limit);
  const last = more ? rows.at(-1) : undefined;
  const { from, to, nowMs } = question;
  const next = last && writeCursor({ place: { atMs: last.atMs, id: last.id }, from, to, issuedAtMs: nowMs }, binding);
  return { data: rows.map((row) => row.item()), nextCursor: next ?? null };
}

function take(rows: Iterable<Row>, limit: number): { rows: Row[]; more: boolean } {
  const taken: Row[] = [];
  for (const row of rows) {
    if (taken.length === limit) return { rows: taken, more: true };
    taken.push(row);
  }
  return { rows: taken, more: false };
}
