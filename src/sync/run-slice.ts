import { inSpan, type Span } from '../base/trace.ts';
import { IgnoredParameterError } from '../contract/rows.ts';
import { AllowanceReached } from '../upstream/allowance.ts';
import { RETRY_AFTER_MS_MAX } from '../upstream/budget/send-record.ts';
import { UpstreamError } from '../upstream/errors.ts';
import { UnsupportedList } from './adapt-endpoint.ts';
import { createMissingCheck, type MissingCheckParts } from './missing-members.ts';
import type { PlanContext } from './plan/plan-context.ts';
import type { SliceReader } from './read-slice.ts';
import { RequestsUsedUp } from './select-endpoints.ts';
import type { Slice } from './slice.ts';
import type { SyncStats } from './sync-stats.ts';

/** Statuses with which upstream refuses an endpoint, whatever its data. */
const REFUSALS: readonly (number | null)[] = [400, 401, 403, 404, 405, 406, 410, 422, 501];

/**
 * Creates a function that reads a slice to its end and decides what an error means: the end of the run, a failure of
 * the slice, or a deletion. It returns whether the slice was read.
 * @throws errors that end the run: a rejected key or workspace, an aborted signal, or an error that upstream did not
 * cause
 */
export function createSliceRunner(
  parts: MissingCheckParts & { readonly signal: AbortSignal },
  reader: SliceReader,
  stats: SyncStats,
  context: PlanContext,
): (slice: Slice) => Promise<boolean> {
  const { signal } = parts;
  const missing = createMissingCheck(parts, stats, context, async (slices) => {
    for (const slice of slices) if (!(await perform(slice, { count: 0 }))) return false;
    return true;
  });

  const perform = async (slice: Slice, pages: { count: number }, span?: Span): Promise<boolean> => {
    if (slice.brandId !== null && missing.isBrandGone(slice.brandId)) {
      stats.closed(slice, 0);
      return false;
    }
    try {
      await reader.read(slice, context, pages);
      return true;
    } catch (thrown) {
      span?.fail(thrown);
      signal.throwIfAborted();
      if (thrown instanceof AllowanceReached) {
        if (slice.background) stats.closed(slice, pages.count);
        else stats.ranOut(thrown.message);
        return false;
      }
      if (thrown instanceof RequestsUsedUp) {
        stats.warned({ slice: slice.id, code: 'plan_too_large', message: thrown.message });
        stats.closed(slice, pages.count);
        return false;
      }
      const isRefused = isUndeclared(parts, slice) && isRefusal(thrown);
      if (!(thrown instanceof UpstreamError) || (endsTheRun(thrown) && !slice.background && !isRefused)) throw thrown;
      const trouble = { slice: slice.id, code: thrown.code, message: thrown.message };
      if (slice.background || isRefused) {
        stats.warned(trouble);
        stats.closed(slice, pages.count);
        return false;
      }
      if (await missing.isGone(slice, thrown)) stats.closed(slice, pages.count);
      else if (isOptional(slice, thrown) || (await missing.mayLackDetail(slice, thrown))) {
        stats.warned(trouble);
        stats.closed(slice, pages.count);
      } else stats.failed(slice, pages.count, trouble);
      return false;
    }
  };

  return (slice) => {
    const { resource, from, to, reason } = slice;
    const values = {
      'sightline.resource': resource,
      'sightline.from': from,
      'sightline.to': to,
      'sightline.reason': reason,
    };
    return inSpan('sync.slice', values, async (span) => {
      const pages = { count: 0 };
      const wasRead = await perform(slice, pages, span);
      span.set({ 'sightline.pages': pages.count, 'sightline.read': wasRead });
      return wasRead;
    });
  };
}

// An endpoint that no declaration describes may be closed to the key or need other parameters.
function isUndeclared({ catalogue }: MissingCheckParts, { resource }: Slice): boolean {
  return catalogue.get(resource).generic === true;
}

function isRefusal(thrown: unknown): boolean {
  return thrown instanceof UnsupportedList || (thrown instanceof UpstreamError && REFUSALS.includes(thrown.status));
}

// A rejected key (401) or workspace (403 `plan_required`) affects every slice, and so does a `Retry-After` that is longer than
// a run waits. Any other 403 concerns its endpoint, so only that slice fails.
function endsTheRun(error: UpstreamError): boolean {
  const isSentAway = error.retryable && (error.retryAfterMs ?? 0) > RETRY_AFTER_MS_MAX;
  return error.code === 'unauthorized' || error.code === 'plan_required' || isSentAway;
}

// Whether the error may be caused by a parameter whose name had to be guessed, because the specification leaves it open.
function isOptional(slice: Slice, error: UpstreamError): boolean {
  return error.cause instanceof IgnoredParameterError || (slice.guessed && error.status === 400);
}
