import { createHash } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { BodyError } from '../../contract/body.ts';
import type { Catalogue } from '../../contract/catalogue.ts';
import { parseBody } from '../../contract/plausibility/page-work.ts';
import { FUTURE_MS_MAX } from '../../contract/plausibility/run-clock.ts';
import type { Repeats } from '../../contract/rows.ts';
import { dayOf } from '../../contract/time.ts';
import type { RunRef, RunTotals } from '../../warehouse/ledger/runs.ts';
import type { PageResult } from '../../warehouse/write/page-commit.ts';
import { commitPage, type PageDestinations } from '../commit-page.ts';
import { createRowReaders, inconclusive, noRows, readPage } from '../read-page.ts';
import { addChanges, statsOf, type TableStats } from '../sync-stats.ts';
import type { RawPageRecord, RawRecord } from './raw-record.ts';

/** Selection of the pages to replay. */
export interface ReplayOptions {
  /** First and last day, UTC, on which upstream sent the pages; null for no bound. */
  readonly from: string | null;
  readonly to: string | null;
  /** Resources; null for all. */
  readonly only: ReadonlySet<string> | null;
  /** Whether to write runs too. False if the warehouse already contains them. */
  readonly runs: boolean;
}

/** Dependencies of an applier. */
export interface ApplyParts extends Pick<PageDestinations, 'warehouse' | 'drift'> {
  readonly catalogue: Catalogue;
  readonly clock: Pick<Clock, 'now'>;
}

/** Position of a record in the raw pages. */
interface Place {
  readonly file: string;
  readonly position: number;
  readonly bytes: number;
}

/** A page that cannot be replayed. */
export class DamageError extends Error {}

/** Applies records to a warehouse in the order of the sync. */
export interface Applier {
  /**
   * Returns whether the record was selected.
   * @throws DamageError if its page cannot be read
   */
  apply(record: RawRecord, body: Buffer, place: Place): Promise<boolean>;
  /** Returns the counts of all applied pages. */
  result(): {
    readonly pages: number;
    readonly tables: Readonly<Record<string, TableStats>>;
    readonly quarantined: number;
  };
}

/** Creates an applier of the selected records. */
export function createApplier(parts: ApplyParts, { from, to, only, runs: writesRuns }: ReplayOptions): Applier {
  const { catalogue, warehouse, drift, clock } = parts;
  const commit = createPageCommitter(parts);
  const runs = new Map<string, RunRef>();
  const tables = new Map<string, TableStats>();
  let pages = 0;
  let quarantined = 0;
  let lastDate: number | null = null;

  const isWanted = (resource: string, date: number): boolean => {
    const day = dayOf(date);
    const isKnown = catalogue.resources.some(({ name }) => name === resource);
    return (
      isKnown && (only === null || only.has(resource)) && (from === null || day >= from) && (to === null || day <= to)
    );
  };
  const runOf = ({ runId, passId }: RunRef): RunRef => runs.get(runId) ?? { runId, passId };

  const apply: Applier['apply'] = async (kept, body, place) => {
    // A record from the future gets the date of the record before it.
    const record = kept.date > clock.now() + FUTURE_MS_MAX ? { ...kept, date: lastDate ?? clock.now() } : kept;
    lastDate = record.date;
    switch (record.kind) {
      case 'page': {
        if (!isWanted(record.resource, record.date)) return false;
        const result = await commit(runOf(record), record, body, place);
        pages += 1;
        quarantined += result.quarantined;
        addChanges(tables, result.tables);
        return true;
      }
      case 'gone': {
        if (!isWanted(record.resource, record.date)) return true;
        const resource = catalogue.get(record.resource);
        const marked = await warehouse.markDeleted(resource, record.keys, record.date);
        statsOf(tables, resource.derived[0]?.name ?? resource.name).deleted += marked;
        return true;
      }
      case 'forms':
        await warehouse.noteForms(record.resource, new Map(Object.entries(record.forms)));
        return true;
      case 'begin': {
        if (!writesRuns) return true;
        const { runId, options, origin, date } = record;
        runs.set(runId, await warehouse.beginRun({ runId, options, now: date, ...(origin ? { origin } : {}) }));
        return true;
      }
      case 'end': {
        if (!writesRuns) return true;
        const { runId, totals, date } = record;
        await warehouse.endRun(runOf(record), totals as unknown as RunTotals, date);
        await drift?.endRun(runId, totals['status'] === 'complete', date);
        return true;
      }
      default:
        return true;
    }
  };
  return { apply, result: () => ({ pages, tables: Object.fromEntries(tables), quarantined }) };
}

// Commits archived pages as the sync did.
function createPageCommitter(parts: ApplyParts) {
  const { catalogue, warehouse } = parts;
  const readerOf = createRowReaders(catalogue, warehouse);
  const lastPages = new Map<string, number>();
  const doubtful = new Set<string>();
  const repeatsOf = new Map<string, Repeats>();
  return async (run: RunRef, record: RawPageRecord, bytes: Buffer, place: Place): Promise<PageResult> => {
    const { resource: name, slice: id, fixed, from, to, member, path, query, page, next, date } = record;
    const { untilKnown, isMissing, guard } = record;
    const resource = catalogue.get(name);
    // Page 1 restarts the slice. If a page is missing, rows that the slice lacks must not be deleted.
    if (page === 1) await warehouse.restartSlice(id);
    if (page === 1) doubtful.delete(id);
    const repeats = (page === 1 ? undefined : repeatsOf.get(id)) ?? new Map<string, number>();
    repeatsOf.set(id, repeats);
    const isGap = page > 1 && lastPages.get(id) !== page - 1;
    const read = readBody(() => {
      const { value: body, isDamaged } = parseBody(bytes);
      if (isMissing === true) return { body, rows: noRows(resource) };
      const scope = { fixed, query, member, repeats };
      const { tables: rows } = readPage(resource, readerOf(name), scope, body, { bytes, isDamaged }, dayOf(date));
      return { body, rows: isGap ? inconclusive(rows) : rows };
    });
    if (read.rows.some(({ implausibleCount }) => implausibleCount > 0)) doubtful.add(id);
    const result = await commitPage(parts, {
      run,
      slice: { id, resource: name, fixed, from, to },
      tables: read.rows,
      date,
      page,
      next,
      ...(isMissing === undefined ? {} : { isMissing }),
      ...(untilKnown === undefined ? {} : { untilKnown }),
      doubtful: doubtful.has(id),
      guard: guard ?? null,
      requests: [],
      arrival: { body: read.body, bytes, path, query, member },
      raw: { ...place, sha256: createHash('sha256').update(bytes).digest('hex') },
    });
    if (result.ended) repeatsOf.delete(id);
    if (result.ended) lastPages.delete(id);
    else lastPages.set(id, page);
    return result;
  };
}

function readBody<T>(read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof BodyError)
      throw new DamageError(`the page cannot be read: ${thrown.message}`, { cause: thrown });
    throw thrown;
  }
}
