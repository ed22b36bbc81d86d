import { isDeepStrictEqual } from 'node:util';
import { toExactJson } from '../base/json.ts';
import { inSpan } from '../base/trace.ts';
import type { Catalogue, Resource } from '../contract/catalogue.ts';
import type { Implausible } from '../contract/implausible.ts';
import { pagesOf } from '../contract/paging.ts';
import type { RunClock } from '../contract/plausibility/run-clock.ts';
import type { Attempt, Request } from '../contract/request.ts';
import type { Repeats, RowReader, TableRows } from '../contract/rows.ts';
import { hasContentKey } from '../contract/tables.ts';
import { dayOf } from '../contract/time.ts';
import type { Client, ResponseText } from '../upstream/client.ts';
import { UpstreamError } from '../upstream/errors.ts';
import { type Page, walkPages } from '../upstream/page-chain.ts';
import { quarantineIdentity } from '../warehouse/ledger/ledger.ts';
import type { RunRef } from '../warehouse/ledger/runs.ts';
import { type UnconfirmedRows, LossError, type PageAnswer } from '../warehouse/write/page-commit.ts';
import { type EndpointAdapter, FormChanged } from './adapt-endpoint.ts';
import { commitPage, type PageDestinations, type ReceivedPage } from './commit-page.ts';
import { confirmDeletions } from './confirm-deletions.ts';
import { CursorLost, createOrderCheck } from './page-order.ts';
import type { PlanContext } from './plan/plan-context.ts';
import { resumePoint } from './plan/plan-slices.ts';
import { noRows, type ReadPage, readPage } from './read-page.ts';
import type { RequestLog } from './request-log.ts';
import type { ResponseDates } from './response-dates.ts';
import type { RequestLimit } from './select-endpoints.ts';
import { endedSlice, type Slice, slicesOf } from './slice.ts';
import type { SyncStats } from './sync-stats.ts';
import type { FormWriter } from './upstream-forms.ts';

/** Reads single slices for a run. */
export interface SliceReader {
  /**
   * Reads a slice to its end, committing every page, and returns upstream's time of the last response. Resumes at the
   * checkpoint of an unfinished run; if upstream rejects a cursor, restarts the slice. Updates `pages`. The
   * first page of a run sets the run's clock before it is stored.
   * @throws UpstreamError after the slice is read, if new items were quarantined because of their times: the next run
   * reads the slice again
   */
  read(slice: Slice, context: PlanContext, pages?: { count: number }): Promise<{ date: number }>;
  /**
   * Returns the days of a brand's resource whose last read in this run lacked rows that upstream counts, with the
   * number of rows. The rows stay live.
   */
  lackingDays(resource: string, brandId: string): ReadonlyMap<string, number>;
}

/** Dependencies of a slice reader. */
export interface ReaderParts extends PageDestinations {
  readonly catalogue: Catalogue;
  readonly client: Client;
  readonly clock: RunClock;
  readonly signal: AbortSignal;
  readonly onProgress?: (stats: SyncStats) => void;
  readonly run: RunRef;
  readonly stats: SyncStats;
  readonly log: RequestLog;
  readonly dateOf: ResponseDates;
  readonly noteForms: FormWriter;
  readonly rowReader: (resource: string) => RowReader;
  /** Adapts inferred declarations to responses; default: they stay. */
  readonly adapter?: EndpointAdapter;
  /** Limits the requests for inferred declarations; default: no limit. */
  readonly limit?: RequestLimit;
  /**
   * Items that earlier runs put in quarantine (`readQuarantined`): known items do not make every run read their slice
   * again.
   */
  readonly quarantined: ReadonlySet<string>;
}

/** Maximum number of times that a slice is read again because responses show another form of its list. */
const FORMS_MAX = 4;
/** Maximum number of restarts of a slice in a run, because a cursor may expire again. */
const RESTARTS_MAX = 3;
/** Statuses that may mean an expired cursor; the specification does not name one. */
const CURSOR_REFUSED: readonly (number | null)[] = [400, 404, 410, 422];

