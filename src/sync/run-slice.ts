import { inSpan, type Span } from '../base/trace/trace.ts';
import { RETRY_AFTER_MS_MAX } from '../budget/send-record.ts';
import { providerOf, type Resource } from '../contract/catalogue.ts';
import { IgnoredParameterError } from '../contract/rows.ts';
import type { ResourceTable } from '../contract/tables.ts';
import { AllowanceReached } from '../upstream/allowance.ts';
import { UpstreamError } from '../upstream/errors.ts';
import { readMembers } from '../warehouse/ledger/slice-state.ts';
import { type PlanContext, PRIORITY } from './plan-context.ts';
import type { ReaderParts, SliceReader } from './read-slice.ts';
import { type Slice, slicesOf } from './slice.ts';
import type { SyncStats } from './sync-stats.ts';

/** Share of a list's rows, but at least one row, whose detail may return 404 while they are listed. */
const DETAILS_LACKING_SHARE_MAX = 0.5;

/**
 * Creates a function that reads a slice to its end and decides what an error means: the end of the run, a failure of
 * the slice, or a deletion. It returns whether the slice was read.
 * @throws errors that end the run: a rejected key or workspace, an aborted signal, or an error that upstream did not
 * cause
 */
export function createSliceRunner(
  parts: ReaderParts,
  reader: SliceReader,
  stats: SyncStats,
  context: PlanContext,
): (chain: Slice) => Promise<boolean> {
  const { catalogue, warehouse, signal } = parts;
  const provider = providerOf(catalogue, 'brand');
  const gone = new Set<string>();

  // Reads a list again, once per run, and returns its members; null if it cannot be read.
  const readAgain = async (list: Resource, brandId: string | null): Promise<Set<string> | null> => {
    const scope = {
      reason: 'a row of the list returned 404',
      priority: PRIORITY.list,
      ...(brandId === null ? {} : { brandId }),
    };
    const chains = slicesOf(list, scope, context.names);
    stats.planned(chains);
    for (const chain of chains) if (!(await perform(chain, { count: 0 }))) return null;
    const id = (list.derived[0] as ResourceTable).declaration.key[0] as string;
    const members = await readMembers(warehouse.database, list, brandId, { id });
    return new Set(members.map((member) => member.id));
  };
  const lists = new Map<string, Promise<Set<string> | null>>();
  const membersOf = (list: Resource, brandId: string | null): Promise<Set<string> | null> => {
    const key = `${list.name} ${brandId}`;
    const members = lists.get(key) ?? readAgain(list, brandId);
    lists.set(key, members);
    return members;
  };

  // A 404 means that the member was deleted, unless the list still contains it: then upstream lacks the endpoint or
  // contradicts itself.
  const isGone = async (chain: Slice, error: UpstreamError): Promise<boolean> => {
    if (error.status !== 404) return false;
    const { change } = catalogue.get(chain.resource);
    const isDetail = change.kind === 'detail';
    const list = isDetail ? catalogue.get(change.of) : provider;
    const member = isDetail ? chain.member : chain.brandId;
    if (member === null || list.name === chain.resource) return false;
    const brandId = isDetail ? chain.brandId : null;
    const members = await membersOf(list, brandId);
    if (members === null || members.has(member)) return false;
    if (list.name === provider.name) gone.add(member);
    return true;
  };

  // A row may lack its detail for a while. If most rows of a list do, upstream is at fault and the slice fails.
  const withoutDetail = new Map<string, number>();
  const mayLackDetail = async (chain: Slice, error: UpstreamError): Promise<boolean> => {
    const { change } = catalogue.get(chain.resource);
    if (error.status !== 404 || change.kind !== 'detail') return false;
    const list = catalogue.get(change.of);
    const members = await membersOf(list, chain.brandId);
    const key = `${list.name} ${chain.brandId}`;
    const lost = (withoutDetail.get(key) ?? 0) + 1;
    withoutDetail.set(key, lost);
    return list.provides === undefined && lost <= Math.max(1, (members?.size ?? 0) * DETAILS_LACKING_SHARE_MAX);
  };

  const perform = async (chain: Slice, pages: { count: number }, span?: Span): Promise<boolean> => {
    if (chain.brandId !== null && gone.has(chain.brandId)) {
      stats.closed(chain, 0);
      return false;
    }
    try {
      await reader.read(chain, context, pages);
      return true;
    } catch (thrown) {
      span?.fail(thrown);
      signal.throwIfAborted();
      if (thrown instanceof AllowanceReached) {
        stats.ranOut(thrown.message);
        return false;
      }
      if (!(thrown instanceof UpstreamError) || endsTheRun(thrown)) throw thrown;
      const trouble = { chain: chain.id, code: thrown.code, message: thrown.message };
      if (await isGone(chain, thrown)) stats.closed(chain, pages.count);
      else if (isOptional(chain, thrown) || (await mayLackDetail(chain, thrown))) {
        stats.warned(trouble);
        stats.closed(chain, pages.count);
      } else stats.failed(chain, pages.count, trouble);
      return false;
    }
  };

  return (chain) => {
    const { resource, from, to, reason } = chain;
    const values = {
      'sightline.resource': resource,
      'sightline.from': from,
      'sightline.to': to,
      'sightline.reason': reason,
    };
    return inSpan('sync.chain', values, async (span) => {
      const pages = { count: 0 };
      const wasRead = await perform(chain, pages, span);
      span.set({ 'sightline.pages': pages.count, 'sightline.read': wasRead });
      return wasRead;
    });
  };
}

// A rejected key (401) or workspace (403 `plan_required`) affects every slice, and so does a rate limit or an outage
// that lasts longer than a run waits. Any other 403 concerns its endpoint, so only that slice fails.
function endsTheRun(error: UpstreamError): boolean {
  const isSentAway = error.retryable && (error.retryAfterMs ?? 0) > RETRY_AFTER_MS_MAX;
  return error.code === 'unauthorized' || error.code === 'plan_required' || isSentAway;
}

// Upstream may reject a parameter whose name had to be guessed.
function isOptional(chain: Slice, error: UpstreamError): boolean {
  return error.cause instanceof IgnoredParameterError || (chain.guessed && error.status === 400);
}
