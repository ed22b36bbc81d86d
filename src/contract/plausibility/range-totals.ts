import { addDays, DAY_MS, eachDay } from '../time.ts';

/** Days before the day of a read that may still change, because late items and corrections arrive in them. */
export const SETTLE_DAYS = 2;
/** Reads of ranges at most this far apart, and at most a day in all, describe the same state of upstream. */
const SAME_STATE_MS = 3_600_000;
const SAME_STATE_MS_MAX = DAY_MS;

/**
 * Least sum of all parts but the largest that proves that totals add up. If almost everything falls into one part, or the
 * numbers are small, unique counts add up as well.
 */
const PROVING_SUM_MIN = 10;

/** Totals of a range of days, as upstream reported them at `readAt`, one value per declared field. */
export interface ReportedTotals {
  readonly from: string;
  readonly to: string;
  readonly readAt: number;
  readonly values: readonly (number | null)[];
}

/** Totals of one day: reported, or derived from reported ranges by subtraction. */
export interface DayTotals {
  readonly readAt: number;
  readonly values: readonly (number | null)[];
  readonly isDerived: boolean;
}

/** A part of a range of days. `values` are its totals if they are known; its days are not. */
export interface Piece {
  readonly from: string;
  readonly to: string;
  readonly isKnown: boolean;
}

/** What upstream's reported totals of ranges say about days and other ranges. */
export interface ResolvedTotals {
  /**
   * Whether totals add up over days: `shown` if the total of a range equalled the sum of its parts, `contradicted` if the
   * last comparison failed, `weak` if the parts are too small to prove it, `unknown` without a comparison. Only shown
   * totals are subtracted.
   */
  readonly additive: 'shown' | 'contradicted' | 'weak' | 'unknown';
  /** Totals of a day; undefined if they are neither reported nor derivable. */
  day(day: string): DayTotals | undefined;
  /**
   * Totals of a range, from the totals of its days and of reported ranges inside it. Null if they do not cover the range.
   * A reported total of the exact range takes precedence if totals do not add up.
   */
  range(from: string, to: string): readonly (number | null)[] | null;
  /** Splits a range into parts whose totals the reads of the last hour give, and other parts. */
  pieces(from: string, to: string, now: number): Piece[];
}

/** Settings of `resolveTotals`. */
export interface ResolveOptions {
  /** Whether a range has rows besides its totals. A range without totals and without rows is empty. */
  hasRows(from: string, to: string): boolean;
}

/**
 * Derives the totals of days from the reported totals of ranges. A day follows by subtraction if the ranges were read at
 * about the same time, after their days had settled, if all numbers are integers, and if upstream's own numbers have
 * shown that totals add up. A range whose totals are zero is zero on each day.
 */
export function resolveTotals(reported: readonly ReportedTotals[], options: ResolveOptions): ResolvedTotals {
  const reads = reported.map((read) => ({ ...read, values: valuesOf(read, options) }));
  const groups = groupByTime(reads).map(graphOf);
  const judged = groups.filter(({ additive }) => additive === 'shown' || additive === 'contradicted').at(-1);
  const additive = judged?.additive ?? groups.at(-1)?.additive ?? 'unknown';
  const days = new Map<string, DayTotals>();
  for (const { from, to, readAt, values } of reads.toSorted((a, b) => a.readAt - b.readAt)) {
    const isZero = values.every((value) => value === 0) && additive !== 'contradicted';
    if (from !== to && !isZero) continue;
    for (const day of eachDay(from, to)) days.set(day, { readAt, values, isDerived: from !== to });
  }
  if (additive === 'shown') {
    for (const { edges, positions } of groups) {
      const readAt = Math.max(...edges.map((edge) => edge.readAt));
      for (const [day, values] of positions?.days() ?? []) {
        if ((days.get(day)?.readAt ?? 0) < readAt && !isReportedIn(edges, day))
          days.set(day, { readAt, values, isDerived: true });
      }
    }
  }
  return {
    additive,
    day: (day) => days.get(day),
    range: (from, to) => {
      const exact = newest(reads.filter((read) => read.from === from && read.to === to))?.values ?? null;
      if (additive === 'contradicted' && exact !== null) return exact;
      const inside = reads.filter((read) => read.from >= from && read.to <= to);
      return sumOver(from, to, inside, days) ?? exact;
    },
    pieces: (from, to, now) => {
      const last = groups.at(-1);
      const isCurrent =
        last !== undefined && Math.max(0, ...last.edges.map(({ readAt }) => readAt)) >= now - SAME_STATE_MS;
      return isCurrent && last.positions !== null ? piecesOf(from, to, last.positions) : [{ from, to, isKnown: false }];
    },
  };
}