/** Creates the slice reader of a run. */
export function createSliceReader(parts: ReaderParts): SliceReader {
  const { warehouse, stats } = parts;
  const lacking = new Map<string, Map<string, number>>();
  const lackingDays = (resource: string, brandId: string | null): Map<string, number> => {
    const key = `${resource} ${brandId}`;
    const days = lacking.get(key) ?? new Map<string, number>();
    lacking.set(key, days);
    return days;
  };
  // Later pages of an unfinished read are unknown, so a restart must not stop at the first page without changes.
  const restart = async (slice: Slice, pages: { count: number }, rows: number): Promise<ReadResult> => {
    await warehouse.restartSlice(slice.id);
    pages.count = 0;
    return readPages(parts, { ...slice, untilKnown: false }, null, pages, rows);
  };
  return {
    read: async (asked, context, pages = { count: 0 }) => {
      const slice = context.acceptDeletions === true ? { ...asked, guard: null } : asked;
      const resume = resumePoint(slice, context);
      pages.count = resume?.pages ?? 0;
      const rows = context.covered.closed(slice.id)?.rows ?? 0;
      const isStale = resume === null && context.begun.has(slice.id);
      const readOnce = async (): Promise<ReadResult> => {
        for (let restarts = 0; ; restarts += 1) {
          try {
            return restarts > 0 || isStale
              ? await restart(slice, pages, rows)
              : await readPages(parts, slice, resume?.cursor ?? null, pages, rows);
          } catch (thrown) {
            // A rejection after the first page, or with a cursor of an earlier run, concerns the cursor.
            const isRefused =
              thrown instanceof UpstreamError && CURSOR_REFUSED.includes(thrown.status) && pages.count > 0;
            if ((!isRefused && !(thrown instanceof CursorLost)) || restarts >= RESTARTS_MAX) throw thrown;
          }
        }
      };
      const readInForm = async (): Promise<ReadResult> => {
        for (let forms = 0; ; forms += 1) {
          try {
            return forms === 0
              ? await readOnce()
              : await restart(formedAnew(parts.catalogue, slice, context), pages, rows);
          } catch (thrown) {
            if (!(thrown instanceof FormChanged) || forms >= FORMS_MAX) throw thrown;
          }
        }
      };
      let result = await readInForm();
      result = await confirmDeletions(parts, slice, result, context.names, (list) => restart(list, { count: 0 }, rows));
      const days = lackingDays(slice.resource, slice.brandId);
      for (const day of days.keys()) if ((slice.from ?? '') <= day && day <= (slice.to ?? '')) days.delete(day);
      for (const { days: counted } of result.unconfirmed) for (const [day, rows] of counted) days.set(day, rows);
      stats.closed(slice, pages.count);
      return { date: result.date };
    },
    lackingDays,
  };
}

// The requests of a slice after its inferred declaration has changed.
function formedAnew(catalogue: Catalogue, slice: Slice, { names }: PlanContext): Slice {
  const { brandId, from, to, parent } = slice;
  const scope = {
    ...(brandId === null ? {} : { brandId }),
    ...(from === null || to === null ? {} : { range: { from, to } }),
    parent,
    reason: slice.reason,
    priority: slice.priority,
  };
  const { path, query } =
    slicesOf(catalogue.get(slice.resource), scope, names).find(({ id }) => id === slice.id) ?? slice;
  return { ...slice, path, query };
}

interface ReadResult {
  /** Upstream's time of the last response, epoch milliseconds. */
  readonly date: number;
  readonly unconfirmed: readonly UnconfirmedRows[];
}

// Reads and commits the pages of a slice, from the state `from` to the end. `rows` is the number of rows of its last complete read.
function readPages(
  parts: ReaderParts,
  slice: Slice,
  from: string | null,
  pages: { count: number },
  rows: number,
): Promise<ReadResult> {
  const { adapter, catalogue, clock } = parts;
  const resource = catalogue.get(slice.resource);
  return parts.log(slice, async (requests, onAttempt) => {
    const list: ReadList = { repeats: await repeatsBefore(parts, resource, slice, from), state: from };
    const reading: Reading = { parts, slice, resource, list, pages, requests, refused: 0 };
    const checkOrder = createOrderCheck(slice.path, from);
    let result: ReadResult = { date: clock.now(), unconfirmed: [] };
    try {
      for await (const page of walkSlice(parts, slice, list, onAttempt)) {
        const take = (read: ParsedPage) => takePage(reading, page, read, checkOrder);
        const { value } = page;
        const taken =
          adapter === undefined || value.page !== null
            ? await take(value.page as ParsedPage)
            : await adapter.exclusive(slice.resource, async () => take(await parseAdapted(reading, adapter, page)));
        result = taken;
        if (taken.ended) break;
      }
    } catch (thrown) {
      if (!isMissingList(thrown, resource, { slice, state: list.state, rows })) throw thrown;
      pages.count += 1;
      const { path, query } = slice;
      const arrival = { body: null, bytes: Buffer.from('null'), path, query, member: slice.member };
      const tables = noRows(catalogue.get(slice.resource));
      result = await commit(reading, { tables, date: clock.now(), next: null, isMissing: true, arrival });
    }
    if (reading.refused > 0) throw implausibleTimes(slice, reading.refused);
    return result;
  });
}

