import { inSpan } from '../base/trace/trace.ts';
import { type Catalogue, detailsOf } from '../contract/catalogue.ts';
import { parameterForm } from '../contract/formats.ts';
import type { Implausible } from '../contract/implausible.ts';
import type { Attempt } from '../contract/request.ts';
import { createRowReader, type RowReader, type TableRows } from '../contract/rows.ts';
import type { ResourceTable } from '../contract/tables.ts';
import { dayOf } from '../contract/time.ts';
import type { TableLoss } from '../plausibility/mass-deletion.ts';
import type { RunClock } from '../plausibility/run-clock.ts';
import type { Client } from '../upstream/client.ts';
import { learnParameterNames, OPENAPI_PATH } from '../upstream/discovery.ts';
import { UpstreamError } from '../upstream/errors.ts';
import { walkPages } from '../upstream/page-chain.ts';
import { quarantineIdentity } from '../warehouse/ledger/ledger.ts';
import type { RunRef } from '../warehouse/ledger/runs.ts';
import { type HeldRows, LossError, type Warehouse } from '../warehouse/warehouse.ts';
import type { PlanContext } from './plan-context.ts';
import { resumePoint } from './plan-slices.ts';
import { nextOf, type ReadPage, readPage } from './read-page.ts';
import { type ParameterNames, type Slice, slicesOf } from './slice.ts';
import type { SyncStats, Trouble } from './sync-stats.ts';

/** Reads single slices for a run. */
export interface SliceReader {
  /**
   * Reads a slice to its end, committing every page, and returns upstream's time of the last response. Resumes at the
   * checkpoint of an unfinished run; if upstream rejects that cursor, restarts the slice once. Updates `pages`. The
   * first page of a run sets the run's clock before it is stored.
   * @throws UpstreamError after the slice is read, if new items were quarantined because of their times: the next run
   * reads the slice again
   */
  read(chain: Slice, context: PlanContext, pages?: { count: number }): Promise<{ date: number }>;
  /** Reads upstream's OpenAPI description for the parameter names that the specification leaves open. */
  learnNames(): Promise<ParameterNames>;
  /**
   * Returns the days of a brand's resource whose last read in this run lacked rows that upstream counts, with the
   * number of rows. The rows stay live.
   */
  lackingDays(resource: string, brandId: string): ReadonlyMap<string, number>;
}

/** Dependencies of a slice reader. */
export interface ReaderParts {
  readonly catalogue: Catalogue;
  readonly warehouse: Warehouse;
  readonly client: Client;
  readonly clock: RunClock;
  readonly signal: AbortSignal;
  readonly onProgress?: (stats: SyncStats) => void;
}

/** Statuses that may mean an expired cursor; the specification does not name one. */
const CURSOR_REFUSED: readonly (number | null)[] = [400, 404, 410, 422];

/** Limit of members of a list that are checked one by one for existence. */
const MEMBERS_ASKED_MAX = 20;

/** Cursors younger than this are assumed not to have expired. */
const CURSOR_MS_MIN = 60_000;

class CursorLost extends UpstreamError {
  constructor(path: string) {
    super('bad_answer', `upstream returned an empty page for the cursor of ${path}; the cursor has probably expired`, {
      status: 200,
    });
  }
}

function implausibleTimes(chain: Slice, items: number): UpstreamError {
  const message = `quarantined ${items} ${items === 1 ? 'item' : 'items'} of ${chain.path} with implausible times`;
  return new UpstreamError('bad_answer', `${message}; the next sync reads them again`, { status: 200 });
}

// The last attempt is the successful one; add the page's repeated keys to its report.
function noteRepeats(requests: Attempt[], implausible: readonly Implausible[]): void {
  const answered = requests.pop();
  if (answered === undefined) return;
  requests.push({ ...answered, implausible: [...(answered.implausible ?? []), ...implausible] });
}

