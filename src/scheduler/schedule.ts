import type { Clock } from '../base/clock.ts';
import type { JobBook } from './book.ts';
import type { Job } from './job.ts';
import { lastRun, nextRun } from './next.ts';

/** Longest sleep: a machine that slept itself, or whose clock was set, is noticed after this. */
const LOOK_EVERY_MS = 60_000;
/** A run that begins this much later was missed. */
const LATE_MS = 300_000;

/** What a schedule is kept with. */
export interface ScheduleParts {
  readonly jobs: readonly Job[];
  readonly clock: Clock;
  /** Aborted to stop; runs under way are told by `run`'s owner, and waited for. */
  readonly signal: AbortSignal;
  readonly book: JobBook;
  /** Runs a job that was due at a moment, and keeps the run in the book; takes care of its turn, and does not throw. */
  run(job: Job, dueMs: number): Promise<void>;
}

/**
 * Runs jobs when they are due, until the signal is aborted and what is under way has ended. However many runs of a job were
 * missed, one makes up for them; of a job that catches nothing up, none does.
 */
export async function keepSchedule({ jobs, clock, signal, book, run }: ScheduleParts): Promise<void> {
  const underWay = new Map<string, Promise<void>>();
  const enabled = jobs.filter((job) => job.enabled);
  const begin = (job: Job, dueMs: number): void => {
    const ended = run(job, dueMs).finally(() => underWay.delete(job.name));
    underWay.set(job.name, ended);
  };
  while (!signal.aborted) {
    const now = clock.now();
    let wake = now + LOOK_EVERY_MS;
    for (const job of enabled) {
      const through = await book.settledThrough(job, now);
      const due = lastRun(job.cron, job.timeZone, through, now);
      if (due !== null && !underWay.has(job.name)) {
        if (job.catchUp || now - due <= LATE_MS) begin(job, due);
        else await book.settle(job, now);
      }
      wake = Math.min(wake, nextRun(job.cron, job.timeZone, now) ?? wake);
    }
    await clock.sleep(wake - now, signal).catch(() => undefined);
  }
  await Promise.all(underWay.values());
}

/** When jobs are due next, in that order; `limit` moments at most. */
export function upcoming(jobs: readonly Job[], nowMs: number, limit: number): { job: Job; atMs: number }[] {
  const next = jobs
    .filter((job) => job.enabled)
    .flatMap((job) => {
      const found: { job: Job; atMs: number }[] = [];
      for (let at = nextRun(job.cron, job.timeZone, nowMs); at !== null && found.length < limit; ) {
        found.push({ job, atMs: at });
        at = nextRun(job.cron, job.timeZone, at);
      }
      return found;
    });
  return next.sort((a, b) => a.atMs - b.atMs).slice(0, limit);
}
