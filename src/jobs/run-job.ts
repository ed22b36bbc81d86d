import type { Clock } from '../base/clock.ts';
import { type Ending, exitCodeOf, STATUSES_WORST_FIRST, worstExitCode } from '../base/ending.ts';
import { EXIT } from '../base/errors.ts';
import { inSpan } from '../base/trace.ts';
import type { JobRun, StepRun } from './job-log.ts';
import type { Job, Step } from './job.ts';

/** Dependencies of `runJob`. */
export interface JobParts {
  readonly clock: Clock;
  /** Abort it to stop: the current step ends as soon as it can, and no other step starts. */
  readonly signal: AbortSignal;
  /** When the run was due, epoch milliseconds; null if it was requested by hand. */
  readonly dueMs: number | null;
  perform(step: Step): Promise<Ending>;
  /** Steps that ended in an earlier attempt at this run; they are not repeated. */
  readonly earlier?: readonly StepRun[];
  /**
   * Called after each step that does not end the run, with all steps that have ended so far, including the earlier
   * ones.
   */
  onStep?(ended: readonly StepRun[]): Promise<void>;
}

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
    const ending = await inSpan('job.step', { 'sightline.step': step.do }, () => perform(step));
    const durationMs = Math.round(clock.monotonic() - beganMs);
    const { status, error } = ending;
    steps.push({ step: step.do, status, exitCode: exitCodeOf(ending), durationMs, error });
    // A locked warehouse is locked for the other steps, too.
    const isFinal = status === 'interrupted' || status === 'locked';
    isOver = isFinal || (status === 'failed' && step.onFailure !== 'go on');
    if (!isOver) await onStep?.(steps);
  }
  const stopped = signal.aborted ? [{ status: 'interrupted', exitCode: EXIT.interrupted } as const] : [];
  const ended = [...steps, ...stopped];
  const codes = ended.flatMap(({ exitCode }) => (exitCode === null ? [] : [exitCode]));
  return {
    job: job.name,
    dueAt: dueMs === null ? null : new Date(dueMs).toISOString(),
    startedAt: new Date(startedMs).toISOString(),
    endedAt: new Date(clock.now()).toISOString(),
    status: STATUSES_WORST_FIRST.find((status) => ended.some((one) => one.status === status)) ?? 'failed',
    exitCode: worstExitCode(codes) ?? EXIT.failed,
    steps,
  };
}
