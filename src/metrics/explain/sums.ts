/**
 * Sums over the responses with data on a measure: sample units of a ratio estimate `y / x`. For visibility, y is 1 if the response
 * mentions the brand and x is 1. For owned citations, y is the citations of own pages and x all citations of the response.
 */
export interface Sums {
  /** Responses with data on the measure. */
  readonly n: number;
  readonly y: number;
  readonly x: number;
  readonly yy: number;
  readonly xy: number;
  readonly xx: number;
}

/** The responses of one engine to one prompt in both periods. A null is a value that upstream did not send. */
export interface Cell {
  readonly promptId: string | null;
  readonly engine: string | null;
  readonly before: Sums;
  readonly after: Sums;
}

/** The sums of one group of responses in both periods. */
export type Sides = Pick<Cell, 'before' | 'after'>;

/** The sums of no responses. */
export const noSums: Sums = { n: 0, y: 0, x: 0, yy: 0, xy: 0, xx: 0 };

/** Adds sums. */
export function addSums(all: readonly Sums[]): Sums {
  const total = { ...noSums };
  for (const { n, y, x, yy, xy, xx } of all) {
    total.n += n;
    total.y += y;
    total.x += x;
    total.yy += yy;
    total.xy += xy;
    total.xx += xx;
  }
  return total;
}

/** Adds both sides of cells. */
export function addSides(cells: readonly Sides[]): Sides {
  return { before: addSums(cells.map(({ before }) => before)), after: addSums(cells.map(({ after }) => after)) };
}

/** Subtracts the sums of a part from the sums of the whole. */
export function without(whole: Sums, part: Sums): Sums {
  return {
    n: whole.n - part.n,
    y: whole.y - part.y,
    x: whole.x - part.x,
    yy: whole.yy - part.yy,
    xy: whole.xy - part.xy,
    xx: whole.xx - part.xx,
  };
}

/** Returns the value of the measure, `y / x`; null without data. */
export function ratioOf({ y, x }: Sums): number | null {
  return x === 0 ? null : y / x;
}

/** The value of the measure in both periods, null without data, and the responses with data. */
export interface ComparedValues {
  readonly before: number | null;
  readonly after: number | null;
  readonly nBefore: number;
  readonly nAfter: number;
}

/** Returns the values of both periods. */
export function valuesOf({ before, after }: Sides): ComparedValues {
  return { before: ratioOf(before), after: ratioOf(after), nBefore: before.n, nAfter: after.n };
}

/** Returns the sum of `(y - value * x) ^ 2`. Rounding may make the sum of squares negative. */
export function squaredResiduals({ yy, xy, xx }: Sums, value: number): number {
  return Math.max(0, yy - 2 * value * xy + value * value * xx);
}
