import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Job } from './job.ts';

/** Runs that are kept. */
const RUNS_MAX = 200;
/** A clock that was this far ahead was wrong. */
const AHEAD_MS_MAX = 3_600_000;

const time = z.iso.datetime();
const statusSchema = z.enum(['done', 'partial', 'failed', 'locked', 'interrupted']);
const stepSchema = z.object({
  step: z.string(),
  status: z.enum([...statusSchema.options, 'left out']),
  exitCode: z.int().nullable(),
  durationMs: z.number().nullable(),
  error: z.string().nullable(),
});
const runSchema = z.object({
  job: z.string(),
  /** When it should have begun; null for a run that somebody asked for. */
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
  /** By job: the task that is being performed, or has lost its worker, and its steps that have ended. */
  underWay: z.record(z.string(), z.object({ task: z.string(), steps: z.array(stepSchema) })).default({}),
  runs: z.array(runSchema),
});

/** How a run of a job, or a step of it, ended; by the exit codes of the command line. */
export type JobStatus = z.infer<typeof statusSchema>;
/** A step of a run; `left out` are those after one that failed. */
export type StepRun = z.infer<typeof stepSchema>;
/** A run of a job. */
export type JobRun = z.infer<typeof runSchema>;
type Book = z.infer<typeof bookSchema>;

/** What is known of the jobs of a workspace: up to when each is settled, and how its last runs ended. */
export interface JobBook {
  /**
   * Up to when nothing of a job is owed, epoch milliseconds: since its last run, or since it was first seen with this
   * schedule, which is now where it never was.
   */
  settledThrough(job: Job, nowMs: number): Promise<number>;
  /** Owes nothing of a job up to a moment. */
  settle(job: Job, untilMs: number): Promise<void>;
  /** Returns the steps of a task of a job that have ended, in their order; none if the last task of that job was another one. */
  endedSteps(job: Job, task: string): Promise<readonly StepRun[]>;
  /** Stores which steps of a task have ended, until the run is added: whoever performs the task again does not repeat them. */
  keepSteps(job: Job, task: string, steps: readonly StepRun[]): Promise<void>;
  /** Keeps a run; one that was interrupted, or met another's lock, is still owed. */
  add(job: Job, run: JobRun): Promise<void>;
}

/** Where a workspace's book is. */
export function bookPath(folder: string): string {
  return join(folder, 'jobs.json');
}

/** Reads the last runs of a workspace's jobs, the newest first; none where there is no book, or one that cannot be read. */
export async function readJobRuns(folder: string): Promise<readonly JobRun[]> {
  return (await readBook(bookPath(folder))).runs.toReversed();
}

/** Up to when nothing of each job is owed, epoch milliseconds; jobs that no schedule has seen yet are not in it. */
export async function readSettled(folder: string): Promise<ReadonlyMap<string, number>> {
  const { jobs } = await readBook(bookPath(folder));
  return new Map(Object.entries(jobs).map(([name, { through }]) => [name, Date.parse(through)]));
}

const turns = new Map<string, Promise<unknown>>();

/** The book of a workspace; the file is read at each question, and one process at a time may write it. */
export function openBook(folder: string): JobBook {
  const path = bookPath(folder);
  const change = async (apply: (book: Book) => void): Promise<void> => {
    const turn = (turns.get(path) ?? Promise.resolve()).then(async () => {
      const book = await readBook(path);
      apply(book);
      await replace(path, `${JSON.stringify(book)}\n`);
    });
    turns.set(
      path,
      turn.catch(() => undefined),
    );
    await turn;
  };
  const note = (book: Book, job: Job, untilMs: number): void => {
    book.jobs[job.name] = { schedule: scheduleOf(job), through: new Date(untilMs).toISOString() };
  };
  const settle = (job: Job, untilMs: number): Promise<void> => change((book) => note(book, job, untilMs));
  return {
    settledThrough: async (job, nowMs) => {
      const known = (await readBook(path)).jobs[job.name];
      const through = known?.schedule === scheduleOf(job) ? Date.parse(known.through) : Number.POSITIVE_INFINITY;
      if (through <= nowMs + AHEAD_MS_MAX) return through;
      await settle(job, nowMs);
      return nowMs;
    },
    settle,
    endedSteps: async (job, task) => {
      const known = (await readBook(path)).underWay[job.name];
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

// What cannot be read is begun anew: no job is worth less for it.
async function readBook(path: string): Promise<Book> {
  try {
    return bookSchema.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch {
    return { version: 1, jobs: {}, underWay: {}, runs: [] };
  }
}

async function replace(path: string, text: string): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  try {
    await writeFile(aside, text);
    await rename(aside, path);
  } finally {
    await rm(aside, { force: true });
  }
}
