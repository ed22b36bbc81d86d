import { writeFile } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import { DONE, type Ending, endingOfError } from '../../src/base/ending.ts';
import { type ErrorCode, EXIT, SightlineError } from '../../src/base/errors.ts';
import { type JobRun, openJobLog, readJobRuns } from '../../src/jobs/job-log.ts';
import { defineJob, type Job, type Step } from '../../src/jobs/job.ts';
import { runJob } from '../../src/jobs/run-job.ts';
import { keepSchedule, upcoming } from '../../src/jobs/schedule.ts';
import { layoutOf } from '../../src/publish/snapshot/layout.ts';
import { temporaryFolder } from '../support/folders.ts';

const HOUR_MS = 3_600_000;

/** The simulated life of a process that runs a schedule. */
interface Life {
  readonly from: string;
  readonly until: string;
  /** The machine sleeps from the first of each pair until the second. */
  readonly asleep?: readonly (readonly [string, string])[];
  /** Exit code of each run; 0 if omitted. */
  readonly exitCode?: (job: string, at: string) => number;
  /** The process dies in the middle of the run that starts at this time. */
  readonly diesIn?: string;
  readonly tookMs?: number;
}

/** Runs a schedule through simulated days and returns when each job started. */
async function live(folder: string, jobs: readonly Job[], life: Life): Promise<string[]> {
  const stop = new AbortController();
  const began: string[] = [];
  let now = Date.parse(life.from);
  let stepEndsAt = now;
  const asleep = (life.asleep ?? []).map((pair) => pair.map((time) => Date.parse(time)) as [number, number]);
  const clock: Clock = {
    now: () => now,
    monotonic: () => now,
    random: () => 0.5,
    sleep: async (ms) => {
      // Time passes only while a step is under way or after active runs are in the job log.
      let areLogged = false;
      void Promise.all(underWay).then(() => (areLogged = true));
      while (!areLogged && now >= stepEndsAt) await setImmediate();
      now += ms;
      now = asleep.find(([from, until]) => now >= from && now < until)?.[1] ?? now;
      if (now >= Date.parse(life.until)) stop.abort(new Error('over'));
    },
  };
  const book = openJobLog(folder);
  const underWay: Promise<void>[] = [];
  const begin = async (job: Job, dueMs: number): Promise<void> => {
    const at = new Date(now).toISOString().slice(5, 16);
    began.push(`${job.name} ${at}`);
    if (life.diesIn === at) {
      stop.abort(new Error('killed'));
      return;
    }
    const exitCode = life.exitCode?.(job.name, at) ?? 0;
    const perform = async () => {
      stepEndsAt = now + (life.tookMs ?? 0);
      while (now < stepEndsAt && !stop.signal.aborted) await setImmediate();
      return endingOf(exitCode);
    };
    await book.add(job, await runJob(job, { clock, signal: new AbortController().signal, dueMs, perform }));
  };
  const run = (job: Job, dueMs: number): Promise<void> => {
    const ended = begin(job, dueMs);
    underWay.push(ended);
    return ended;
  };
  await keepSchedule({ jobs, clock, signal: stop.signal, book, run });
  return began;
}

/** The ending of a step that the command line would report with this exit code. */
function endingOf(exitCode: number): Ending {
  if (exitCode === EXIT.done) return DONE;
  if (exitCode === EXIT.partial) return { ...DONE, status: 'partial' };
  const codes: Record<number, ErrorCode> = {
    [EXIT.failed]: 'unreachable',
    [EXIT.usage]: 'usage',
    [EXIT.locked]: 'warehouse_locked',
    [EXIT.interrupted]: 'interrupted',
  };
  return endingOfError(new SightlineError(codes[exitCode] as ErrorCode, 'the step failed'));
}

function job(name: string, cron: string, changes: Partial<Parameters<typeof defineJob>[0]> = {}): Job {
  return defineJob({ name, about: name, cron, steps: [{ do: 'sync' }], ...changes });
}

