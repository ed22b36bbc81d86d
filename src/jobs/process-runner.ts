import { setMaxListeners } from 'node:events';
import { hostname } from 'node:os';
import { type Clock, systemClock } from '../base/clock.ts';
import type { JobLog } from './job-log.ts';
import { nextRun } from './next-run.ts';
import { createTaskList, isOf, type TaskList } from './process-tasks.ts';
import type { Planned, Runner, RunnerState, TaskEnd, WorkOptions } from './runner.ts';
import { keepSchedule } from './schedule.ts';

/** Longest sleep before a task that was put back, and before a schedule that failed is started again. */
const LOOK_EVERY_MS = 60_000;

/** Options of `createProcessRunner`. */
export interface ProcessRunnerOptions {
  /** Returns the job log of a workspace. */
  jobLogOf(workspace: string): JobLog;
  readonly clock?: Clock;
  /** Receives warnings, each as a sentence. */
  readonly say?: (sentence: string) => void;
}

interface Parts extends Required<ProcessRunnerOptions> {
  readonly tasks: TaskList;
  plan: readonly Planned[];
  /** Aborted and replaced when the plan changes. */
  replanned: AbortController;
  worker: (Pick<WorkOptions, 'name' | 'concurrency'> & { readonly sinceMs: number }) | null;
}

/**
 * Creates a runner that keeps its tasks in memory, for one process that schedules and performs all jobs. Runs that are
 * owed when the process ends are read from the job logs at its next start.
 */
export function createProcessRunner(options: ProcessRunnerOptions): Runner {
  const { clock = systemClock, say = () => undefined, jobLogOf } = options;
  const tasks = createTaskList(clock);
  const parts: Parts = { jobLogOf, clock, say, tasks, plan: [], replanned: new AbortController(), worker: null };
  const dueWithin = (ms: number): number => {
    const now = clock.now();
    return parts.plan.filter(({ job }) => (nextRun(job.cron, job.timeZone, now) ?? Infinity) <= now + ms).length;
  };
  return {
    keepSchedules: async (planned, { removes = true } = {}) => {
      const [before, after] = [namesOf(parts.plan), namesOf(planned)];
      const added = planned.filter((one) => !before.has(nameOf(one)));
      const gone = parts.plan.filter((one) => !after.has(nameOf(one)));
      const removed = removes ? gone.length : 0;
      if (added.length > 0 || removed > 0) {
        parts.plan = removes ? planned : [...gone, ...planned];
        parts.replanned.abort();
        parts.replanned = new AbortController();
      }
      return { added: added.length, removed };
    },
    enqueue: async (asked) => {
      const fresh = asked.filter(({ workspace, job }) => !tasks.waiting.some(({ task }) => isOf(task, workspace, job)));
      for (const { workspace, job } of fresh) {
        const task = { id: null, workspace, job, dueMs: null, attempt: 1 };
        tasks.put({ task, sinceMs: clock.now(), notBeforeMs: 0, onEnd: () => undefined });
      }
      return fresh.length;
    },
    work: (work) => workInProcess(parts, work),
    outstanding: async (withinMs) => tasks.waiting.length + tasks.active.length + dueWithin(withinMs),
    state: async () => stateOf(parts),
    recordedFolder: async () => null,
    recordFolder: async (folder) => folder,
    close: async () => undefined,
  };
}

async function workInProcess(parts: Parts, options: WorkOptions): Promise<void> {
  const { tasks, clock } = parts;
  const { signal, concurrency, name, perform } = options;
  parts.worker = { name, concurrency, sinceMs: clock.now() };
  const scheduled = keepAll(parts, signal);
  const running = new Set<Promise<void>>();
  const performNext = async (): Promise<void> => {
    await tasks.next(async (task): Promise<TaskEnd> => {
      try {
        const ended = await perform(task, { signal });
        return ended.kind === 'put back' && signal.aborted ? { ...ended, afterMs: 0 } : ended;
      } catch (thrown) {
        if (signal.aborted) return { kind: 'put back', afterMs: 0 };
        parts.say(`job ${task.job} of ${task.workspace} failed: ${messageOf(thrown)}`);
        throw thrown;
      }
    });
  };
  while (!signal.aborted) {
    const dueInMs = tasks.active.length < concurrency ? tasks.dueInMs() : Infinity;
    // Without a task to wait for, only the schedules decide how long to sleep.
    if (dueInMs > 0) await tasks.changed(dueInMs === Infinity ? null : Math.min(LOOK_EVERY_MS, dueInMs), signal);
    else {
      const run = performNext().finally(() => running.delete(run));
      running.add(run);
    }
  }
  await Promise.all([...running, scheduled]);
  parts.worker = null;
}