// Null totals of a range without rows mean that there was nothing to report.
function valuesOf({ from, to, values }: ReportedTotals, { hasRows }: ResolveOptions): readonly (number | null)[] {
  if (!values.every((value) => value === null)) return values;
  return hasRows(from, to) ? values : values.map(() => 0);
}

type Read = ReportedTotals;

function groupByTime(reads: readonly Read[]): Read[][] {
  const groups: Read[][] = [];
  for (const read of reads.toSorted((a, b) => a.readAt - b.readAt)) {
    const group = groups.at(-1);
    const [first, last] = [group?.[0], group?.at(-1)];
    const isSame =
      first !== undefined &&
      last !== undefined &&
      read.readAt - last.readAt <= SAME_STATE_MS &&
      read.readAt - first.readAt <= SAME_STATE_MS_MAX;
    if (isSame) group?.push(read);
    else groups.push([read]);
  }
  return groups;
}

interface Graph {
  readonly edges: readonly Read[];
  readonly additive: ResolvedTotals['additive'];
  /** Null if two reads contradict each other. */
  readonly positions: Positions | null;
}

// A total of a range is a difference between two positions on the scale of running totals: the start of its first day,
// and the start of the day after its last one.
function graphOf(reads: readonly Read[]): Graph {
  const edges = reads.filter(
    ({ to, readAt, values }) => startOf(to) + (1 + SETTLE_DAYS) * DAY_MS <= readAt && values.every(isExact),
  );
  const positions = createPositions(edges[0]?.values.length ?? 0);
  let additive: ResolvedTotals['additive'] = 'unknown';
  const ordered = edges.toSorted((a, b) => startOf(a.to) - startOf(a.from) - (startOf(b.to) - startOf(b.from)));
  for (const { from, to, values } of ordered) {
    const known = positions.between(from, addDays(to, 1));
    if (known === null) positions.connect(from, addDays(to, 1), values as number[]);
    else if (known.some((value, index) => value !== values[index]))
      return { edges, additive: 'contradicted', positions: null };
    else if (positions.isProof(from, addDays(to, 1))) additive = 'shown';
    else if (additive === 'unknown' && values.some((value) => value !== 0)) additive = 'weak';
  }
  if (!positions.spreadZeros()) return { edges, additive: 'contradicted', positions: null };
  return { edges, additive, positions };
}

function isExact(value: number | null): boolean {
  return value !== null && Number.isSafeInteger(value) && value >= 0;
}

/** Running totals at the starts of days, as far as reported totals connect them. */
interface Positions {
  /** Difference of the running totals at two starts of days; null if they are not connected. */
  between(a: string, b: string): readonly number[] | null;
  connect(a: string, b: string, values: readonly number[]): void;
  /** Whether the connected parts between two starts are large enough to prove that totals add up. */
  isProof(a: string, b: string): boolean;
  /** Connects the days within ranges of zero. Returns false if a day within one is not zero or a day is negative. */
  spreadZeros(): boolean;
  /** Connected starts of days, in order, with the connected component of each. */
  starts(): readonly { readonly day: string; readonly component: string }[];
  /** Days whose start and end are connected, with their totals. */
  days(): [string, readonly number[]][];
}

