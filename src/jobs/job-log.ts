import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { STATUSES_WORST_FIRST } from '../base/ending.ts';
import { replaceFile } from '../base/files.ts';
import { layoutOf } from '../publish/snapshot/layout.ts';
import type { Job } from './job.ts';

/** Runs kept in the job log; older ones are dropped. */
const RUNS_MAX = 200;
/** A stored time further in the future than this comes from a wrong clock and is ignored. */
const AHEAD_MS_MAX = 3_600_000;

const time = z.iso.datetime();
const statusSchema = z.enum(STATUSES_WORST_FIRST);
/** A step of a run. */
export const stepSchema = z.object({
  step: z.string(),
  status: z.enum([...statusSchema.options, 'left out']),
  exitCode: z.int().nullable(),
  durationMs: z.number().nullable(),
  error: z.string().nullable(),
});
/** A run of a job. */
export const runSchema = z.object({
  job: z.string(),
  /** When the run was due; null for a run that was requested by hand. */
  dueAt: time.nullable(),
  startedAt: time,
  endedAt: time,
  status: statusSchema,
  exitCode: z.int(),
  steps: z.array(stepSchema),
});
const bookSchema = z.object({
  version: z.literal(1),
  jobs: z.record(z.string(), z.object({ schedule: z.string(), through: time })),
  /** By job name: the task that is in progress or has lost its worker, and the steps of it that have ended. */
  underWay: z.record(z.string(), z.object({ task: z.string(), steps: z.array(stepSchema) })).default({}),
  runs: z.array(runSchema),
});

/** A step of a run. `left out`: not run, because an earlier step failed or the run was interrupted. */
export type StepRun = z.infer<typeof stepSchema>;
/** A run of a job, as the job log stores it. */
export type JobRun = z.infer<typeof runSchema>;
type JobLogFile = z.infer<typeof bookSchema>;

/** The job log of a workspace: up to when each job is settled, and its last runs. */
export interface JobLog {
  /**
   * Returns the time up to which no run of a job is owed, epoch milliseconds: the start of its last run, or the first
   * time it was seen with this schedule. A job that is not in the log is settled at `nowMs`.
   */
  settledThrough(job: Job, nowMs: number): Promise<number>;
  /** Records that no run of a job is owed up to `untilMs`. */
  settle(job: Job, untilMs: number): Promise<void>;
  /** Returns the ended steps of a task, in order. Empty if the job's last task was another one. */
  endedSteps(job: Job, task: string): Promise<readonly StepRun[]>;
  /** Stores the ended steps of a task until its run is added, so that a worker that repeats the task skips them. */
  keepSteps(job: Job, task: string, steps: readonly StepRun[]): Promise<void>;
  /** Adds a run. A run that was interrupted, or that found the warehouse locked, is still owed. */
  add(job: Job, run: JobRun): Promise<void>;
}

/** Reads the last runs of a workspace's jobs, newest first. Empty if the job log is missing or unreadable. */
export async function readJobRuns(folder: string): Promise<readonly JobRun[]> {
  return (await readJobLog(layoutOf(folder).jobLog)).runs.toReversed();
}

/**
 * Returns, by job name, the time up to which no run is owed, epoch milliseconds. Jobs that were never scheduled are
 * missing.
 */
export async function readSettled(folder: string): Promise<ReadonlyMap<string, number>> {
  const { jobs } = await readJobLog(layoutOf(folder).jobLog);
  return new Map(Object.entries(jobs).map(([name, { through }]) => [name, Date.parse(through)]));
}

const lastWrites = new Map<string, Promise<unknown>>();

/** Opens the job log of a workspace. Every call reads the file. Only one process at a time may write it. */
export function openJobLog(folder: string): JobLog {
  const path = layoutOf(folder).jobLog;
  const change = async (apply: (book: JobLogFile) => void): Promise<void> => {
    const write = (lastWrites.get(path) ?? Promise.resolve()).then(async () => {
      const book = await readJobLog(path);
      apply(book);
      await replaceFile(path, `${JSON.stringify(book)}\n`);
    });
    lastWrites.set(
      path,
      write.catch(() => undefined),
    );
    await write;
  };
  const note = (book: JobLogFile, job: Job, untilMs: number): void => {
    book.jobs[job.name] = { schedule: scheduleOf(job), through: new Date(untilMs).toISOString() };
  };
  const settle = (job: Job, untilMs: number): Promise<void> => change((book) => note(book, job, untilMs));
  return {
    settledThrough: async (job, nowMs) => {
      const known = (await readJobLog(path)).jobs[job.name];
      const through = known?.schedule === scheduleOf(job) ? Date.parse(known.through) : Number.POSITIVE_INFINITY;
      if (through <= nowMs + AHEAD_MS_MAX) return through;
      await settle(job, nowMs);
      return nowMs;
    },
    settle,
    endedSteps: async (job, task) => {
      const known = (await readJobLog(path)).underWay[job.name];
      return known?.task === task ? known.steps : [];
    },
    keepSteps: (job, task, steps) =>
      change((book) => {
        book.underWay[job.name] = { task, steps: [...steps] };
      }),
    add: (job, run) =>
      change((book) => {
        book.runs = [...book.runs, run].slice(-RUNS_MAX);
        const isOwed = run.status === 'interrupted' || run.status === 'locked';
        if (isOwed) return;
        note(book, job, Date.parse(run.startedAt));
        delete book.underWay[job.name];
      }),
  };
}

function scheduleOf({ cron, timeZone }: Job): string {
  return `${cron.text} ${timeZone}`;
}

// An unreadable job log is replaced by an empty one, because losing it must not stop any job.
async function readJobLog(path: string): Promise<JobLogFile> {
  try {
    return bookSchema.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch {
    return { version: 1, jobs: {}, underWay: {}, runs: [] };
  }
}
