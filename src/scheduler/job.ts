import { SightlineError } from '../base/errors.ts';
import type { FileFormat } from '../snapshot/file-formats.ts';
import { type Cron, parseCron } from './cron-pattern.ts';
import { isTimeZone } from './zone.ts';

/** Limits of a sync step. The next run resumes where this one stopped. */
export interface StepAllowance {
  readonly maxRequests?: number;
  readonly maxMinutes?: number;
}

/** Reaction to a failed step: `stop` skips the remaining steps, `go on` runs the next one. */
export type OnFailure = 'stop' | 'go on';

interface Common {
  /** Default `stop`. A partial step does not count as failed. */
  readonly onFailure?: OnFailure;
}

/** One step of a job. The kinds are fixed. */
export type Step = Common &
  (
    | {
        readonly do: 'sync';
        /** Resources to sync, with their dependencies; all if omitted. */
        readonly only?: readonly string[];
        readonly full?: boolean;
        /** Deletes rows that upstream no longer lists, without a limit on their number. */
        readonly acceptDeletions?: boolean;
        readonly allowance?: StepAllowance;
      }
    | { readonly do: 'verify'; readonly fresh?: boolean; readonly repair?: boolean }
    /** Compares responses of upstream with our own; default: 50 requests. */
    | { readonly do: 'compare'; readonly requests?: number }
    | {
        /** Writes a snapshot, or plain files if `output` is set. */
        readonly do: 'export';
        /** Folder of the files, with parts of the time such as `%Y-%m-%d`; each workspace has a folder below it. */
        readonly output?: string;
        /** Default `parquet`. */
        readonly format?: FileFormat;
        /** Default: every table. */
        readonly tables?: readonly string[];
        /** Writes only the changes since the previous export of the same name. */
        readonly since?: 'last';
        /** Name of the position; default: `output`. */
        readonly name?: string;
      }
    /** Loads destinations; default: all. */
    | { readonly do: 'load'; readonly destinations?: readonly string[] }
    | { readonly do: 'retention' }
    | { readonly do: 'compact' }
    | { readonly do: 'check' }
    | { readonly do: 'report'; readonly weeks?: number }
    /** Sends a brief of each brand to the webhooks with the event `brief`. */
    | { readonly do: 'brief' }
  );

/** The kinds of steps, each with its settings besides `do` and `onFailure`. */
export const STEP_KINDS = {
  sync: ['only', 'full', 'acceptDeletions', 'allowance'],
  verify: ['fresh', 'repair'],
  compare: ['requests'],
  export: ['output', 'format', 'tables', 'since', 'name'],
  load: ['destinations'],
  retention: [],
  compact: [],
  check: [],
  report: ['weeks'],
  brief: [],
} as const satisfies Record<Step['do'], readonly string[]>;

/** Default and maximum number of requests of a comparison with upstream. */
export const COMPARE_REQUESTS = { standard: 50, max: 5_000 } as const;

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