// State of one read of a slice.
interface Reading {
  readonly parts: ReaderParts;
  readonly slice: Slice;
  /** Declaration with which the read began. */
  readonly resource: Resource;
  readonly list: ReadList;
  readonly pages: { count: number };
  readonly requests: Attempt[];
  /** Number of items that were quarantined because of their times. */
  refused: number;
}

type OwnPage = Omit<ReceivedPage, 'run' | 'slice' | 'page' | 'doubtful' | 'guard' | 'requests'>;
type TakenPage = ReadResult & { readonly ended: boolean };

async function commit({ parts, slice, pages, refused, requests }: Reading, page: OwnPage): Promise<TakenPage> {
  const { run, stats } = parts;
  const named = { 'sightline.resource': slice.resource, 'sightline.page': pages.count };
  const { guard } = slice;
  const about = { run, slice, page: pages.count, doubtful: refused > 0, guard, requests: requests.splice(0) };
  const committed = await inSpan('sync.commit', named, () => commitPage(parts, { ...page, ...about })).catch(
    asUpstreamError,
  );
  stats.page(slice, pages.count, committed.ended, committed);
  parts.onProgress?.(stats);
  return { date: page.date, unconfirmed: committed.unconfirmed, ended: committed.ended };
}

async function takePage(
  reading: Reading,
  { value, request, state, next, date: received }: Page<WalkedPage>,
  { ended, tables, forms, implausible, repeats }: ParsedPage,
  checkOrder: ReturnType<typeof createOrderCheck>,
): Promise<TakenPage> {
  const { parts, slice, resource, list, pages, requests } = reading;
  const { body, text } = value;
  const sentAt = requests.at(-1)?.sentAt;
  const date = await parts.dateOf(slice, received);
  checkOrder({ tables, cursor: state, sentAt });
  pages.count += 1;
  reading.refused += tables.reduce((sum, rows) => sum + rows.implausibleCount - countKnown(rows, parts.quarantined), 0);
  noteRepeats(requests, implausible);
  const { path, query } = request;
  const own = { ...reading, slice: ended };
  const taken = await commit(own, {
    tables,
    date,
    next,
    untilKnown: slice.untilKnown,
    answer: answerOf(resource, ended, body),
    arrival: { body, bytes: text.bytes, path, query, member: slice.member },
  });
  await parts.noteForms(slice.resource, forms);
  list.repeats = repeats;
  list.state = next;
  return taken;
}

// Extends the inferred declaration by the page, then reads the page with it.
async function parseAdapted(
  { parts, slice, resource, list }: Reading,
  adapter: EndpointAdapter,
  { value: { body, text }, state, date }: Page<WalkedPage>,
): Promise<ParsedPage> {
  const at = date ?? parts.clock.now();
  const isFirstPage = state === null;
  await adapter.adapt(slice, { body, link: text.link, isFirstPage }, at);
  const now = parts.catalogue.get(slice.resource);
  if (!isDeepStrictEqual(pagesOf(now), pagesOf(resource))) throw new FormChanged(slice.path);
  return parsePage(parts, list, slice, body, text);
}

/** The part of a list that was read. */
interface ReadList {
  /** Rows by content; undefined if rows have keys. */
  repeats: Repeats | undefined;
  /** Cursor of the next page; null for the first page. */
  state: string | null;
}

function firstRequest({ path: route }: Resource, { path, query }: Slice): Request {
  return { path, query, route };
}

/** A page as the walk yields it. */
interface WalkedPage {
  readonly body: unknown;
  readonly text: ResponseText;
  /** Null for an inferred declaration, which the page may extend before it is parsed. */
  readonly page: ParsedPage | null;
}