function createPositions(fields: number): Positions {
  const zero = new Array<number>(fields).fill(0);
  /** By start of a day: the representative of its component, and the difference from it. */
  const nodes = new Map<string, { root: string; offset: readonly number[] }>();
  /** By representative: the starts of days in its component. */
  const components = new Map<string, string[]>();
  const nodeOf = (day: string) => nodes.get(day) ?? { root: day, offset: zero };
  const between: Positions['between'] = (a, b) => {
    const [start, end] = [nodeOf(a), nodeOf(b)];
    return start.root === end.root ? end.offset.map((value, index) => value - (start.offset[index] ?? 0)) : null;
  };
  const connect: Positions['connect'] = (a, b, values) => {
    const [start, end] = [nodeOf(a), nodeOf(b)];
    nodes.set(a, start);
    const members = components.get(start.root) ?? [a];
    components.set(start.root, members);
    // Moves the component of `b` to that of `a`.
    const shift = values.map((value, index) => (start.offset[index] ?? 0) + value - (end.offset[index] ?? 0));
    for (const day of components.get(end.root) ?? [b]) {
      const offset = nodeOf(day).offset.map((value, index) => value + (shift[index] ?? 0));
      nodes.set(day, { root: start.root, offset });
      members.push(day);
    }
    components.delete(end.root);
  };
  const starts = () =>
    [...nodes].map(([day, { root }]) => ({ day, component: root })).sort((a, b) => (a.day < b.day ? -1 : 1));
  const neighbours = (): [string, string, readonly number[]][] => {
    const last = new Map<string, string>();
    return starts().flatMap(({ day, component }): [string, string, readonly number[]][] => {
      const before = last.get(component);
      last.set(component, day);
      return before === undefined ? [] : [[before, day, between(before, day) ?? zero]];
    });
  };
  return {
    between,
    connect,
    isProof: (a, b) => {
      const root = nodeOf(a).root;
      const inside = starts().filter(({ day, component }) => component === root && a <= day && day <= b);
      const parts = inside.slice(1).map(({ day }, index) => between(inside[index]?.day ?? a, day) ?? zero);
      return zero.every((_, field) => {
        const values = parts.map((part) => part[field] ?? 0);
        return values.reduce((sum, value) => sum + value, 0) - Math.max(0, ...values) >= PROVING_SUM_MIN;
      });
    },
    spreadZeros: () => {
      for (const [from, to, values] of neighbours()) {
        if (values.some((value) => value < 0)) return false;
        if (values.some((value) => value !== 0)) continue;
        for (const day of eachDay(addDays(from, 1), addDays(to, -1))) {
          const known = between(from, day);
          if (known === null) connect(from, day, zero);
          else if (known.some((value) => value !== 0)) return false;
        }
      }
      return neighbours().every(([, , values]) => values.every((value) => value >= 0));
    },
    starts,
    days: () => neighbours().flatMap(([from, to, values]) => (addDays(from, 1) === to ? [[from, values]] : [])),
  };
}

function piecesOf(from: string, to: string, positions: Positions): Piece[] {
  const end = addDays(to, 1);
  const starts = positions.starts().filter(({ day }) => from <= day && day <= end);
  const pieces: Piece[] = [];
  for (let start = from; start < end;) {
    const own = starts.find(({ day }) => day === start)?.component;
    const known = own === undefined ? undefined : starts.find(({ day, component }) => day > start && component === own);
    // An unknown part ends where a known one starts.
    const next = starts.find(
      ({ day, component }) =>
        day > start && (day === end || starts.some((other) => other.day > day && other.component === component)),
    );
    const stop = known?.day ?? next?.day ?? end;
    pieces.push({ from: start, to: addDays(stop, -1), isKnown: known !== undefined });
    start = stop;
  }
  return pieces;
}

// Extends the covered part of the range by days, and by the reported ranges `inside` where a day is missing.
function sumOver(
  from: string,
  to: string,
  inside: readonly Read[],
  days: ReadonlyMap<string, DayTotals>,
): readonly (number | null)[] | null {
  const end = addDays(to, 1);
  const reached = new Map<string, readonly (number | null)[]>([[from, []]]);
  for (let at = from; at < end; at = addDays(at, 1)) {
    const sum = reached.get(at);
    if (sum === undefined) continue;
    const own = days.get(at);
    const steps = own === undefined ? inside.filter((read) => read.from === at) : [{ to: at, values: own.values }];
    for (const step of steps) {
      const next = addDays(step.to, 1);
      reached.set(
        next,
        step.values.map((value, index) => plus(sum[index] ?? null, value)),
      );
    }
  }
  return reached.get(end) ?? null;
}

function plus(a: number | null, b: number | null): number | null {
  return a === null && b === null ? null : (a ?? 0) + (b ?? 0);
}

function isReportedIn(edges: readonly Read[], day: string): boolean {
  return edges.some(({ from, to }) => from === day && to === day);
}

function newest(reads: readonly Read[]): Read | undefined {
  return reads.toSorted((a, b) => b.readAt - a.readAt)[0];
}

function startOf(day: string): number {
  return Date.parse(`${day}T00:00:00Z`);
}