// Runs the schedule of every workspace with its own job log. Starts over when the plan changes.
async function keepAll(parts: Parts, signal: AbortSignal): Promise<void> {
  const { clock, jobLogOf, say } = parts;
  while (!signal.aborted) {
    const { plan } = parts;
    const until = AbortSignal.any([signal, parts.replanned.signal]);
    // Every workspace adds listeners.
    setMaxListeners(0, until);
    const keep = async (workspace: string): Promise<void> => {
      const jobs = plan.filter((planned) => planned.workspace === workspace).map(({ job }) => job);
      const run = (job: { readonly name: string }, dueMs: number) =>
        runWhenFree(parts, workspace, job.name, dueMs, until);
      await keepSchedule({ jobs, clock, signal: until, book: jobLogOf(workspace), run }).catch((thrown: unknown) =>
        say(`the jobs of ${workspace} cannot be scheduled: ${messageOf(thrown)}`),
      );
    };
    await Promise.all([...new Set(plan.map(({ workspace }) => workspace))].map(keep));
    if (!until.aborted) await clock.sleep(LOOK_EVERY_MS, until, 'background').catch(() => undefined);
  }
}

// Resolves when the run has ended or `until` is aborted.
function runWhenFree(
  { tasks }: Parts,
  workspace: string,
  job: string,
  dueMs: number,
  until: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    until.addEventListener('abort', () => resolve(), { once: true });
    // A task from before a change of the plan may still exist.
    const isThere = [...tasks.waiting, ...tasks.active].some(({ task }) => isOf(task, workspace, job));
    if (until.aborted || isThere) return resolve();
    tasks.put({
      task: { id: null, workspace, job, dueMs, attempt: 1 },
      sinceMs: dueMs,
      notBeforeMs: 0,
      onEnd: resolve,
    });
  });
}

function stateOf({ tasks, plan, worker, clock }: Parts): RunnerState {
  const now = clock.now();
  const due = plan.flatMap(({ job }) => nextRun(job.cron, job.timeZone, now) ?? []);
  const oldest = tasks.waiting.reduce((first, { sinceMs }) => Math.min(first, sinceMs), Infinity);
  const { active, waiting, ended } = tasks;
  const failed = ended.filter(({ status }) => status === 'failed').length;
  const itself = worker === null ? [] : [worker];
  return {
    counts: { waiting: waiting.length, active: active.length, delayed: due.length, failed },
    schedules: plan.length,
    oldestWaiting: oldest === Infinity ? null : iso(oldest),
    nextDue: due.length === 0 ? null : iso(due.reduce((first, at) => Math.min(first, at))),
    workers: itself.map(({ name, concurrency, sinceMs }) => ({
      name,
      host: hostname(),
      pid: process.pid,
      since: iso(sinceMs),
      seen: iso(now),
      concurrency,
      tasks: active.length,
    })),
    leases: active.map(({ task: { workspace, job }, sinceMs }) => ({
      workspace,
      job,
      worker: worker?.name ?? '',
      since: iso(sinceMs),
      renewed: iso(now),
    })),
    ended: [...ended],
  };
}

function nameOf({ workspace, job }: Planned): string {
  return [workspace, job.name, job.cron.text, job.timeZone, job.catchUp].join('/');
}

function namesOf(plan: readonly Planned[]): ReadonlySet<string> {
  return new Set(plan.map(nameOf));
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
