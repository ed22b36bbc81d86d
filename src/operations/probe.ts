import type { Clock } from '../base/clock.ts';
import type { WorkspaceConfig } from '../base/config/config.ts';
import type { ErrorCode } from '../base/errors.ts';
import { itemsOf } from '../contract/body.ts';
import { brandListOf } from '../contract/catalogue.ts';
import type { ResourceTable } from '../contract/tables.ts';
import { toWorkspaceError, UpstreamError } from '../upstream/errors.ts';
import { builtInCatalogue } from '../workspace/catalogues.ts';
import { withClient } from './sync.ts';

/** Upstream's response to one request for the brands of a workspace. */
export interface Asked {
  readonly baseUrl: string;
  readonly items: readonly unknown[];
  /** `date` is upstream's clock and `sentAt` the local clock at the time of the request, in epoch milliseconds. */
  readonly date: number;
  readonly sentAt: number;
  /** Requests per minute that upstream allows. */
  readonly rateLimit: number;
}

/**
 * Requests the brands of the workspace through the budget, without retries, so that a waiting user sees the first error.
 *
 * @throws `UpstreamError`, or the signal's reason if it is aborted.
 */
export async function askOnce(config: WorkspaceConfig, clock: Clock, signal: AbortSignal): Promise<Asked> {
  const opening = brandListOf(builtInCatalogue);
  const failed = new AbortController();
  let sentAt = Number.NaN;
  try {
    return await withClient({ config, clock, signal }, { connections: 1 }, async (client, budget) => {
      const { value, date } = await client.get(
        { path: opening.path, query: opening.ask ?? {} },
        (body) => itemsOf(opening, opening.derived[0] as ResourceTable, body),
        {
          signal: AbortSignal.any([signal, failed.signal]),
          onAttempt: (attempt) => {
            ({ sentAt } = attempt);
            const { error, status } = attempt;
            if (error !== null) failed.abort(new UpstreamError(codeOf(status), error, { status }));
          },
        },
      );
      const { baseUrl } = config.upstream();
      return { baseUrl, items: value ?? [], date: date ?? clock.now(), sentAt, rateLimit: budget.state().limit };
    });
  } catch (thrown) {
    throw toWorkspaceError(thrown);
  }
}

// Codes of errors that the client would retry. Errors that are not retried have their own code.
function codeOf(status: number | null): ErrorCode {
  if (status === null) return 'unreachable';
  return status === 200 ? 'bad_answer' : 'upstream_failed';
}