describe('a schedule', () => {
  it('survives a week with a clock change, a crash and a missed night', async () => {
    const folder = await temporaryFolder();
    const jobs = [job('nightly', '30 2 * * *', { timeZone: 'Europe/Berlin' }), job('report', '0 6 * * 1')];
    const first = await live(folder, jobs, {
      from: '2026-03-27T01:20:00Z',
      until: '2026-04-01T12:00:00Z',
      asleep: [
        ['2026-03-27T01:40:00Z', '2026-03-28T07:10:00Z'],
        ['2026-03-28T07:30:00Z', '2026-03-29T00:20:00Z'],
        ['2026-03-29T01:40:00Z', '2026-03-30T00:20:00Z'],
      ],
      diesIn: '03-30T00:30',
    });
    expect(first).toEqual([
      'nightly 03-27T01:30',
      // Missed in the night, made up for once.
      'nightly 03-28T07:10',
      // In this night clocks skip 02:30.
      'nightly 03-29T01:30',
      'nightly 03-30T00:30',
    ]);
    // A run that started but never ended is owed. Two more nights and a Monday have passed meanwhile.
    const second = await live(folder, jobs, {
      from: '2026-04-01T05:00:00Z',
      until: '2026-04-02T01:40:00Z',
      asleep: [['2026-04-01T05:20:00Z', '2026-04-02T00:20:00Z']],
    });
    expect(second).toEqual(['nightly 04-01T05:00', 'report 04-01T05:00', 'nightly 04-02T00:30']);
    const runs = await readJobRuns(folder);
    expect(runs).toHaveLength(6);
    expect(runs[0]).toMatchObject({ job: 'nightly', dueAt: '2026-04-02T00:30:00.000Z', status: 'done', exitCode: 0 });
  });

  it('does not make up for runs of a job without catchUp, a rescheduled job or a new job', async () => {
    const folder = await temporaryFolder();
    const life = { from: '2026-06-01T00:30:00Z', until: '2026-06-01T08:30:00Z' };
    const asleep = [['2026-06-01T02:10:00Z', '2026-06-01T06:30:00Z']] as const;
    const hourly = job('hourly', '0 * * * *', { catchUp: false });
    const began = ['01:00', '02:00', '07:00', '08:00'].map((at) => `hourly 06-01T${at}`);
    expect(await live(folder, [hourly], { ...life, asleep })).toEqual(began);
    const changed = [job('hourly', '50 8 * * *'), job('new', '0 8 * * *')];
    const next = { from: '2026-06-02T08:40:00Z', until: '2026-06-02T09:00:00Z' };
    expect(await live(folder, changed, next)).toEqual(['hourly 06-02T08:50']);
  });

  // An owed run starts at the next check, at most a minute after it could.
  it('starts no second run of a slow job, and makes up for the missed runs once', async () => {
    const life = { from: '2026-06-01T00:30:00Z', until: '2026-06-01T06:30:00Z', tookMs: 2.5 * HOUR_MS };
    const began = await live(await temporaryFolder(), [job('slow', '0 * * * *')], life);
    expect(began).toEqual(['slow 06-01T01:00', 'slow 06-01T03:31', 'slow 06-01T06:02']);
  });

  it('retries within minutes if the warehouse is locked, but not after a failure', async () => {
    const folder = await temporaryFolder();
    const exitCode = (name: string, at: string): number => (name === 'fails' ? 1 : at < '06-01T02:03' ? 4 : 0);
    const life = { from: '2026-06-01T01:30:00Z', until: '2026-06-01T02:30:00Z', exitCode };
    const began = await live(folder, [job('locked', '0 2 * * *'), job('fails', '0 2 * * *')], life);
    expect(began.filter((one) => one.startsWith('fails'))).toEqual(['fails 06-01T02:00']);
    expect(began.filter((one) => one.startsWith('locked')).at(-1)).toBe('locked 06-01T02:03');
    expect(began).toHaveLength(5);
  });

  it('recovers from a wrong clock and from an unreadable job log', async () => {
    const folder = await temporaryFolder();
    const jobs = [job('nightly', '0 2 * * *')];
    await openJobLog(folder).settle(jobs[0] as Job, Date.parse('2031-01-01'));
    const life = { from: '2026-06-01T01:30:00Z', until: '2026-06-01T02:30:00Z' };
    expect(await live(folder, jobs, life)).toEqual(['nightly 06-01T02:00']);
    await writeFile(layoutOf(folder).jobLog, '{');
    expect(await readJobRuns(folder)).toEqual([]);
    expect(await live(folder, jobs, life)).toEqual(['nightly 06-01T02:00']);
  });

  it('lists upcoming runs in order of time, without disabled jobs', () => {
    const off = { ...job('off', '* * * * *'), enabled: false };
    const next = upcoming([job('a', '0 2 * * *'), off, job('b', '0 */12 * * *')], Date.parse('2026-06-01T01:00Z'), 3);
    expect(next.map(({ job: { name }, atMs }) => `${name} ${new Date(atMs).toISOString().slice(5, 16)}`)).toEqual([
      'a 06-01T02:00',
      'b 06-01T12:00',
      'b 06-02T00:00',
    ]);
  });
});

