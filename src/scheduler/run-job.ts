import type { Clock } from '../base/clock.ts';
import { EXIT } from '../base/errors.ts';
import { inSpan } from '../base/trace/trace.ts';
import type { Job, Step } from './job.ts';
import type { JobRun, JobStatus, StepRun } from './job-log.ts';

/** Result of a step: its exit code as a command, and the error message or null. */
export interface StepResult {
  readonly exitCode: number;
  readonly error: string | null;
}

/** Dependencies of `runJob`. */
export interface JobParts {
  readonly clock: Clock;
  /** Abort it to stop: the current step ends as soon as it can, and no other step starts. */
  readonly signal: AbortSignal;
  /** When the run was due, epoch milliseconds; null if it was requested by hand. */
  readonly dueMs: number | null;
  perform(step: Step): Promise<StepResult>;
  /** Steps that ended in an earlier attempt at this run; they are not repeated. */
  readonly earlier?: readonly StepRun[];
  /**
   * Called after each step that does not end the run, with all steps that have ended so far, including the earlier
   * ones.
   */
  onStep?(ended: readonly StepRun[]): Promise<void>;
}

/** Exit codes, the most severe first. A run ends with the first of these that one of its steps has. */
export const WORST_FIRST: readonly number[] = [
  EXIT.interrupted,
  EXIT.failed,
  EXIT.usage,
  EXIT.locked,
  EXIT.partial,
  EXIT.done,
];

/** Runs the steps of a job in order. `perform` must not throw. */
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
    // The earlier attempt already decided whether the job goes on after this step.
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
    // A locked warehouse is locked for the other steps, too.
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