/** `ended` is the slice that was read, with its last day. */
type ParsedPage = ReadPage & { readonly ended: Slice; readonly repeats: Repeats | undefined };

function parsePage(
  { catalogue, rowReader, clock }: ReaderParts,
  list: Readonly<ReadList>,
  slice: Slice,
  body: unknown,
  text: ResponseText,
): ParsedPage {
  // A body that is rejected later must not count.
  const repeats = list.repeats === undefined ? undefined : new Map(list.repeats);
  const resource = catalogue.get(slice.resource);
  const today = dayOf(clock.now());
  const ended = endedSlice(slice, resource, body, today);
  const scope = repeats === undefined ? ended : { ...ended, repeats };
  return { ...readPage(resource, rowReader(slice.resource), scope, body, text, today), ended, repeats };
}

function walkSlice(parts: ReaderParts, slice: Slice, list: Readonly<ReadList>, onAttempt: (attempt: Attempt) => void) {
  const { catalogue, client, signal, adapter, limit } = parts;
  const resource = catalogue.get(slice.resource);
  const request = firstRequest(resource, slice);
  const pages = pagesOf(resource);
  return walkPages(client, {
    request,
    pages,
    read: (body, text): WalkedPage => {
      if (adapter === undefined || resource.generic !== true) {
        const page = parsePage(parts, list, slice, body, text);
        return { body, text, page };
      }
      adapter.checkItems(slice.resource, { body });
      return { body, text, page: null };
    },
    from: list.state,
    signal,
    beforePage: () => limit?.check(slice),
    onAttempt: (attempt) => {
      limit?.sent(slice);
      onAttempt(attempt);
    },
  });
}

// A list that is identified by its content counts equal rows from its first page on.
async function repeatsBefore(
  { warehouse }: ReaderParts,
  resource: Resource,
  slice: Slice,
  from: string | null,
): Promise<Repeats | undefined> {
  if (!resource.derived.some(hasContentKey)) return undefined;
  return from === null ? new Map() : warehouse.contentRepeats(slice.id);
}

// 404 of the first page means that the brand or row has no such list. It never deletes stored rows.
function isMissingList(
  thrown: unknown,
  resource: Resource,
  { slice, state, rows }: { readonly slice: Slice; readonly state: string | null; readonly rows: number },
): boolean {
  if (!(thrown instanceof UpstreamError) || thrown.status !== 404) return false;
  if (state !== null) return false;
  const mayBeMissing = resource.mayBeMissing === true || resource.parent !== undefined;
  return mayBeMissing && (rows === 0 || slice.guard === null);
}

// Reports are stored for the calibration, except those that complete the totals of days, because their rows are in other reports.
function answerOf(resource: Resource, slice: Slice, body: unknown): PageAnswer | null {
  if (resource.computes === undefined || slice.includesNext) return null;
  const { each } = resource;
  const names = Object.keys(resource.query);
  const query = Object.fromEntries(Object.entries(slice.query).filter(([name]) => names.includes(name)));
  const chosen = each === undefined ? undefined : slice.fixed[each.column];
  if (each !== undefined && chosen !== undefined) query[each.parameter] = String(chosen);
  return { query, body: toExactJson(body) };
}

function countKnown({ rejected }: TableRows, quarantined: ReadonlySet<string>): number {
  return rejected.filter((item) => item.implausible !== undefined && quarantined.has(quarantineIdentity(item))).length;
}

// The last attempt is the successful one; add the page's repeated keys to its report.
function noteRepeats(requests: Attempt[], implausible: readonly Implausible[]): void {
  const answered = requests.pop();
  if (answered === undefined) return;
  requests.push({ ...answered, implausible: [...(answered.implausible ?? []), ...implausible] });
}

function implausibleTimes(slice: Slice, items: number): UpstreamError {
  const message = `quarantined ${items} ${items === 1 ? 'item' : 'items'} of ${slice.path} with implausible times`;
  return new UpstreamError('bad_answer', `${message}; the next sync reads them again`, { status: 200 });
}

function asUpstreamError(thrown: unknown): never {
  if (thrown instanceof LossError)
    throw new UpstreamError('bad_answer', thrown.message, { status: 200, cause: thrown });
  throw thrown;
}
