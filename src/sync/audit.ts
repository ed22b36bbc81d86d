import type { Catalogue, Resource } from '../contract/catalogue.ts';
import { addDays, daysInRange } from '../contract/time.ts';
import { type Audit, writeAudits } from '../warehouse/audits.ts';
import type { Database } from '../warehouse/database.ts';
import { type Member, readChainsOf } from '../warehouse/state.ts';
import type { Chain } from './chain.ts';
import { coveredBy, type PlanContext } from './context.ts';
import { countDays } from './follow.ts';
import { type PlannedWindows, planAgain, planAudit } from './plan-windows.ts';
import type { Tally, Trouble } from './tally.ts';

/** What the days of a run are audited with. */
export interface AuditParts {
  readonly catalogue: Catalogue;
  readonly database: Database;
  readonly tally: Tally;
  readonly context: PlanContext;
  /** Requests that the run may use; null where that is not limited. */
  readonly maxRequests: number | null;
  /** Reads chains from their first page to their end. */
  read(chains: readonly Chain[]): Promise<void>;
}

/**
 * Holds the days of a brand against upstream's census once the run has read what was due. Days that differ all the same
 * are read once more; what is left of an allowance goes into looking again at what nothing speaks against.
 */
export async function auditWindow(
  parts: AuditParts,
  { resource, brand, planned }: { resource: Resource; brand: Member; planned: PlannedWindows },
): Promise<void> {
  const { database, tally, context, maxRequests } = parts;
  const isDone = (): boolean => tally.allowance === null && tally.failures.length === 0;
  if (planned.unreliable) tally.warned(unreliableCensus(resource, brand));
  let counted = await countDays(parts, resource, brand, context.today);
  const again = planned.unreliable || !isDone() ? [] : planAgain(resource, brand, counted, context);
  if (again.length > 0) {
    await parts.read(again);
    counted = await countDays(parts, resource, brand, context.today);
  }
  let readAt = await readDays(database, resource, brand);
  await keepAudits(parts, resource, brand, counted.days, readAt);
  if (maxRequests === null || !isDone()) return;
  const left = { pages: maxRequests - tally.requests, context };
  const audit = planAudit(resource, brand, counted, readAt, left);
  if (audit.length === 0) return;
  await parts.read(audit);
  const { days } = await countDays(parts, resource, brand, context.today);
  readAt = await readDays(database, resource, brand);
  await keepAudits(parts, resource, brand, days, readAt);
}

async function readDays(database: Database, resource: Resource, brand: Member): Promise<ReadonlyMap<string, number>> {
  return coveredBy(await readChainsOf(database, resource.name, brand.id)).days(resource.name, brand.id);
}

// Days that agree are confirmed. A difference counts as known only where the day was read whole in this run and no longer
// moves: a day that does is read in the next one, and is judged once it has come to rest.
async function keepAudits(
  { database, context }: AuditParts,
  resource: Resource,
  brand: Member,
  days: readonly Audit[],
  readAt: ReadonlyMap<string, number>,
): Promise<void> {
  const { now, today, settleDays } = context;
  const moving = addDays(today, -settleDays);
  const settled = days.filter(({ day, agreed }) => agreed || (day < moving && (readAt.get(day) ?? 0) >= now));
  const [first] = days;
  if (first === undefined) return;
  // Days that neither side has anything of agree as well.
  const known = new Set(days.map(({ day }) => day));
  const every = Array.from({ length: daysInRange(first.day, today) }, (_, index) => addDays(first.day, index));
  const empty = every.filter((day) => !known.has(day));
  const nothing = empty.map((day) => ({ day, agreed: true, upstream: 0, held: 0, figures: '', mark: null }));
  await writeAudits(database, resource.name, brand.id, [...settled, ...nothing], now);
}

function unreliableCensus(resource: Resource, brand: Member): Trouble {
  const message =
    'upstream counts other answers than it lists on most days; the last days are read again instead of those that differ';
  return { chain: `${resource.name} brand=${brand.id}`, code: 'census_unreliable', message };
}
