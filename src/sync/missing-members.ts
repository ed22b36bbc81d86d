import { brandListOf, type Catalogue, type Resource } from '../contract/catalogue.ts';
import type { ResourceTable } from '../contract/tables.ts';
import type { UpstreamError } from '../upstream/errors.ts';
import { readMembers } from '../warehouse/ledger/slice-state.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { type PlanContext, PRIORITY } from './plan/plan-context.ts';
import { type Slice, slicesOf } from './slice.ts';
import type { SyncStats } from './sync-stats.ts';

/** Share of a list's rows, but at least one row, whose detail may return 404 while they are listed. */
const DETAILS_LACKING_SHARE_MAX = 0.5;

/** Decides what a 404 of a brand or of a detail means. */
export interface MissingCheck {
  /**
   * Returns whether the slice's member was deleted: its list no longer contains it. If the list still contains it,
   * upstream lacks the endpoint or contradicts itself.
   */
  isGone(slice: Slice, error: UpstreamError): Promise<boolean>;
  /**
   * Returns whether a listed row may lack its detail, as it may for a while. If most rows of a list do, upstream is at
   * fault.
   */
  mayLackDetail(slice: Slice, error: UpstreamError): Promise<boolean>;
  /** Returns whether `isGone` has found that the brand was deleted. */
  isBrandGone(brandId: string): boolean;
}

/** Dependencies of a check of missing members. */
export interface MissingCheckParts {
  readonly catalogue: Catalogue;
  readonly warehouse: Pick<Warehouse, 'database'>;
}

/** Creates the check of a run; `readAll` reads slices and returns whether all were read. */
export function createMissingCheck(
  { catalogue, warehouse }: MissingCheckParts,
  stats: SyncStats,
  context: PlanContext,
  readAll: (slices: readonly Slice[]) => Promise<boolean>,
): MissingCheck {
  const brands = brandListOf(catalogue);
  const gone = new Set<string>();
  const lists = new Map<string, Promise<Set<string> | null>>();
  const withoutDetail = new Map<string, number>();

  // Reads a list again and returns its members; null if it cannot be read.
  const readAgain = async (list: Resource, brandId: string | null): Promise<Set<string> | null> => {
    const scope = {
      reason: 'a row of the list returned 404',
      priority: PRIORITY.list,
      ...(brandId === null ? {} : { brandId }),
    };
    const slices = slicesOf(list, scope, context.names);
    stats.planned(slices);
    if (!(await readAll(slices))) return null;
    const id = (list.derived[0] as ResourceTable).declaration.key[0] as string;
    const members = await readMembers(warehouse.database, list, brandId, { id });
    return new Set(members.map((member) => member.id));
  };
  // Each list is read again once per run.
  const membersOf = (list: Resource, brandId: string | null): Promise<Set<string> | null> => {
    const key = `${list.name} ${brandId}`;
    const members = lists.get(key) ?? readAgain(list, brandId);
    lists.set(key, members);
    return members;
  };

  return {
    isGone: async (slice, { status }) => {
      if (status !== 404) return false;
      const { change } = catalogue.get(slice.resource);
      const isDetail = change.kind === 'detail';
      const list = isDetail ? catalogue.get(change.of) : brands;
      const member = isDetail ? slice.member : slice.brandId;
      if (list === undefined || member === null || list.name === slice.resource) return false;
      const brandId = isDetail ? slice.brandId : null;
      const members = await membersOf(list, brandId);
      if (members === null || members.has(member)) return false;
      if (list.name === brands.name) gone.add(member);
      return true;
    },
    mayLackDetail: async (slice, { status }) => {
      const { change } = catalogue.get(slice.resource);
      if (status !== 404 || change.kind !== 'detail') return false;
      const list = catalogue.get(change.of);
      const members = await membersOf(list, slice.brandId);
      const key = `${list.name} ${slice.brandId}`;
      const lost = (withoutDetail.get(key) ?? 0) + 1;
      withoutDetail.set(key, lost);
      return list.provides === undefined && lost <= Math.max(1, (members?.size ?? 0) * DETAILS_LACKING_SHARE_MAX);
    },
    isBrandGone: (brandId) => gone.has(brandId),
  };
}
