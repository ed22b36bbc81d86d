import { type Catalogue, detailsOf } from '../contract/catalogue.ts';
import type { ResourceTable } from '../contract/tables.ts';
import type { TableLoss } from '../plausibility/mass-deletion.ts';
import type { Client } from '../upstream/client.ts';
import { UpstreamError } from '../upstream/errors.ts';
import type { HeldRows } from '../warehouse/write/page-commit.ts';
import type { RequestLog } from './request-log.ts';
import { type ParameterNames, type Slice, slicesOf } from './slice.ts';
import type { SyncStats, Trouble } from './sync-stats.ts';

/** Limit of members of a list that are checked one by one for existence. */
const MEMBERS_ASKED_MAX = 20;

/** Dependencies of `confirmDeletions`. */
export interface DeletionParts {
  readonly catalogue: Catalogue;
  readonly client: Client;
  readonly signal: AbortSignal;
  readonly stats: SyncStats;
  readonly log: RequestLog;
}

/**
 * Confirms a mass deletion that a list implies, because the list may be truncated, and any deletion from numbered pages: reads the list again with `readAgain`,
 * and then without a guard if each lost member returns 404. Rows that stay are a failure of the run.
 */
export async function confirmDeletions<T extends { readonly held: readonly HeldRows[] }>(
  parts: DeletionParts,
  chain: Slice,
  first: T,
  names: ParameterNames,
  readAgain: (chain: Slice) => Promise<T>,
): Promise<T> {
  if (chain.guard === null || chain.guard.counts !== null || first.held.length === 0) return first;
  let result = await readAgain({ ...chain, guard: { ...chain.guard, isRepeated: true } });
  if (result.held.length > 0 && (await areGone(parts, chain, result.held, names))) {
    result = await readAgain({ ...chain, guard: null });
  }
  for (const { table, before, lost } of result.held) parts.stats.unproven(heldTrouble(chain, { table, before, lost }));
  return result;
}

// Returns whether each held member of a list returns 404.
async function areGone(
  { catalogue, client, signal, log }: DeletionParts,
  chain: Slice,
  held: readonly HeldRows[],
  names: ParameterNames,
): Promise<boolean> {
  const resource = catalogue.get(chain.resource);
  const [detail] = detailsOf(catalogue, resource.name);
  const [loss] = held;
  if (resource.provides === undefined || detail === undefined || loss === undefined) return false;
  if (loss.lost === loss.before || loss.lost > MEMBERS_ASKED_MAX) return false;
  const table = resource.derived[0] as ResourceTable;
  for (const key of loss.keys) {
    const member = String(key[table.declaration.key[0] as string]);
    const scope = { member, reason: 'existence check', priority: 0 };
    const [asked] = slicesOf(detail, scope, names) as [Slice];
    const isGone = await log(asked, async (_requests, onAttempt) => {
      try {
        await client.get({ path: asked.path, query: {}, route: detail.path }, () => null, { signal, onAttempt });
        return false;
      } catch (thrown) {
        if (!(thrown instanceof UpstreamError)) throw thrown;
        return thrown.status === 404;
      }
    });
    if (!isGone) return false;
  }
  return true;
}

/** Returns the failure of a run that held back a mass deletion. */
export function heldTrouble({ id }: Pick<Slice, 'id'>, { table, before, lost }: TableLoss): Trouble {
  const message =
    `upstream no longer lists ${lost} of ${before} stored rows of ${table}; they stay. ` +
    'If upstream deleted them, run `sightline sync --accept-deletions`';
  return { chain: id, code: 'deletions_held', message };
}
