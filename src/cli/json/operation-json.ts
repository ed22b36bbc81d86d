import { z } from 'zod';
import { amount, day, error, errorParts, number, time } from '../../contract/operation/json-parts.ts';
import { plainFiles, report, snapshot } from './files-json.ts';
import { compare, sync, verify } from './sync-json.ts';

const stepRun = z.object({
  step: z.string(),
  status: z.enum(['interrupted', 'failed', 'locked', 'partial', 'done', 'left out']),
  exitCode: z.int().nullable(),
  durationMs: amount.nullable(),
  error: z.string().nullable(),
});

const jobRun = z.object({
  job: z.string(),
  dueAt: time.nullable().describe('null for a run that was requested by hand'),
  startedAt: time,
  endedAt: time,
  status: z.enum(['interrupted', 'failed', 'locked', 'partial', 'done']),
  exitCode: z.int(),
  steps: z.array(stepRun),
});

const heldDeletion = z.object({
  resource: z.string(),
  brandId: z.string().nullable(),
  table: z.string(),
  before: number,
  lost: number,
  heldAt: time,
});

const part = z.object({ resource: z.string(), brandId: z.string().nullable() });
const freshness = z.object({
  asOf: time.nullable().describe('every part was read completely at this time or later'),
  oldest: part.nullable(),
  neverRead: z.array(part),
  neverReadCount: number,
  unresolved: z
    .object({ runId: z.string(), status: z.string(), startedAt: time, error: z.string().nullable() })
    .nullable()
    .describe('the newest sync that did not read everything'),
});

const level = z.enum(['good', 'busy', 'attention', 'problem']);
const verdictOfWorkspace = z.object({
  level,
  sentence: z.string(),
  findings: z.array(
    z.object({
      level,
      about: z.enum(['replica', 'data', 'jobs', 'keys']),
      sentence: z.string(),
      command: z.string().nullable().describe('the command that helps'),
      consequences: z.array(z.string()),
    }),
  ),
});

const progress = z.object({
  command: z.string(),
  pid: z.int(),
  host: z.string().optional(),
  startedAt: time,
  updatedAt: time,
  requests: number,
  retries: number,
  waitedMs: amount,
  rows: number,
  done: number,
  expected: number,
  secondsToGo: amount,
  budget: z.object({ limit: amount, capacity: amount, left: amount }),
  resources: z.array(z.object({ name: z.string(), done: number, expected: number, rows: number, failed: number })),
});

const workspaceData = z.object({
  lastRun: z
    .object({
      runId: z.string(),
      status: z.string(),
      startedAt: time,
      endedAt: time.nullable(),
      durationMs: amount.nullable(),
      requests: number,
      error: z.string().nullable(),
    })
    .nullable(),
  freshness,
  resources: z.array(
    z.object({
      resource: z.string(),
      readAt: time.nullable(),
      gaps: z.array(z.object({ brandId: z.string(), from: day, to: day })),
      gapDays: number,
      gapBrands: z.array(z.object({ brandId: z.string(), days: number })),
      oldestRead: z
        .object({ brandId: z.string(), day, at: time })
        .nullable()
        .describe('the least recently read day that has items'),
      unfinished: number,
      generic: z.literal(true).optional().describe('set if its declaration was inferred'),
    }),
  ),
  brands: z.array(
    z.object({
      brandId: z.string(),
      name: z.string().nullable(),
      verifiedThrough: day.nullable(),
      verifiedAt: time.nullable(),
      differingDays: number,
    }),
  ),
  quarantined: number,
  drift: z.array(
    z.object({
      resource: z.string(),
      path: z.string(),
      kind: z.string(),
      detail: z.string().nullable(),
      count: number,
      firstSeenAt: time,
      isNew: z.boolean(),
    }),
  ),
  unlearned: z
    .array(z.object({ name: z.string(), note: z.string().nullable() }))
    .describe('conventions that no known value explains'),
  comparison: z
    .object({
      at: time,
      compared: number,
      equal: number,
      skipped: number,
      differing: z.array(z.string()).describe('differing fields with their resource'),
    })
    .nullable()
    .describe('the last comparison of responses with upstream'),
  key: z.object({
    state: z.enum(['accepted', 'refused', 'unknown']),
    lastRefusal: z.object({ status: z.int(), at: time }).nullable(),
  }),
  differing: z
    .array(
      z.object({
        resource: z.string(),
        brandId: z.string(),
        day,
        counted: number.describe("upstream's count"),
        stored: number,
        tries: number,
        isPermanent: z.boolean(),
        nextRetryAt: time.nullable(),
      }),
    )
    .describe("days whose rows differ from upstream's count"),
  heldDeletions: z.array(heldDeletion),
  backfill: z
    .array(z.object({ resource: z.string(), days: number, requestsPerSync: number }))
    .describe('older days whose totals are unknown'),
});

