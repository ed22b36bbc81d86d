import type { Resource } from '../../contract/catalogue.ts';
import type { Piece } from '../../contract/plausibility/range-totals.ts';
import { addDays, daysInRange, eachDay, laterDay } from '../../contract/time.ts';
import type { ListedBrand } from '../../warehouse/brand-list.ts';
import { type BrandTotals, RECENT_TOTALS_DAYS } from '../../warehouse/ledger/reported-totals.ts';
import { type DayRange, type Slice, slicesOf } from '../slice.ts';
import { lastDay, type PlanContext, PRIORITY } from './plan-context.ts';

/** Days that are requested one by one, because their total first would save nothing. */
const SINGLE_DAYS_MAX = 3;

/** The totals of a brand's report, and the requests that this run has sent for them. All of these have been answered. */
export interface TotalsState {
  readonly resource: Resource;
  readonly brand: ListedBrand;
  readonly totals: BrandTotals;
  /** Ids of the slices that this run has planned. */
  readonly asked: ReadonlySet<string>;
}

/** Returns the days whose totals a run completes: the requested days, or the last 30 days. */
export function recentTotals({ brand, totals }: TotalsState, context: PlanContext): DayRange {
  const { range, full, now } = context;
  const first = laterDay(totals.first, brand.since ?? totals.first);
  const recent = full ? first : addDays(totals.days(now), 1 - RECENT_TOTALS_DAYS);
  return { from: laterDay(range?.from ?? recent, first), to: lastDay(context, totals.days) };
}

/** Returns the days before `recent` whose totals are unknown, as ranges, newest first. */
export function olderTotals(state: TotalsState, recent: DayRange, context: PlanContext): DayRange[] {
  const { brand, totals } = state;
  const from = laterDay(totals.first, brand.since ?? totals.first);
  return gapsOf(state, { from, to: addDays(recent.from, -1) }, context).toReversed();
}

/**
 * Plans the next requests for the unknown totals of the days in a range. A range of unknown days is requested as a whole.
 * If its total is zero, its days are known. Otherwise its first half is requested and the second half follows by
 * subtraction, once upstream's totals have been seen to add up. Until then both halves are requested. If they do not add
 * up, every day is requested.
 */
export function planTotals(state: TotalsState, range: DayRange, context: PlanContext, isBackfill = false): Slice[] {
  const { totals } = state;
  const { additive } = totals.resolved;
  // If the whole report shows no rows and a total of zero again, that answers for each day.
  const isEmpty = totals.rowDays.length === 0 && totals.resolved.day(totals.first)?.isDerived === true;
  const make = (part: DayRange, expected: number): Slice[] => {
    const isRange = part.from !== part.to;
    const slices = slicesOf(
      state.resource,
      {
        brandId: state.brand.id,
        range: part,
        expected,
        least: isRange || !isEmpty ? 1 : 0,
        ...(isRange ? { most: daysInRange(part.from, part.to) + 1 } : {}),
        reason: reasonOf(part, movingDay(totals, context), isBackfill),
        priority: isBackfill ? PRIORITY.backfill : PRIORITY.day,
        includesNext: true,
        background: isBackfill,
      },
      context.names,
    );
    return slices.filter(({ id }) => !state.asked.has(id));
  };
  const singles = (part: DayRange): Slice[] =>
    [...eachDay(part.from, part.to)].flatMap((day) => make({ from: day, to: day }, 1));

  const planPiece = (piece: Piece): Slice[] => {
    const length = daysInRange(piece.from, piece.to);
    const middle = addDays(piece.from, Math.floor(length / 2) - 1);
    const [first, second] = [
      { from: piece.from, to: middle },
      { from: addDays(middle, 1), to: piece.to },
    ];
    if (length === 1 || (!piece.isKnown && length <= SINGLE_DAYS_MAX)) return singles(piece);
    let slices: Slice[];
    if (!piece.isKnown) slices = make(piece, costOf(piece, totals));
    else if (additive === 'shown') slices = make(first, length - 1);
    // The sum of the days proves more than that of the halves.
    else if (additive === 'weak') return singles(piece);
    else
      slices = [
        ...make(first, daysInRange(first.from, first.to)),
        ...make(second, daysInRange(second.from, second.to)),
      ];
    // The response had no usable number.
    return slices.length === 0 ? singles(piece) : slices;
  };

  return gapsOf(state, range, context).flatMap((gap) => {
    if (gap.from === gap.to || additive === 'contradicted') return singles(gap);
    return totals.resolved.pieces(gap.from, gap.to, context.now).flatMap(planPiece);
  });
}

// The first day that may still change.
function movingDay({ days }: BrandTotals, { now, settleDays }: PlanContext): string {
  return addDays(days(now), -settleDays);
}

// Days that still change are requested one by one. A range of days before the first row is probably empty, so it is
// separate from the days after it.
function gapsOf({ totals }: TotalsState, { from, to }: DayRange, context: PlanContext): DayRange[] {
  const moving = movingDay(totals, context);
  const [firstRow] = totals.rowDays;
  const gaps: { from: string; to: string }[] = [];
  for (const day of eachDay(from, to)) {
    if (!isUnknown(day, day >= moving, totals, context)) continue;
    const gap = gaps.at(-1);
    if (gap !== undefined && addDays(gap.to, 1) === day && day < moving && day !== firstRow) gap.to = day;
    else gaps.push({ from: day, to: day });
  }
  return gaps;
}

function isUnknown(
  day: string,
  isMoving: boolean,
  { resolved, days }: BrandTotals,
  { full, now }: PlanContext,
): boolean {
  const known = resolved.day(day);
  if (known === undefined) return true;
  // A moving day is requested in every run, unless the range that contains it is zero.
  if (isMoving) return !known.isDerived || known.readAt < now;
  return full ? known.readAt < now : days(Math.min(known.readAt, now)) <= day;
}

/** Expected requests: the total of the range, and its days if it has rows. One more shows whether totals add up. */
export function costOf({ from, to }: DayRange, { resolved, rowDays }: BrandTotals): number {
  const hasRows = rowDays.some((day) => from <= day && day <= to);
  return hasRows ? daysInRange(from, to) + (resolved.additive === 'shown' ? 0 : 1) : 1;
}

function reasonOf({ from, to }: DayRange, moving: string, isBackfill: boolean): string {
  if (isBackfill) return 'totals of older days, in the background';
  if (from !== to) return 'totals of a range of days';
  return from >= moving ? 'totals of a recent day' : 'totals of a day';
}
