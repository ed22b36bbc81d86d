import type { Clock } from '../base/clock.ts';
import type { JobLog } from './job-log.ts';
import type { Job } from './job.ts';
import { lastRun, nextRun } from './next-run.ts';

/** Longest sleep. A machine that was asleep, or whose clock was set, is noticed after this time. */
const LOOK_EVERY_MS = 60_000;
/** A run that starts later than this counts as missed. */
const LATE_MS = 300_000;

/** Dependencies of `keepSchedule`. */
export interface ScheduleParts {
  readonly jobs: readonly Job[];
  readonly clock: Clock;
  /** Abort it to stop. The owner of `run` stops active runs; `keepSchedule` waits for them. */
  readonly signal: AbortSignal;
  readonly book: JobLog;
  /** Runs a job that was due at `dueMs` and adds the run to the job log. Must wait until it may run and must not throw. */
  run(job: Job, dueMs: number): Promise<void>;
}

/**
 * Runs jobs when they are due, until the signal is aborted and active runs have ended. However many runs of a job were
 * missed, one run makes up for them; a job without `catchUp` skips them.
 */
export async function keepSchedule({ jobs, clock, signal, book, run }: ScheduleParts): Promise<void> {
  const underWay = new Map<string, Promise<void>>();
  const enabled = jobs.filter((job) => job.enabled);
  const settled = new Map<Job, number>();
  const begin = (job: Job, dueMs: number): void => {
    const ended = run(job, dueMs).finally(() => {
      underWay.delete(job.name);
      settled.delete(job);
    });
    underWay.set(job.name, ended);
  };
  const settledThrough = async (job: Job, now: number): Promise<number> => {
    const known = settled.get(job);
    const through = known !== undefined && known <= now ? known : await book.settledThrough(job, now);
    settled.set(job, through);
    return through;
  };
  try {
    while (!signal.aborted) {
      const now = clock.now();
      let wake = now + LOOK_EVERY_MS;
      for (const job of enabled) {
        if (underWay.has(job.name)) continue;
        const due = lastRun(job.cron, job.timeZone, await settledThrough(job, now), now);
        if (due !== null && (job.catchUp || now - due <= LATE_MS)) begin(job, due);
        else if (due !== null) {
          await book.settle(job, now);
          settled.delete(job);
        }
        wake = Math.min(wake, nextRun(job.cron, job.timeZone, now) ?? wake);
      }
      await clock.sleep(wake - now, signal, 'background').catch(() => undefined);
    }
  } finally {
    // Also after an error, because a caller that starts over must not start these runs a second time.
    await Promise.all(underWay.values());
  }
}

/** Returns the next `limit` due times of all jobs, in order. */
export function upcoming(jobs: readonly Job[], nowMs: number, limit: number): { job: Job; atMs: number }[] {
  const next = jobs
    .filter((job) => job.enabled)
    .flatMap((job) => {
      const found: { job: Job; atMs: number }[] = [];
      for (let at = nextRun(job.cron, job.timeZone, nowMs); at !== null && found.length < limit;) {
        found.push({ job, atMs: at });
        at = nextRun(job.cron, job.timeZone, at);
      }
      return found;
    });
  return next.sort((a, b) => a.atMs - b.atMs).slice(0, limit);
}