// Returns the keys of a page's items, including rejected ones; null if no item has a key.
function keysOf(tables: readonly TableRows[]): string | null {
  return tables.some(({ seen }) => seen.length > 0) ? JSON.stringify(tables.map(({ seen }) => seen)) : null;
}

function isEmpty(tables: readonly TableRows[]): boolean {
  return tables.every(({ seen, unidentified }) => seen.length + unidentified === 0);
}

/**
 * Creates the slice reader of a run. `quarantined` are the items that earlier runs put in quarantine
 * (`readQuarantined`): known items do not make every run read their slice again.
 */
export function createSliceReader(
  parts: ReaderParts,
  run: RunRef,
  stats: SyncStats,
  quarantined: ReadonlySet<string>,
): SliceReader {
  const { catalogue, warehouse, client, clock, signal } = parts;
  const readers = new Map<string, RowReader>();
  const readerOf = (name: string): RowReader => {
    const reader = readers.get(name) ?? createRowReader(catalogue, catalogue.get(name));
    readers.set(name, reader);
    return reader;
  };

  const countKnown = ({ rejected }: TableRows): number =>
    rejected.filter((item) => item.implausible !== undefined && quarantined.has(quarantineIdentity(item))).length;

  // Forms change rarely, so write only changed ones.
  const noted = new Map<string, string>();
  const noteForms = async (resource: string, forms: ReadonlyMap<string, string>): Promise<void> => {
    const fresh = [...forms].filter(([name, value]) => noted.get(`${resource} ${name}`) !== value);
    if (fresh.length === 0) return;
    await warehouse.noteForms(resource, new Map(fresh));
    for (const [name, value] of fresh) noted.set(`${resource} ${name}`, value);
  };

  // Collects requests that are not in the ledger yet.
  const collect = () => {
    const requests: Attempt[] = [];
    const onAttempt = (attempt: Attempt): void => {
      requests.push(attempt);
      stats.attempted(attempt);
      parts.onProgress?.(stats);
    };
    return { requests, onAttempt };
  };

  // Compares the first response of the run with this machine's clock; in doubt, sends its request again.
  let isClockAgreed = false;
  const agreeOnClock = async (chain: Slice, first: number | null): Promise<void> => {
    if (isClockAgreed) return;
    isClockAgreed = true;
    const asked = { path: chain.path, query: chain.query, route: catalogue.get(chain.resource).path };
    const { requests, onAttempt } = collect();
    try {
      await clock.agree(first, async () => (await client.get(asked, () => null, { signal, onAttempt })).date);
    } finally {
      if (requests.length > 0) await warehouse.noteRequests(run, chain, requests);
    }
    const difference = clock.difference();
    if (difference === null) return;
    const hours = `${Math.abs(difference / 3_600_000).toFixed(1)} hours ${difference > 0 ? 'ahead of' : 'behind'}`;
    const message = `upstream's clock is ${hours} this machine's; this run uses upstream's clock`;
    stats.warned({ chain: chain.id, code: 'clock_differs', message });
  };

  let hasWarned = false;
  const noteDate = async (chain: Slice, implausible: Implausible): Promise<void> => {
    await warehouse.noteImplausible(run, chain.resource, [implausible], clock.now());
    if (hasWarned) return;
    hasWarned = true;
    const message = `a response has the date ${String(implausible.value)}; allowed: ${implausible.allowed}. Such dates are ignored`;
    stats.warned({ chain: chain.id, code: 'implausible_value', message });
  };

  const lacking = new Map<string, Map<string, number>>();
  const lackingOf = (resource: string, brandId: string | null): Map<string, number> => {
    const key = `${resource} ${brandId}`;
    const days = lacking.get(key) ?? new Map<string, number>();
    lacking.set(key, days);
    return days;
  };

  const readFrom = async (chain: Slice, from: string | null, pages: { count: number }): Promise<ReadResult> => {
    const { requests, onAttempt } = collect();
    const reader = readerOf(chain.resource);
    const resource = catalogue.get(chain.resource);
    let answer: (Pick<ReadPage, 'forms' | 'implausible'> & { body: unknown; bytes: Uint8Array }) | null = null;
    let date = clock.now();
    let askedAt = Number.POSITIVE_INFINITY;
    let refused = 0;
    let held: readonly HeldRows[] = [];
    let keysBefore: string | null = null;
    try {
      const walk = walkPages<readonly TableRows[]>(client, {
        request: { path: chain.path, query: chain.query, route: resource.path },
        read: (body, text) => {
          const { tables, forms, implausible } = readPage(resource, reader, chain, body, text, dayOf(clock.now()));
          answer = { body, bytes: text.bytes, forms, implausible };
          return tables;
        },
        nextOf: (body) => nextOf(resource, body),
        from,
        signal,
        onAttempt,
      });
      for await (const page of walk) {
        // A follow-up page without items may mean an expired cursor.
        const sentAt = requests.at(-1)?.sentAt ?? askedAt;
        await agreeOnClock(chain, page.date);
        const received = clock.dateOf(page.date);
        if (received.implausible !== null) await noteDate(chain, received.implausible);
        const isOld = page.cursor === from || sentAt - askedAt > CURSOR_MS_MIN;
        askedAt = sentAt;
        if (page.cursor !== null && isOld && isEmpty(page.value)) throw new CursorLost(chain.path);
        const keys = keysOf(page.value);
        if (keys !== null && keys === keysBefore) {
          throw new UpstreamError(
            'bad_answer',
            `upstream returned the same page again for another cursor of ${chain.path}`,
            { status: 200 },
          );
        }
        keysBefore = keys;
        pages.count += 1;
        date = received.date;
        refused += page.value.reduce((sum, rows) => sum + rows.implausibleCount - countKnown(rows), 0);
        const { body, bytes, forms, implausible } = answer as unknown as NonNullable<typeof answer>;
        answer = null;
        noteRepeats(requests, implausible);
        const query = page.cursor === null ? chain.query : { ...chain.query, cursor: page.cursor };
        const commit = {
          run,
          chain,
          tables: page.value,
          date,
          page: pages.count,
          next: page.next,
          untilKnown: chain.untilKnown,
          doubtful: refused > 0,
          guard: chain.guard,
          requests: requests.splice(0),
          arrival: { body, bytes, path: chain.path, query, member: chain.member },
        };
        const named = { 'sightline.resource': chain.resource, 'sightline.page': pages.count };
        const result = await inSpan('sync.commit', named, () => warehouse.commitPage(commit)).catch(asUpstreamError);
        await noteForms(chain.resource, forms);
        stats.page(chain, pages.count, result.ended, result);
        parts.onProgress?.(stats);
        held = result.held;
        if (result.ended) break;
      }
      if (refused > 0) throw implausibleTimes(chain, refused);
      return { date, held };
    } finally {
      if (requests.length > 0) await warehouse.noteRequests(run, chain, requests);
    }
  };

  // Later pages of an unfinished read are unknown, so a restart must not stop at the first page without changes.
  const restart = async (chain: Slice, pages: { count: number }): Promise<ReadResult> => {
    await warehouse.restartSlice(chain.id);
    pages.count = 0;
    return readFrom({ ...chain, untilKnown: false }, null, pages);
  };

  // Confirms that members of a list were deleted: each member must return 404.
  const areGone = async (chain: Slice, held: readonly HeldRows[], context: PlanContext): Promise<boolean> => {
    const resource = catalogue.get(chain.resource);
    const [detail] = detailsOf(catalogue, resource.name);
    const [loss] = held;
    if (resource.provides === undefined || detail === undefined || loss === undefined) return false;
    if (loss.lost === loss.before || loss.lost > MEMBERS_ASKED_MAX) return false;
    const table = resource.derived[0] as ResourceTable;
    for (const key of loss.keys) {
      const member = String(key[table.declaration.key[0] as string]);
      const scope = { member, reason: 'existence check', priority: 0 };
      const [asked] = slicesOf(detail, scope, context.names) as [Slice];
      const { requests, onAttempt } = collect();
      try {
        await client.get({ path: asked.path, query: {}, route: detail.path }, () => null, { signal, onAttempt });
        return false;
      } catch (thrown) {
        if (!(thrown instanceof UpstreamError)) throw thrown;
        if (thrown.status !== 404) return false;
      } finally {
        await warehouse.noteRequests(run, asked, requests);
      }
    }
    return true;
  };

  // A large loss may come from a truncated list, so read the list again before reporting it.
  const confirm = async (chain: Slice, first: ReadResult, context: PlanContext): Promise<ReadResult> => {
    if (chain.guard === null || chain.guard.counts !== null || first.held.length === 0) return first;
    let result = await restart(chain, { count: 0 });
    if (result.held.length > 0 && (await areGone(chain, result.held, context))) {
      result = await restart({ ...chain, guard: null }, { count: 0 });
    }
    for (const { table, before, lost } of result.held) stats.unproven(heldTrouble(chain, { table, before, lost }));
    return result;
  };

  return {
    read: async (asked, context, pages = { count: 0 }) => {
      const chain = context.acceptDeletions === true ? { ...asked, guard: null } : asked;
      const resume = resumePoint(chain, context);
      pages.count = resume?.pages ?? 0;
      const isStale = resume === null && context.begun.has(chain.id);
      let result: ReadResult;
      try {
        result = isStale ? await restart(chain, pages) : await readFrom(chain, resume?.cursor ?? null, pages);
      } catch (thrown) {
        // A rejection after the first page, or with a cursor of an earlier run, concerns the cursor.
        const isRefused = thrown instanceof UpstreamError && CURSOR_REFUSED.includes(thrown.status) && pages.count > 0;
        if (!isRefused && !(thrown instanceof CursorLost)) throw thrown;
        result = await restart(chain, pages);
      }
      result = await confirm(chain, result, context);
      const days = lackingOf(chain.resource, chain.brandId);
      for (const day of days.keys()) if ((chain.from ?? '') <= day && day <= (chain.to ?? '')) days.delete(day);
      for (const { days: held } of result.held) for (const [day, rows] of held) days.set(day, rows);
      stats.closed(chain, pages.count);
      return { date: result.date };
    },
    lackingDays: lackingOf,
    learnNames: async () => {
      const asked = { path: OPENAPI_PATH, query: {}, route: OPENAPI_PATH };
      const { requests, onAttempt } = collect();
      try {
        const answer = await client.get(asked, (body) => learnParameterNames(catalogue.resources, body), {
          signal,
          onAttempt,
        });
        for (const [resource, names] of answer.value) {
          const forms = Object.entries(names).map(([declared, name]): [string, string] => [
            parameterForm(declared),
            name,
          ]);
          await noteForms(resource, new Map(forms));
        }
        return answer.value;
      } catch (thrown) {
        // Upstream may lack a description; then the declared names are used.
        if (!(thrown instanceof UpstreamError)) throw thrown;
        return new Map();
      } finally {
        await warehouse.noteRequests(run, { id: OPENAPI_PATH, resource: 'openapi' }, requests);
      }
    },
  };
}

function asUpstreamError(thrown: unknown): never {
  if (thrown instanceof LossError)
    throw new UpstreamError('bad_answer', thrown.message, { status: 200, cause: thrown });
  throw thrown;
}

interface ReadResult {
  /** Upstream's time of the last response, epoch milliseconds. */
  readonly date: number;
  readonly held: readonly HeldRows[];
}

/** Returns the failure of a run that held back a mass deletion. */
export function heldTrouble({ id }: Pick<Slice, 'id'>, { table, before, lost }: TableLoss): Trouble {
  const message =
    `upstream no longer lists ${lost} of ${before} stored rows of ${table}; they stay. ` +
    'If upstream deleted them, run `sightline sync --accept-deletions`';
  return { chain: id, code: 'deletions_held', message };
}
