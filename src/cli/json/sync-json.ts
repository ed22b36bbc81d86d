import { z } from 'zod';
import { amount, day, errorParts, number, range, tableCounts, time } from '../../contract/operation/json-parts.ts';
import { syncPlan } from '../../sync/plan/estimate.ts';

const trouble = z.object({
  chain: z.string().describe('the slice, such as `responses` of a brand and a range of days'),
  code: z.string(),
  message: z.string(),
});

/** `sync`: result of a run. */
export const sync = z.object({
  runId: z.string(),
  status: z.enum(['complete', 'partial', 'failed', 'interrupted']),
  requests: number,
  retries: number,
  waitedMs: amount,
  tables: tableCounts,
  quarantined: number,
  failures: z.array(trouble).describe('unfinished slices; the next run reads them again'),
  warnings: z.array(trouble),
  drift: z
    .object({
      unknownFields: number,
      vanishedFields: number,
      changedTypes: number,
      newValues: number,
      implausibleValues: number,
      newParameters: number,
      newEndpoints: number,
    })
    .describe('drift that no earlier run has found')
    .optional(),
  allowance: z.string().nullable().describe('why the run ended early if a limit was reached'),
  left: number.describe('known requests left for the next run'),
  error: errorParts.describe('the error that ended the run early').optional(),
});

/** A line of `sync --all`: the result of a workspace, or only its error. */
export const syncOfWorkspace = z.object({ workspace: z.string(), ...sync.partial().shape });

/** `plan`. */
export const plan = syncPlan.extend({
  asked: number.describe('requests that planning took'),
  probes: z
    .array(
      z.object({
        resource: z.string(),
        brandId: z.string(),
        query: z.record(z.string(), z.string()).describe('parameters by their declared names'),
        reason: z.string(),
        points: z.array(z.string()).describe('points that the response may decide'),
      }),
    )
    .describe(
      'questions of calibration, which a sync asks if it changes data: at most `calibration.probes`, once and again after a contradiction; empty before the first sync',
    ),
  perMinute: amount.describe('requests per minute that the budget allows'),
  minutes: amount,
  doneAt: time,
});

const difference = z.object({
  measure: z.string(),
  subject: z.string(),
  upstream: z.number().nullable(),
  held: z.number().nullable().describe('computed from the stored rows'),
});
const differingDay = z.object({ day, upstream: number, held: number, differences: z.array(difference) });

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
      ranges: z.array(
        z.object({
          report: z.string(),
          ...range.shape,
          compared: number.describe('rows that could be compared'),
          status: z.enum(['agrees', 'differs', 'settling']),
          differences: z.array(difference),
        }),
      ),
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
  differing: z.array(
    z.object({
      resource: z.string(),
      brandId: z.string().nullable(),
      member: z.string().nullable(),
      page: z.int().describe('number of the page, from 1'),
      query: z.record(z.string(), z.string()),
      convention: z.string().nullable().describe('the point and value with which both responses would be equal'),
      differences: z.array(
        z.object({
          field: z.string(),
          kind: z.enum(['value', 'order', 'missing row', 'extra row', 'missing field', 'extra field']),
          upstream: z.unknown(),
          own: z.unknown(),
        }),
      ),
    }),
  ),
  error: errorParts.optional(),
});

/** `replay`. */
export const replay = z.object({
  status: z.enum(['complete', 'partial']),
  path: z.string(),
  replaced: z.boolean().describe("whether the new file has replaced the workspace's warehouse"),
  kept: z.string().nullable().describe('path of the replaced warehouse'),
  missing: z.array(z.object({ table: z.string(), rows: number })).describe('rows that the new file lacks'),
  files: number,
  pages: number,
  skipped: number,
  tables: tableCounts,
  quarantined: number,
  damages: z.array(z.object({ file: z.string(), position: number, page: z.string().nullable(), message: z.string() })),
});

/** `state reset`. */
export const stateReset = z.object({ slices: number.describe('slices that the next sync reads again') });
