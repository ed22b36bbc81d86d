import { z } from 'zod';
import { error, errorParts, number, time } from '../../contract/operation/json-parts.ts';
import { runSchema, stepSchema } from '../../jobs/job-log.ts';
import { step } from '../../jobs/job.ts';
import { brief } from '../../metrics/explain/brief-result.ts';
import { flaw } from '../../warehouse/file/integrity.ts';
import { unconfirmedDeletion } from '../../warehouse/ledger/unconfirmed-deletions.ts';
import { load, plainFiles, report, snapshot } from './files-json.ts';
import { compare, sync, verify } from './sync-json.ts';

const stepResult = z.union([
  sync,
  verify,
  compare,
  snapshot,
  plainFiles,
  z
    .object({ deletions: z.array(unconfirmedDeletion), error: errorParts })
    .describe('an export that awaits confirmation of deletions'),
  report,
  load,
  z.object({ briefs: z.array(brief) }).describe('what happened to each brand'),
  z.object({ deleted: z.array(z.string()) }).describe('IDs of snapshots that retention deleted'),
  z.object({ before: number, after: number }).describe('bytes of the warehouse before and after compaction'),
  z.object({ flaws: z.array(flaw), error: errorParts.optional() }).describe('invalid rows'),
  error,
]);

/** `jobs run`. */
export const jobsRun = z.object({
  ...runSchema.shape,
  steps: z.array(
    z.object({ ...stepSchema.shape, result: stepResult.nullable().describe('output of the command with `--json`') }),
  ),
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
    last: runSchema.nullable(),
  }),
);

/** `jobs next`. */
export const jobsNext = z.array(z.object({ job: z.string(), at: time, timeZone: z.string() }));
