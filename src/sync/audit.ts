import type { Catalogue, Resource } from '../contract/catalogue.ts';
import { createUsualCheck, isProven, nextRetryAt, RETRIES_MAX } from '../contract/plausibility/completeness.ts';
import { hasDropped, isMassDeletion } from '../contract/plausibility/mass-deletion.ts';
import { addDays, daysInRange, shownTime } from '../contract/time.ts';
import type { ListedBrand } from '../warehouse/brand-list.ts';
import type { Database } from '../warehouse/database.ts';
import { type Audit, type Comparison, writeAudits } from '../warehouse/ledger/audits.ts';
import { toTimestampText } from '../warehouse/ledger/ledger.ts';
import { readRangesOf, readSlicesOf } from '../warehouse/ledger/slice-state.ts';
import { writeUnconfirmedDeletion } from '../warehouse/ledger/unconfirmed-deletions.ts';
import { unconfirmedTrouble } from './confirm-deletions.ts';
import { coveredBy, type PlanContext } from './plan/plan-context.ts';
import { countDays, type NextWindow } from './plan/plan-next.ts';
import { planRereads, REREAD_AFTER_MS, type ReadDays } from './plan/plan-rereads.ts';
import { areMost, newest, planAgain } from './plan/plan-windows.ts';
import type { Slice } from './slice.ts';
import type { SyncStats, Trouble } from './sync-stats.ts';

/** Maximum rounds of reading the days that still differ after the due days were read. */
const ROUNDS_MAX = 3;
/** Days listed in a message; `sightline status` lists all. */
const NAMED_MAX = 5;

/** Dependencies of an audit. */
export interface AuditParts {
  readonly catalogue: Catalogue;
  readonly database: Database;
  readonly runId: string;
  readonly stats: SyncStats;
  readonly context: PlanContext;
  /** Days whose last read in this run lacked rows that upstream counts, with the number of rows. */
  lackingDays(resource: string, brandId: string): ReadonlyMap<string, number>;
  /** Reads slices from their first page to their end. */
  read(slices: readonly Slice[]): Promise<unknown>;
  /** Infers how upstream counts, at most once in a run. */
  calibrate(): Promise<void>;
}

/** A resource of a brand, with its days after the audit. */
type Audited = Pick<NextWindow, 'resource' | 'brand' | 'days'>;

/** The days of a brand's resource, as counted by upstream and as stored. */
interface View {
  readonly days: readonly Comparison[];
  /** Audits of earlier runs. */
  readonly audits: ReadonlyMap<string, Audit>;
  /** Whether the day was read in this run. */
  wasRead(day: string): boolean;
  /** Whether the day is not proven complete. */
  isOpen(day: Comparison): boolean;
  /** Whether the counts of the day differ as they do on many days for good, and its read lacked no stored row. */
  isUsual(day: Comparison): boolean;
}

/**
 * Compares the days of each brand with upstream's day counts after the run has read the due days. Counts and reads
 * unproven days again. The run is partial while such a day has retries left. Returns the windows with day counts of this run.
 */
export async function auditWindows(parts: AuditParts, windows: readonly NextWindow[]): Promise<Audited[]> {
  const audited: Audited[] = [];
  for (const window of windows) {
    const one = await auditWindow(parts, window);
    if (one !== null) audited.push(one);
  }
  return audited;
}

async function auditWindow(parts: AuditParts, window: NextWindow): Promise<Audited | null> {
  const { resource, brand, planned, isCounted } = window;
  const { stats } = parts;
  if (planned.unreliable) stats.warned(unreliableCounts(resource, brand));
  // Without day counts of this run nothing is proven; the failed slice makes the run partial.
  if (!isCounted) return null;
  const read = planned.unreliable ? await viewOf(parts, resource, brand) : await readAgain(parts, window);
  const view = await explain(parts, window, read);
  const audits = await keepAudits(parts, resource, brand, view);
  // A run that used up its allowance is partial anyway, and has not read all due days.
  if (!planned.unreliable && stats.allowance === null) await report(parts, resource, brand, view, audits);
  return { resource, brand, days: view.days };
}

/**
 * Re-reads the least recently read days, and compares them with upstream's day counts. `left` is the number of requests that the limit of
 * the run leaves; null without a limit.
 */
