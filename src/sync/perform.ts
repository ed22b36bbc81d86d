import { inSpan, type Span } from '../base/trace.ts';
import { providerOf, type Resource } from '../contract/catalogue.ts';
import { IgnoredParameterError, type Values } from '../contract/rows.ts';
import type { ResourceTable } from '../contract/tables.ts';
import { AllowanceReached } from '../upstream/allowance.ts';
import { RETRY_AFTER_MS_MAX } from '../upstream/budget-record.ts';
import { UpstreamError } from '../upstream/errors.ts';
import type { Chain } from './chain.ts';
import type { PlanContext } from './context.ts';
import type { ChainReader, ReaderParts } from './read.ts';
import type { Tally } from './tally.ts';

/**
 * Reads chains to their end and decides what an error of one means: the end of the run, of the chain, or a deletion.
 * Returns whether the chain was read. Throws what ends the run: a refused key or workspace, an aborted signal, anything that is not upstream's doing.
 */
export function createPerformer(
  parts: ReaderParts,
  reader: ChainReader,
  tally: Tally,
  context: PlanContext,
): (chain: Chain) => Promise<boolean> {
  const { catalogue, warehouse, clock, signal } = parts;
  const provider = providerOf(catalogue, 'brand');
  const gone = new Set<string>();

  const markMember = async (list: Resource, fixed: Values, member: string): Promise<void> => {
    const table = list.derived[0] as ResourceTable;
    const key = table.declaration.key[0] as string;
    const marked = await warehouse.markDeleted(list, [{ ...fixed, [key]: member }], clock.now());
    tally.deleted(table.name, marked);
  };

  // 404 means that a listed thing has gone, unless it is the endpoint that upstream does not have.
  const isGone = async (chain: Chain, error: UpstreamError): Promise<boolean> => {
    if (error.status !== 404) return false;
    const { change } = catalogue.get(chain.resource);
    if (change.kind === 'detail' && chain.member !== null) {
      await markMember(catalogue.get(change.of), chain.fixed, chain.member);
      return true;
    }
    if (chain.brandId === null || !(await reader.isBrandGone(chain.brandId, context))) return false;
    gone.add(chain.brandId);
    await markMember(provider, {}, chain.brandId);
    return true;
  };

  const perform = async (chain: Chain, pages: { count: number }, span: Span): Promise<boolean> => {
    if (chain.brandId !== null && gone.has(chain.brandId)) {
      tally.closed(chain, 0);
      return false;
    }
    try {
      await reader.read(chain, context, pages);
      return true;
    } catch (thrown) {
      span.fail(thrown);
      signal.throwIfAborted();
      if (thrown instanceof AllowanceReached) {
        tally.ranOut(thrown.message);
        return false;
      }
      if (!(thrown instanceof UpstreamError) || endsTheRun(thrown)) throw thrown;
      const trouble = { chain: chain.id, code: thrown.code, message: thrown.message };
      if (await isGone(chain, thrown)) tally.closed(chain, pages.count);
      else if (isOptional(chain, thrown)) {
        tally.warned(trouble);
        tally.closed(chain, pages.count);
      } else tally.failed(chain, pages.count, trouble);
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

// A refused key (401) or workspace (403 plan_required) is refused for every chain, and so is a key that upstream rate-limits,
// or a server that is down, for longer than a run waits. Another 403 is about its endpoint: that chain fails alone.
function endsTheRun(error: UpstreamError): boolean {
  const isSentAway = error.retryable && (error.retryAfterMs ?? 0) > RETRY_AFTER_MS_MAX;
  return error.code === 'unauthorized' || error.code === 'plan_required' || isSentAway;
}

// What upstream need not have: a way of asking whose name had to be guessed.
function isOptional(chain: Chain, error: UpstreamError): boolean {
  return error.cause instanceof IgnoredParameterError || (chain.guessed && error.status === 400);
}
