import type { Clock } from '../base/clock.ts';
import { shownTime } from '../contract/time.ts';
import type { Budget, Slot } from './budget/budget.ts';

/** Maximum requests and time of a run; null means no limit. */
export interface Allowance {
  readonly maxRequests: number | null;
  /** Epoch milliseconds after which no request is sent. */
  readonly deadline: number | null;
}

/** Maximum delay of a Node timer; waits for the budget are far shorter. */
const SLEEP_MS_MAX = 2 ** 31 - 1;

/** Thrown when the run has used its allowance. This is a normal end: the next run resumes. */
export class AllowanceReached extends Error {
  override readonly name = 'AllowanceReached';
}

/**
 * Limits a budget to the allowance of a run. After that, `acquire` rejects; requests in flight finish.
 * @throws AllowanceReached from `acquire`
 */
export function withAllowance(budget: Budget, allowance: Allowance, clock: Clock): Budget {
  const { maxRequests, deadline } = allowance;
  let sent = 0;
  const check = (): void => {
    if (maxRequests !== null && sent >= maxRequests) {
      throw new AllowanceReached(`the allowance of ${maxRequests} requests is used up`);
    }
    if (deadline !== null && clock.now() >= deadline) throw timeIsUp(deadline);
  };
  // Stop waiting for the budget, or for the end of a 429 pause, when the deadline passes.
  const acquireBefore = async (until: number, signal: AbortSignal): Promise<Slot> => {
    const deadlinePassed = new AbortController();
    const done = new AbortController();
    clock.sleep(Math.min(until - clock.now(), SLEEP_MS_MAX), done.signal).then(
      () => deadlinePassed.abort(timeIsUp(until)),
      () => undefined,
    );
    try {
      return await budget.acquire(AbortSignal.any([signal, deadlinePassed.signal]));
    } finally {
      done.abort();
    }
  };
  return {
    acquire: async (signal) => {
      check();
      // Count before waiting; otherwise all waiting requests would pass the check.
      sent += 1;
      return deadline === null ? budget.acquire(signal) : acquireBefore(deadline, signal);
    },
    closeGate: (ms) => budget.closeGate(ms),
    state: () => budget.state(),
  };
}

function timeIsUp(deadline: number): AllowanceReached {
  return new AllowanceReached(`the time allowance ended at ${shownTime(deadline)}`);
}
