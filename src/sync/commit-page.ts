import type { Warehouse } from '../warehouse/warehouse.ts';
import type { PageCommit, PageResult } from '../warehouse/write/page-commit.ts';
import type { DriftWatch } from './drift-watch.ts';
import type { RawArchive } from './raw/raw-archive.ts';
import type { RawRecord } from './raw/raw-record.ts';

/** Destinations of the pages of a run; only the warehouse is required. */
export interface PageDestinations {
  readonly warehouse: Warehouse;
  /** Raw pages on disk. */
  readonly archive?: RawArchive;
  /** Drift of the responses, stored with the pages. */
  readonly drift?: DriftWatch;
}

/** A page to commit, as received and as rows. */
export interface ReceivedPage extends Omit<PageCommit, 'drift' | 'isOpen'> {
  readonly arrival: Arrival;
}

/** A page as received. */
export interface Arrival {
  readonly body: unknown;
  readonly bytes: Uint8Array;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** For a detail: the id of the list's row. */
  readonly member: string | null;
}

/**
 * Commits a page: archives it, detects its drift, and writes rows and ledger in one transaction. A page is on disk before its transaction begins. If the transaction fails, the archived page is
 * recorded as void; if the process is killed in between, the next run does so.
 * @throws LossError if the page lacks most nested rows of its stored rows and `guard` is set
 * @throws `disk_full`, and the errors of the warehouse
 */
export async function commitPage(
  { archive, drift, warehouse }: PageDestinations,
  page: ReceivedPage,
): Promise<PageResult> {
  const { arrival, date } = page;
  // A replayed page is in the archive already.
  const raw = page.raw ?? (await archive?.append(toRecord(page), arrival.bytes)) ?? null;
  // Detect drift after the disk write, so that drift is detected in commit order.
  const notes = page.isMissing === true ? null : (drift?.detect(page, arrival.body) ?? null);
  const isOpen = page.slice.to !== null && arrival.query['to'] === undefined;
  return warehouse.writePage({ ...page, isOpen, raw, drift: notes }).catch(async (thrown: unknown) => {
    if (raw !== null) await archive?.voidPage(raw, date);
    throw thrown;
  });
}

function toRecord({ run, slice, page, next, untilKnown, isMissing, guard, date, arrival }: ReceivedPage): RawRecord {
  const { member, path, query } = arrival;
  return {
    kind: 'page',
    runId: run.runId,
    passId: run.passId,
    resource: slice.resource,
    slice: slice.id,
    // Values set by a request are text; a key may be a number or null.
    fixed: slice.fixed as Record<string, string | number | boolean | null>,
    from: slice.from,
    to: slice.to,
    member,
    path,
    query: { ...query },
    page,
    next,
    ...(untilKnown === undefined ? {} : { untilKnown }),
    ...(isMissing === undefined ? {} : { isMissing }),
    ...(guard === null || next !== null ? {} : { guard: { ...guard } }),
    date,
  };
}