export async function rereadDays(parts: AuditParts, audited: readonly Audited[], left: number | null): Promise<void> {
  const { database, stats, context } = parts;
  const requests = left ?? context.rereads;
  if (requests <= 0 || stats.allowance !== null || stats.failures.length > 0) return;
  const before = left === null ? context.now - REREAD_AFTER_MS : context.now;
  const lists: ReadDays[] = [];
  for (const { resource, brand, days } of audited) {
    const slices = await readSlicesOf(database, resource.name, brand.id);
    lists.push({ resource, brand, days, readAt: coveredBy(slices).days(resource.name, brand.id) });
  }
  const planned = planRereads(lists, { requests, before, context });
  if (planned.size === 0) return;
  await parts.read([...planned.values()].flat());
  for (const { resource, brand } of planned.keys()) {
    await keepAudits(parts, resource, brand, await viewOf(parts, resource, brand));
  }
}

// Reads the day counts and the open days again, as long as that resolves at least one of them.
async function readAgain(parts: AuditParts, { resource, brand, countSlices }: NextWindow): Promise<View> {
  const { stats, context } = parts;
  const names = [resource.name, ...countSlices.map((slice) => slice.resource)].map(
    (name) => `${name} brand=${brand.id} `,
  );
  const mayRead = (): boolean =>
    stats.allowance === null && !stats.failures.some(({ slice }) => names.some((name) => slice.startsWith(name)));
  let view = await viewOf(parts, resource, brand);
  for (let round = 1; round <= ROUNDS_MAX && mayRead(); round++) {
    const differing = toRead(view, context);
    if (differing.length === 0) break;
    await parts.read(
      countSlices.filter(({ from, to }) => differing.some((day) => (from ?? '') <= day && day <= (to ?? ''))),
    );
    if (!mayRead()) break;
    view = await viewOf(parts, resource, brand);
    const open = toRead(view, context);
    const chosen = round === 1 && areMost(open.length, view.days.length) ? newest(open) : open;
    if (chosen.length === 0) break;
    await parts.read(planAgain(resource, brand, chosen, view, context));
    view = await viewOf(parts, resource, brand);
    const { days, isOpen } = view;
    if (!days.some((day) => chosen.includes(day.day) && !isOpen(day))) break;
  }
  return view;
}

// Upstream may count other responses or mentions than those it lists. Days that still differ after they were read show that.
async function explain(parts: AuditParts, { resource, brand }: NextWindow, view: View): Promise<View> {
  if (!view.days.some((day) => view.isOpen(day) && view.wasRead(day.day))) return view;
  await parts.calibrate();
  return viewOf(parts, resource, brand);
}

async function viewOf(parts: AuditParts, resource: Resource, brand: ListedBrand): Promise<View> {
  const { database, runId, context } = parts;
  const { days, audits } = await countDays(parts, resource, brand, context.today);
  const ranges = await readRangesOf(database, runId, resource.name, brand.id);
  const lacking = parts.lackingDays(resource.name, brand.id);
  const wasRead = (day: string): boolean => ranges.some(({ from, to }) => from <= day && day <= to);
  const isOpen = (compared: Comparison): boolean => {
    const { day } = compared;
    const audit = audits.get(day);
    const lacked = audit !== undefined && audit.tries > 0 && audit.agreed && !wasRead(day);
    return !isProven(compared, context.today) || lacking.has(day) || lacked;
  };
  const differsAsUsual = createUsualCheck(
    [...audits.values()].filter(({ agreed, tries }) => !agreed && tries >= RETRIES_MAX),
  );
  const isUsual = (day: Comparison): boolean => !day.agreed && !lacking.has(day.day) && differsAsUsual(day);
  return { days, audits, wasRead, isOpen, isUsual };
}

// Returns the open days, except those whose retry failed or is not due. If any day was resolved, all open days are
// retried.
function toRead({ days, audits, wasRead, isOpen, isUsual }: View, context: PlanContext): string[] {
  const triesOf = ({ day, figures }: Comparison): number => {
    const audit = audits.get(day);
    return audit?.figures === figures ? audit.tries : 0;
  };
  const hasMended = days.some((day) => (audits.get(day.day)?.tries ?? 0) > 0 && wasRead(day.day) && !isOpen(day));
  const isSpent = (day: Comparison): boolean =>
    (triesOf(day) > 0 || (isUsual(day) && wasRead(day.day))) &&
    (wasRead(day.day) || (audits.get(day.day)?.retryAt ?? 0) > context.now);
  return days
    .filter((day) => isAsked(day, context) && isOpen(day) && (hasMended || !isSpent(day)))
    .map(({ day }) => day);
}

function isAsked({ day }: Comparison, { range }: PlanContext): boolean {
  return range === null || (range.from <= day && day <= range.to);
}

