import { z } from 'zod';
import { amount, day, errorParts, number, range, tableCounts, time } from '../../contract/operation/json-parts.ts';

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
export const plan = z.object({
  requests: number,
  resources: z.array(
    z.object({
      name: z.string().describe('a resource, or `calibration`'),
      requests: number,
      reasons: z.array(z.object({ reason: z.string(), requests: number })),
    }),
  ),
  least: number.describe('lower bound of `requests`'),
  most: number.nullable().describe('upper bound; null if lists that others depend on were never read'),
  skippedDays: number.describe('days that are up to date'),
  unreliable: z.array(z.string()).describe('IDs of brands whose day counts are unreliable'),
  continues: z.boolean().describe('whether the last run left unfinished slices'),
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

/** `endpoints`. */
export const endpoints = z.object({
  endpoints: z.array(
    z.object({
      path: z.string(),
      state: z
        .enum(['declared', 'mirrored', 'available', 'unsupported'])
        .describe(
          '`mirrored`: an inferred declaration covers the endpoint; `available`: none does, and all of its parameters have known values',
        ),
      reason: z.string().nullable().describe('why it is unsupported'),
      resource: z.string().nullable().describe('the resource that stores its items'),
      about: z.string().nullable().describe("its description in the API's document"),
    }),
  ),
  ignored: number.describe('paths beyond 5,000, or with more than 500 characters'),
  unlisted: z.array(z.string()).describe('paths of resources that the document does not list'),
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

/** `calibration`. */
export const calibration = z.object({
  stale: z.boolean().describe('whether the live file has newer data'),
  points: z.array(
    z.object({
      name: z.string(),
      about: z.string().describe('what the specification leaves open'),
      state: z.enum(['determined', 'configured', 'undetermined', 'contradicted']),
      value: z.unknown().describe('the value that is used'),
      text: z.string().describe('the value in words'),
      compared: number.describe("facts of upstream's responses that were compared"),
      agreed: number.describe('compared facts that the value explains'),
      confidence: z
        .number()
        .nullable()
        .describe('lower end of the 95 % Wilson interval of the share of separating facts that the value explains'),
      note: z.string(),
      candidates: z.array(z.object({ value: z.unknown(), text: z.string(), agreed: number })),
      decidedAt: time.nullable(),
    }),
  ),
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

const cost = z.object({
  requests: number,
  retries: number,
  rows: number.describe('rows that upstream sent'),
  inserted: number,
  updated: number,
  deleted: number,
  wasted: number.describe('requests whose page changed nothing'),
  failures: number,
  bytes: number,
  waitedMs: amount,
  requestsPerNewRow: amount.nullable(),
});

const runCost = z.object({
  runId: z.string(),
  kind: z.string(),
  trigger: z.string().nullable(),
  status: z.string(),
  startedAt: time,
  endedAt: time.nullable(),
  durationMs: amount.nullable(),
  error: z.string().nullable(),
  ...cost.shape,
});

/** `runs`. */
export const runs = z.array(runCost);

/** `runs ID`. */
export const run = z.object({
  ...runCost.shape,
  resources: z.array(z.object({ resource: z.string(), ...cost.shape })),
});

/** `state list`. */
export const stateList = z.object({
  resources: z.array(
    z.object({
      resource: z.string(),
      brandId: z.string().nullable(),
      complete: number.describe('completely read slices'),
      unfinished: number.describe('slices with committed pages that are not read to their end'),
      firstDay: day.nullable().describe('first day of completely read slices'),
      lastDay: day.nullable().describe('last day of completely read slices'),
      closedAt: time.nullable().describe('when the last slice was read completely'),
    }),
  ),
});

/** `state reset`. */
export const stateReset = z.object({ slices: number.describe('slices that the next sync reads again') });
