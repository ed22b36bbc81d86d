import { z } from 'zod';

// Members that several outputs share. Objects accept further members, because outputs only grow.

/** The value that a schema describes. */
export type ValueOf<S extends z.ZodType> = DeepReadonly<z.infer<S>>;

type DeepReadonly<T> = T extends readonly (infer E)[]
  ? readonly DeepReadonly<E>[]
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T;

/** A number of things. */
export const number = z.int().nonnegative();

/** A duration in milliseconds, or another number that is not negative. */
export const amount = z.number().nonnegative();

export const time = z.string().meta({ format: 'date-time', description: 'ISO 8601, UTC' });

export const day = z.string().meta({ format: 'date', description: 'YYYY-MM-DD, UTC' });

/** When the data of a result were read, and whether they are complete. */
export const freshness = {
  asOf: time.nullable().describe('when the data were last read from upstream; null if never'),
  completeTo: day.nullable().describe('last day up to which responses were read completely; null if unknown'),
  partial: z.boolean().describe('whether days of the range, or of the earlier period, were not read completely'),
};

/** Rows of a table by what happened to them. */
export const rowCounts = z.object({
  read: number.describe('rows that upstream sent'),
  inserted: number,
  updated: number,
  deleted: number.describe('rows marked as deleted'),
});

/** Row counts by table. */
export const tableCounts = z.record(z.string(), rowCounts);

export const fileCounts = z.object({ files: number, bytes: number });

/** An error of the error table. */
export const errorParts = z.object({
  code: z.string().describe('a code that `sightline help --errors` lists'),
  message: z.string(),
  hint: z.string().describe('the next step'),
  parameter: z.string().describe('the parameter that is wrong').optional(),
  allowed: z.string().describe('what is allowed instead').optional(),
});

export const error = z.object({ error: errorParts });

/** Ranges of days, both included. */
export const range = z.object({ from: day, to: day });
