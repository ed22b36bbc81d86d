import { SightlineError } from '../base/errors.ts';
import { type Cron, parseCron } from './cron.ts';
import { isTimeZone } from './zone.ts';

/** What a sync within a job may use at most; the next run goes on. */
export interface StepAllowance {
  readonly maxRequests?: number;
  readonly maxMinutes?: number;
}

/** What happens when a step has failed: the job stops there, or goes on with the next. */
export type OnFailure = 'stop' | 'go on';

interface Common {
  /** Default `stop`. A step that ends partial has not failed. */
  readonly onFailure?: OnFailure;
}

/** One thing that a job does, of a fixed set. */
export type Step = Common &
  (
    | {
        readonly do: 'sync';
        /** Resources, with what they depend on; all where not given. */
        readonly only?: readonly string[];
        readonly full?: boolean;
        /** Deletes rows that upstream no longer lists, however many they are. */
        readonly acceptDeletions?: boolean;
        readonly allowance?: StepAllowance;
      }
    | { readonly do: 'verify'; readonly fresh?: boolean; readonly repair?: boolean }
    | { readonly do: 'export' }
    | { readonly do: 'retention' }
    | { readonly do: 'compact' }
    | { readonly do: 'check' }
    | { readonly do: 'report'; readonly weeks?: number }
  );

/** The kinds of steps there are, each with the settings that it takes beside `do` and `onFailure`. */
export const STEP_KINDS = {
  sync: ['only', 'full', 'acceptDeletions', 'allowance'],
  verify: ['fresh', 'repair'],
  export: [],
  retention: [],
  compact: [],
  check: [],
  report: ['weeks'],
} as const satisfies Record<Step['do'], readonly string[]>;

/** A job as a file in jobs/ declares it. */
export interface JobDeclaration {
  readonly name: string;
  /** One sentence: what it is for. */
  readonly about: string;
  /** Five fields, as crontab(5) has them. */
  readonly cron: string;
  /** Of the IANA database; default UTC. */
  readonly timeZone?: string;
  readonly steps: readonly Step[];
  /** Whether a run that was missed, as while the machine slept, is caught up, once; default true. */
  readonly catchUp?: boolean;
}

/** A job, checked and with its defaults. */
export interface Job {
  readonly name: string;
  readonly about: string;
  readonly cron: Cron;
  readonly timeZone: string;
  readonly steps: readonly Step[];
  readonly catchUp: boolean;
  readonly enabled: boolean;
}

/** Checks a declaration. Throws `config_invalid` for a cron expression or a time zone that is none. */
export function defineJob(declaration: JobDeclaration): Job {
  const { name, about, steps, timeZone = 'UTC', catchUp = true } = declaration;
  const cron = parseCron(declaration.cron);
  const refuse = (what: string): SightlineError => new SightlineError('config_invalid', `job ${name}: ${what}`);
  if (typeof cron === 'string') throw refuse(`cron is ${JSON.stringify(declaration.cron)}; ${cron}`);
  if (!isTimeZone(timeZone)) throw refuse(`timeZone is ${JSON.stringify(timeZone)}, which is none`);
  if (steps.length === 0) throw refuse('it has no steps');
  return { name, about, cron, timeZone, steps, catchUp, enabled: true };
}
