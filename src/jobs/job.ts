import { z } from 'zod';
import { expandDates } from '../base/date-template.ts';
import { SightlineError, toSightlineError } from '../base/errors.ts';
import type { ValueOf } from '../contract/operation/json-parts.ts';
import { FILE_FORMATS, type FileFormat } from '../publish/snapshot/file-formats.ts';
import { type Cron, parseCron } from './cron-pattern.ts';
import { isTimeZone } from './zone.ts';

/** Default and maximum number of requests of a comparison with upstream. */
export const COMPARE_REQUESTS = { standard: 50, max: 5_000 } as const;

const wholeNumber = (most: number) => z.int().min(1).max(most);
const flag = z.boolean().optional();
const texts = (allowed: string) => z.array(z.string()).min(1).describe(allowed);
const noEmptyText = z.string().min(1).describe('a text that is not empty');

/** Limits of a sync step. The next run resumes where this one stopped. */
export const stepAllowance = z.object({
  maxRequests: wholeNumber(1_000_000_000).optional(),
  maxMinutes: wholeNumber(1_000_000).optional(),
});

// Rejects a template with an unknown part of a time, such as `%q`.
function checkTemplate(text: string, context: z.RefinementCtx<string>): void {
  try {
    expandDates('', text, 0);
  } catch (thrown) {
    context.addIssue({ code: 'custom', message: toSightlineError(thrown).message.trim() });
  }
}

// `stop` skips the remaining steps after a failed one, `go on` runs the next one; default: `stop`. A partial step did not fail.
const common = { onFailure: z.enum(['stop', 'go on']).optional() };

/** The kinds of steps with their settings. */
export const stepKinds = {
  sync: z.object({
    do: z.literal('sync'),
    ...common,
    /** Resources to sync, with their dependencies; default: all. */
    only: texts('a list of resources').optional(),
    full: flag,
    /** Deletes rows that upstream no longer lists, without a limit on their number. */
    acceptDeletions: flag,
    allowance: stepAllowance.optional(),
  }),
  verify: z.object({ do: z.literal('verify'), ...common, fresh: flag, repair: flag }),
  compare: z.object({
    do: z.literal('compare'),
    ...common,
    /** Requests to upstream; default: 50. */
    requests: wholeNumber(COMPARE_REQUESTS.max).optional(),
  }),
  /** Writes a snapshot, or plain files if `output` is set. */
  export: z.object({
    do: z.literal('export'),
    ...common,
    /** Folder of the files, with parts of the time such as `%Y-%m-%d`; each workspace has a folder below it. */
    output: noEmptyText.superRefine(checkTemplate).optional(),
    /** Default: `parquet`. */
    format: z.enum(Object.keys(FILE_FORMATS) as FileFormat[]).optional(),
    /** Default: every table. */
    tables: texts('a list of tables, such as ["responses"]').optional(),
    /** Writes only the changes since the previous export of the same name. */
    since: z.literal('last').optional(),
    /** Name of the position; default: `output`. */
    name: noEmptyText.optional(),
  }),
  load: z.object({
    do: z.literal('load'),
    ...common,
    /** Default: all. */
    destinations: texts('a list of names in the setting destinations').optional(),
  }),
  retention: z.object({ do: z.literal('retention'), ...common }),
  compact: z.object({ do: z.literal('compact'), ...common }),
  check: z.object({ do: z.literal('check'), ...common }),
  report: z.object({ do: z.literal('report'), ...common, weeks: wholeNumber(260).optional() }),
  /** Sends a brief of each brand to the receivers of the event `brief`. */
  brief: z.object({ do: z.literal('brief'), ...common }),
};

/** One step of a job. */
export const step = z.union(Object.values(stepKinds));

/** One step of a job. The kinds are fixed. */
export type Step = ValueOf<typeof step>;

/** A job as a file in jobs/ declares it. */
export interface JobDeclaration {
  readonly name: string;
  /** Place in lists, in ascending order; default: after the others, by file name. */
  readonly position?: number;
  /** Purpose of the job, in one sentence. */
  readonly about: string;
  /** Five fields as in crontab(5). */
  readonly cron: string;
  /** Name in the IANA time zone database; default UTC. */
  readonly timeZone?: string;
  readonly steps: readonly Step[];
  /** If true, one run makes up for runs that were missed, for example while the machine slept. Default true. */
  readonly catchUp?: boolean;
}

/** A validated job with its defaults filled in. */
export interface Job {
  readonly name: string;
  readonly position?: number | undefined;
  readonly about: string;
  readonly cron: Cron;
  readonly timeZone: string;
  readonly steps: readonly Step[];
  readonly catchUp: boolean;
  readonly enabled: boolean;
}

/**
 * Validates a job declaration and fills in the defaults.
 * @throws `config_invalid` for an invalid cron expression, an unknown time zone or an empty list of steps
 */
export function defineJob(declaration: JobDeclaration): Job {
  const { name, position, about, steps, timeZone = 'UTC', catchUp = true } = declaration;
  const cron = parseCron(declaration.cron);
  const refuse = (what: string): SightlineError => new SightlineError('config_invalid', `job ${name}: ${what}`);
  if (typeof cron === 'string') throw refuse(`cron is ${JSON.stringify(declaration.cron)}; ${cron}`);
  if (!isTimeZone(timeZone))
    throw refuse(`timeZone is ${JSON.stringify(timeZone)}; allowed: an IANA time zone such as Europe/Berlin`);
  if (steps.length === 0) throw refuse('steps is empty; allowed: at least one step');
  return { name, position, about, cron, timeZone, steps, catchUp, enabled: true };
}