// A failed retry counts for the day that was read. If most days are open, the sample counts for all of them.
async function keepAudits(
  { database, context }: AuditParts,
  resource: Resource,
  brand: ListedBrand,
  { days, audits: before, wasRead, isOpen }: View,
): Promise<readonly Audit[]> {
  const { now, today } = context;
  const open = days.filter((day) => isOpen(day) && isAsked(day, context));
  const isSampled = areMost(open.length, days.length) && open.some(({ day }) => wasRead(day));
  const audits = days.map((day): Audit => {
    const earlier = before.get(day.day);
    if (!isOpen(day)) return { ...day, tries: 0, retryAt: null };
    const known = earlier?.figures === day.figures ? earlier : undefined;
    const wasJudged = wasRead(day.day) || (isSampled && open.includes(day));
    // A sampled day does not use up a retry that is not due yet.
    const isWaiting = known !== undefined && !wasRead(day.day) && (known.retryAt ?? 0) > now;
    if (!wasJudged || isWaiting) return { ...day, tries: known?.tries ?? 0, retryAt: known?.retryAt ?? null };
    const tries = (known?.tries ?? 0) + 1;
    return { ...day, tries, retryAt: nextRetryAt(tries, now) };
  });
  const [first] = days;
  if (first === undefined) return audits;
  // Days without rows on either side agree as well.
  const counted = new Set(days.map(({ day }) => day));
  const every = Array.from({ length: daysInRange(first.day, today) }, (_, index) => addDays(first.day, index));
  const empty = every
    .filter((day) => !counted.has(day))
    .map((day): Audit => ({
      day,
      agreed: true,
      upstream: 0,
      stored: 0,
      figures: '',
      mark: null,
      tries: 0,
      retryAt: null,
    }));
  await writeAudits(database, resource.name, brand.id, [...audits, ...empty], now);
  return audits;
}

async function report(
  { database, runId, stats, context, lackingDays }: AuditParts,
  resource: Resource,
  brand: ListedBrand,
  { days, isOpen, isUsual }: View,
  audits: readonly Audit[],
): Promise<void> {
  const slice = { id: `${resource.name} brand=${brand.id}`, resource: resource.name, fixed: { brand_id: brand.id } };
  const lost = [...lackingDays(resource.name, brand.id).values()].reduce((sum, rows) => sum + rows, 0);
  const loss = {
    table: resource.derived[0]?.name ?? resource.name,
    before: days.reduce((sum, day) => sum + day.stored, 0),
    lost,
  };
  if (hasDropped(resource, days) && isMassDeletion(resource, loss)) {
    await database.transaction((session) =>
      writeUnconfirmedDeletion(session, runId, slice, loss, toTimestampText(context.now)),
    );
    stats.unproven(unconfirmedTrouble(slice, loss));
    return;
  }
  const open = days.filter((day) => isOpen(day) && isAsked(day, context)).map(({ day }) => day);
  const differing = audits.filter(({ day }) => open.includes(day));
  const usual = differing.filter((audit) => audit.tries < RETRIES_MAX && isUsual(audit));
  const retried = differing.filter((audit) => audit.tries < RETRIES_MAX && !isUsual(audit));
  const permanent = differing.filter(({ tries }) => tries >= RETRIES_MAX);
  if (retried.length > 0) {
    const next = Math.min(...retried.map(({ retryAt }) => retryAt ?? 0));
    const when = next <= context.now ? 'in the next sync' : `in the first sync after ${shownTime(next)}`;
    stats.unproven({ slice: slice.id, code: 'counts_differ', message: `${daysText(retried)}; retried ${when}` });
  }
  if (usual.length > 0) {
    const message = `${daysText(usual)}, as others do that no retry changed, so the difference is upstream's own`;
    stats.warned({ slice: slice.id, code: 'counts_differ', message });
  }
  if (permanent.length > 0) {
    const message = `${daysText(permanent)}; ${RETRIES_MAX} retries did not change this, so the difference is upstream's own`;
    stats.warned({ slice: slice.id, code: 'counts_differ', message });
  }
}

function daysText(audits: readonly Audit[]): string {
  const named = audits.slice(0, NAMED_MAX).map(({ day, upstream, stored }) => {
    const figures =
      upstream === stored
        ? `${upstream} counted and stored, other figures differ`
        : `${upstream} counted, ${stored} stored`;
    return `${day} (${figures})`;
  });
  const more = audits.length > NAMED_MAX ? ` and ${audits.length - NAMED_MAX} more` : '';
  const what =
    audits.length === 1
      ? "1 day differs from upstream's day counts"
      : `${audits.length} days differ from upstream's day counts`;
  return `${what}: ${named.join(', ')}${more}`;
}

function unreliableCounts(resource: Resource, brand: ListedBrand): Trouble {
  const message =
    "upstream's day counts differ from its lists on most days; the last days are read again instead of the days that differ";
  return { slice: `${resource.name} brand=${brand.id}`, code: 'day_counts_unreliable', message };
}
