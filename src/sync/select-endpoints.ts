import type { ResourceSelection } from '../base/config/config.ts';
import type { Catalogue } from '../contract/catalogue.ts';
import { shapeOfPath } from '../contract/openapi/references.ts';
import type { PlanContext } from './plan/plan-context.ts';
import type { Slice } from './slice.ts';
import type { SyncStats } from './sync-stats.ts';

/** An endpoint as the settings select it. */
export interface SelectedEndpoint {
  readonly name: string;
  readonly path: string;
  /** Whether no declaration describes it. */
  readonly generic: boolean;
}

/** Returns the function that tells whether the settings select an endpoint. */
export function createSelection(selection: ResourceSelection | undefined): (endpoint: SelectedEndpoint) => boolean {
  const included = selection?.include?.map(toPattern);
  const excluded = (selection?.exclude ?? []).map(toPattern);
  const matches = ({ name, path }: SelectedEndpoint, patterns: readonly RegExp[]): boolean =>
    patterns.some((pattern) => pattern.test(shapeOfPath(path)) || pattern.test(name));
  return (endpoint) => {
    if (matches(endpoint, excluded) || (endpoint.generic && selection?.requests === 0)) return false;
    return !endpoint.generic || included === undefined || matches(endpoint, included);
  };
}

// `*` stands for any characters, and the names of path parameters do not matter.
function toPattern(text: string): RegExp {
  const parts = shapeOfPath(text)
    .split('*')
    .map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`);
}

/** Limits the requests of a run for undeclared endpoints. */
export interface RequestLimit {
  /** Orders slices so that those of undeclared endpoints that were read longest ago come first. */
  ordered(slices: readonly Slice[], covered: PlanContext['covered']): readonly Slice[];
  /** Returns whether a slice may be read; counts its expected requests. */
  admits(slice: Slice): boolean;
  /** Counts a sent request. */
  sent(slice: Slice): void;
  /**
   * Call it before each page.
   *
   * @throws RequestsUsedUp if the requests are used up, because lists are longer than expected
   */
  check(slice: Slice): void;
  /** Adds a warning if slices were left for the next run. */
  close(): void;
}

/** A list has more pages than the limit allows. */
export class RequestsUsedUp extends Error {
  override readonly name = 'RequestsUsedUp';
}

/** Creates the limit of a run; without `max` all slices are read. */
export function createRequestLimit(catalogue: Catalogue, max: number | undefined, stats: SyncStats): RequestLimit {
  let asked = 0;
  let sent = 0;
  let left = 0;
  const isGeneric = ({ resource }: Slice): boolean => catalogue.get(resource).generic === true;
  return {
    ordered: (slices, covered) => {
      const readAt = ({ id }: Slice): number => covered.closed(id)?.closedAt ?? 0;
      if (!slices.some(isGeneric)) return slices;
      return slices.toSorted((a, b) => (isGeneric(a) && isGeneric(b) ? readAt(a) - readAt(b) : 0));
    },
    admits: (slice) => {
      if (max === undefined || !isGeneric(slice)) return true;
      if (Math.max(asked, sent) + slice.expected > max) {
        left += 1;
        return false;
      }
      asked += slice.expected;
      return true;
    },
    sent: (slice) => {
      if (isGeneric(slice)) sent += 1;
    },
    check: (slice) => {
      if (max === undefined || sent < max || !isGeneric(slice)) return;
      const message = `the rest of the list was not read: resources.requests is ${max}; set it higher, or exclude the list`;
      throw new RequestsUsedUp(message);
    },
    close: () => {
      if (left === 0) return;
      const lists = left === 1 ? '1 list of undeclared endpoints was' : `${left} lists of undeclared endpoints were`;
      const message = `${lists} left for the next sync: resources.requests is ${max}`;
      stats.warned({ slice: 'openapi', code: 'plan_too_large', message });
    },
  };
}