/** `status`. */
export const status = z.object({
  workspace: z.string(),
  folder: z.string(),
  owner: z.object({ pid: z.int(), command: z.string(), since: time, host: z.string().nullable() }).nullable(),
  asOf: time.nullable(),
  stale: z.boolean().describe('whether the live file has newer data'),
  bytes: z.object({ warehouse: number, copy: number, snapshots: number, all: number }),
  jobs: z.array(jobRun).describe('the last run of each job'),
  verdict: verdictOfWorkspace,
  progress: progress.nullable().describe('the running sync'),
  data: workspaceData.nullable().describe('null before the first sync has ended'),
});

/** A line of `status --all`. */
export const statusOfWorkspace = z.union([status, z.object({ workspace: z.string(), error: errorParts })]);

const verdict = z.enum(['ok', 'warning', 'failure']);

/** `doctor`; with `--all` a line per workspace. */
export const doctor = z.object({
  workspace: z.string().nullable().describe('null for the checks that need no workspace'),
  status: verdict,
  checks: z.array(
    z.object({
      check: z.string(),
      status: verdict,
      message: z.string(),
      advice: z.string().nullable(),
      fixed: z.boolean(),
    }),
  ),
});

const flaw = z.object({
  table: z.string(),
  kind: z.enum(['repeated key', 'no parent', 'several open versions', 'gap or overlap of versions']),
  count: number,
});

const stepResult = z.union([
  sync,
  verify,
  compare,
  snapshot,
  plainFiles,
  z
    .object({ held: z.array(heldDeletion), error: errorParts })
    .describe('an export that awaits confirmation of deletions'),
  report,
  z.object({ deleted: z.array(z.string()) }).describe('IDs of snapshots that retention deleted'),
  z.object({ before: number, after: number }).describe('bytes of the warehouse before and after compaction'),
  z.object({ flaws: z.array(flaw), error: errorParts.optional() }).describe('invalid rows'),
  error,
]);

/** `jobs run`. */
export const jobsRun = z.object({
  ...jobRun.shape,
  steps: z.array(
    z.object({ ...stepRun.shape, result: stepResult.nullable().describe('output of the command with `--json`') }),
  ),
});

const flag = z.boolean().optional();

/** A step of a job with its settings. */
const step = z.object({
  do: z.enum(['sync', 'verify', 'compare', 'export', 'retention', 'compact', 'check', 'report']),
  onFailure: z.enum(['stop', 'go on']).optional(),
  only: z.array(z.string()).optional(),
  full: flag,
  acceptDeletions: flag,
  allowance: z.object({ maxRequests: z.number().optional(), maxMinutes: z.number().optional() }).optional(),
  fresh: flag,
  repair: flag,
  weeks: z.number().optional(),
  requests: z.int().optional().describe('requests of the step `compare`'),
});

/** `jobs list`. */
export const jobsList = z.array(
  z.object({
    name: z.string(),
    about: z.string(),
    cron: z.string(),
    timeZone: z.string(),
    enabled: z.boolean(),
    catchUp: z.boolean(),
    steps: z.array(step),
    next: time.nullable(),
    last: jobRun.nullable(),
  }),
);

/** `jobs next`. */
export const jobsNext = z.array(z.object({ job: z.string(), at: time, timeZone: z.string() }));

/** `notify`. */
export const notify = z.object({
  targets: z.array(
    z.object({
      urlVariable: z.string(),
      format: z.string(),
      events: z.array(z.string()),
      staleHours: z.number(),
      isSigned: z.boolean(),
      waiting: number.describe('messages that could not be delivered yet'),
    }),
  ),
  troubles: z.array(z.object({ what: z.string(), since: time })),
});

/** `notify --test`. */
export const notifyTest = z.array(
  z.object({
    urlVariable: z.string(),
    format: z.string(),
    isDelivered: z.boolean(),
    mayRetry: z.boolean(),
    attempts: number,
    status: z.int().nullable().describe('HTTP status of the response'),
    said: z.string(),
  }),
);
