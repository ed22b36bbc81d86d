import { isDeepStrictEqual } from 'node:util';
import { type Catalogue, detailsOf } from '../contract/catalogue.ts';
import type { TableLoss } from '../contract/plausibility/mass-deletion.ts';
import type { ResourceTable } from '../contract/tables.ts';
import type { Client } from '../upstream/client.ts';
import { UpstreamError } from '../upstream/errors.ts';
import type { UnconfirmedRows } from '../warehouse/write/page-commit.ts';
import type { RequestLog } from './request-log.ts';
import { type ParameterNames, type Slice, slicesOf } from './slice.ts';
import type { SyncStats, Trouble } from './sync-stats.ts';

/** Limit of members of a list that are checked one by one for existence. */
const MEMBERS_ASKED_MAX = 20;

/** Maximum number of reads of a list that keeps changing. */
const READS_MAX = 4;

/** Dependencies of `confirmDeletions`. */
export interface DeletionParts {
  readonly catalogue: Catalogue;
  readonly client: Client;
  readonly signal: AbortSignal;
  readonly stats: SyncStats;
  readonly log: RequestLog;
}

/**
 * Confirms deletions that a list implies but does not prove: a mass deletion, because the list may be truncated, and any deletion
 * from several pages, because the list may have changed in between. Reads the list with `readAgain` until two reads lack the same rows,
 * and then without a guard if each lost member returns 404. Rows that stay are a failure of the run.
 */
export async function confirmDeletions<T extends { readonly unconfirmed: readonly UnconfirmedRows[] }>(
  parts: DeletionParts,
  slice: Slice,
  first: T,
  names: ParameterNames,
  readAgain: (slice: Slice) => Promise<T>,
): Promise<T> {
  const { guard } = slice;
  if (guard === null || guard.counts !== null) return first;
  let result = first;
  let isSame = false;
  for (let reads = 1; result.unconfirmed.length > 0 && !isSame && reads < READS_MAX; reads += 1) {
    const lackedBefore = keysOf(result.unconfirmed);
    result = await readAgain({ ...slice, guard: { ...guard, lackedBefore } });
    isSame = isDeepStrictEqual(keysOf(result.unconfirmed), lackedBefore);
  }
  if (result.unconfirmed.length > 0 && (await areGone(parts, slice, result.unconfirmed, names))) {
    result = await readAgain({ ...slice, guard: null });
  }
  for (const { table, before, lost } of result.unconfirmed)
    parts.stats.unproven(unconfirmedTrouble(slice, { table, before, lost }));
  return result;
}

function keysOf(unconfirmed: readonly UnconfirmedRows[]): Record<string, string[]> {
  return Object.fromEntries(
    unconfirmed.map(({ table, keys }) => [table, keys.map((key) => JSON.stringify(key)).sort()]),
  );
}

// Returns whether each member with an unconfirmed deletion returns 404.
async function areGone(
  { catalogue, client, signal, log }: DeletionParts,
  slice: Slice,
  unconfirmed: readonly UnconfirmedRows[],
  names: ParameterNames,
): Promise<boolean> {
  const resource = catalogue.get(slice.resource);
  const [detail] = detailsOf(catalogue, resource.name);
  const [loss] = unconfirmed;
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

/** Returns the failure of a run with an unconfirmed mass deletion. */
export function unconfirmedTrouble({ id }: Pick<Slice, 'id'>, { table, before, lost }: TableLoss): Trouble {
  const message =
    `upstream no longer lists ${lost} of ${before} stored rows of ${table}; they stay. ` +
    'If upstream deleted them, run `sightline sync --accept-deletions`';
  return { slice: id, code: 'deletions_unconfirmed', message };
}
