import { z } from 'zod';
import { day, errorParts, number, range, time } from '../../contract/operation/json-parts.ts';
import { difference } from '../../metrics/verification/comparison.ts';
import { rangeVerification } from '../../metrics/verification/verify-ranges.ts';
import { differingQuestion } from '../../operations/compare/compare-question.ts';
import { syncResult } from '../../sync/run-sync.ts';

/** `sync`: result of a run. */
export const sync = syncResult.extend({
  error: errorParts.describe('the error that ended the run early').optional(),
});

/** A line of `sync --all`: the result of a workspace, or only its error. */
export const syncOfWorkspace = z.object({ workspace: z.string(), ...sync.partial().shape });

const differingDay = z.object({ day, upstream: number, stored: number, differences: z.array(difference) });

/** `verify`. */
export const verify = z.object({
  agrees: z.boolean(),
  brands: z.array(
    z.object({
      brandId: z.string(),
      name: z.string().nullable(),
      verifiedThrough: day.nullable(),
      days: z.object({ verified: number, agree: number, unreported: number }),
      differing: z.array(differingDay),
      settling: z.array(differingDay).describe('days that were still open when their report was read'),
      ranges: z.array(rangeVerification),
    }),
  ),
  repair: z.object({ ranges: z.array(z.object({ brandId: z.string(), ...range.shape })), requests: number }).nullable(),
  error: errorParts.optional(),
});

/** `compare`. */
export const compare = z.object({
  at: time,
  seed: number,
  requests: number,
  compared: number.describe('equal and differing responses'),
  equal: number,
  skipped: number.describe('differences that newer data at upstream may explain'),
  differing: z.array(differingQuestion),
  error: errorParts.optional(),
});

/** `state reset`. */
export const stateReset = z.object({ slices: number.describe('slices that the next sync reads again') });