describe('a run of a job', () => {
  const clock: Clock = { now: () => 0, monotonic: () => 0, random: () => 0, sleep: async () => undefined };
  const steps = [{ do: 'sync' }, { do: 'verify', onFailure: 'go on' }, { do: 'export' }] as const;

  it.each([
    [[0, 0, 0], 0, ['done', 'done', 'done']],
    [[3, 3, 0], 3, ['partial', 'partial', 'done']],
    [[1], 1, ['failed', 'left out', 'left out']],
    [[0, 1, 0], 1, ['done', 'failed', 'done']],
    [[0, 4], 4, ['done', 'locked', 'left out']],
    [[3, 130], 130, ['partial', 'interrupted', 'left out']],
    [[2], 2, ['failed', 'left out', 'left out']],
  ])('with steps that end with %j ends with %i', async (codes, exitCode, statuses) => {
    let step = 0;
    const perform = async () => endingOf(codes[step++] as number);
    const parts = { clock, signal: new AbortController().signal, dueMs: null, perform };
    const run = await runJob(job('x', '0 0 * * *', { steps }), parts);
    expect(run).toMatchObject({ exitCode, steps: statuses.map((status) => ({ status })) });
  });

  it('skips steps that ended in an earlier attempt, and reports the ended steps', async () => {
    const told: string[][] = [];
    const onStep = async (ended: readonly { step: string }[]) => void told.push(ended.map(({ step }) => step));
    const run = async (codes: readonly number[], earlier: JobRun['steps']) => {
      const performed: string[] = [];
      const perform = async (step: Step) => {
        performed.push(step.do);
        return endingOf(codes[performed.length - 1] as number);
      };
      const signal = new AbortController().signal;
      const ended = await runJob(job('x', '0 0 * * *', { steps }), {
        clock,
        signal,
        dueMs: null,
        perform,
        earlier,
        onStep,
      });
      return { performed, ...ended };
    };
    const first = await run([3, 1, 130], []);
    expect(first).toMatchObject({ performed: ['sync', 'verify', 'export'], exitCode: 130 });
    expect(told).toEqual([['sync'], ['sync', 'verify']]);
    const second = await run([0], first.steps.slice(0, 2));
    // A step that failed in the earlier attempt still counts as failed.
    expect(second).toMatchObject({ performed: ['export'], exitCode: 1, status: 'failed' });
    expect(second.steps.map(({ status }) => status)).toEqual(['partial', 'failed', 'done']);
    // A job with changed steps runs all of them.
    const other = first.steps.slice(0, 1).map((step) => ({ ...step, step: 'report' }));
    expect(await run([0, 0, 0], other)).toMatchObject({ performed: ['sync', 'verify', 'export'], exitCode: 0 });
  });

  it('starts no step after an abort', async () => {
    const stop = new AbortController();
    const perform = async () => {
      stop.abort(new Error('stopped'));
      return DONE;
    };
    const run = await runJob(job('x', '0 0 * * *', { steps }), { clock, signal: stop.signal, dueMs: null, perform });
    expect(run).toMatchObject({ exitCode: 130, status: 'interrupted' });
    expect(run.steps.map(({ status }) => status)).toEqual(['done', 'left out', 'left out']);
  });
});
