import type { Clock } from '../base/clock.ts';
import { EXIT } from '../base/errors.ts';
import { inSpan } from '../base/trace.ts';
import type { JobRun, JobStatus, StepRun } from './book.ts';
import type { Job, Step } from './job.ts';

/** How a step ended: with the exit code that it has as a command, and what went wrong. */
export interface StepResult {
  readonly exitCode: number;
  readonly error: string | null;
}

/** What a job is run with. */
export interface JobParts {
  readonly clock: Clock;
  /** Aborted to stop: the step under way ends as soon as it can, and no other begins. */
  readonly signal: AbortSignal;
  /** When the run was due; null when somebody asked for it. */
  readonly dueMs: number | null;
  perform(step: Step): Promise<StepResult>;
  /** Steps of this run that ended when it was begun before; they are not done again. */
  readonly earlier?: readonly StepRun[];
  /** Told of the steps that have ended, those of before among them, each time one more has. */
  onStep?(ended: readonly StepRun[]): Promise<void>;
}

/** Exit codes, the one that most needs a person first: that of several is the first of these that is among them. */
export const WORST_FIRST: readonly number[] = [
  EXIT.interrupted,
  EXIT.failed,
  EXIT.usage,
  EXIT.locked,
  EXIT.partial,
  EXIT.done,
];

/** Runs a job's steps one after another; what a step does is up to `perform`, which does not throw. */
export function runJob(job: Job, parts: JobParts): Promise<JobRun> {
  return inSpan('job', { 'sightline.job': job.name }, async (span) => {
    const run = await runSteps(job, parts);
    span.set({ 'sightline.status': run.status });
    if (run.status === 'failed') span.fail(null);
    return run;
  });
}

async function runSteps(job: Job, parts: JobParts): Promise<JobRun> {
  const { clock, signal, dueMs, perform, earlier = [], onStep } = parts;
  const startedMs = clock.now();
  const steps: StepRun[] = [];
  let isOver = false;
  for (const [index, step] of job.steps.entries()) {
    const before = earlier[index];
    // What follows from how a step ended was decided then.
    if (before !== undefined && before.step === step.do && steps.length === index && !isOver) {
      steps.push(before);
      continue;
    }
    isOver ||= signal.aborted;
    if (isOver) {
      steps.push({ step: step.do, status: 'left out', exitCode: null, durationMs: null, error: null });
      continue;
    }
    const beganMs = clock.monotonic();
    const { exitCode, error } = await inSpan('job.step', { 'sightline.step': step.do }, () => perform(step));
    const durationMs = Math.round(clock.monotonic() - beganMs);
    steps.push({ step: step.do, status: statusOf(exitCode), exitCode, durationMs, error });
    const hasFailed = exitCode !== EXIT.done && exitCode !== EXIT.partial;
    // Who holds the warehouse holds it against the other steps too.
    const isFinal = exitCode === EXIT.interrupted || exitCode === EXIT.locked;
    isOver = hasFailed && (isFinal || step.onFailure !== 'go on');
    if (!isOver) await onStep?.(steps);
  }
  const codes = steps.flatMap((step) => (step.exitCode === null ? [] : [step.exitCode]));
  if (signal.aborted) codes.push(EXIT.interrupted);
  const exitCode = WORST_FIRST.find((code) => codes.includes(code)) ?? EXIT.failed;
  return {
    job: job.name,
    dueAt: dueMs === null ? null : new Date(dueMs).toISOString(),
    startedAt: new Date(startedMs).toISOString(),
    endedAt: new Date(clock.now()).toISOString(),
    status: statusOf(exitCode),
    exitCode,
    steps,
  };
}

function statusOf(exitCode: number): JobStatus {
  switch (exitCode) {
    case EXIT.done:
      return 'done';
    case EXIT.partial:
      return 'partial';
    case EXIT.locked:
      return 'locked';
    case EXIT.interrupted:
      return 'interrupted';
    default:
      return 'failed';
  }
}
