import type { Clock } from '../base/clock.ts';
import type { Budget, Slot } from './budget.ts';

/** What a run may use at most. */
export interface Allowance {
  readonly maxRequests: number | null;
  /** Epoch milliseconds after which no request is sent. */
  readonly deadline: number | null;
}

/** No timer sleeps longer, and no wait for the budget is nearly as long. */
const SLEEP_MS_MAX = 2 ** 31 - 1;

/** The run has used what it was allowed: a normal end, after which the next run goes on. */
export class AllowanceReached extends Error {
  override readonly name = 'AllowanceReached';
}

/** A budget that ends with the allowance: then nobody may send, and what is under way is finished. */
export function withAllowance(budget: Budget, allowance: Allowance, clock: Clock): Budget {
  const { maxRequests, deadline } = allowance;
  let sent = 0;
  const check = (): void => {
    if (maxRequests !== null && sent >= maxRequests) {
      throw new AllowanceReached(`the allowance of ${maxRequests} requests is used up`);
    }
    if (deadline !== null && clock.now() >= deadline) throw timeIsUp(deadline);
  };
  // A wait for the budget, or for a closed gate, may be longer than the time that is left.
  const acquireBefore = async (until: number, signal: AbortSignal): Promise<Slot> => {
    const over = new AbortController();
    const done = new AbortController();
    clock.sleep(Math.min(until - clock.now(), SLEEP_MS_MAX), done.signal).then(
      () => over.abort(timeIsUp(until)),
      () => undefined,
    );
    try {
      return await budget.acquire(AbortSignal.any([signal, over.signal]));
    } finally {
      done.abort();
    }
  };
  return {
    acquire: async (signal) => {
      check();
      // Counted before the wait, or everybody who waits would be let through.
      sent += 1;
      return deadline === null ? budget.acquire(signal) : acquireBefore(deadline, signal);
    },
    closeGate: (ms) => budget.closeGate(ms),
    state: () => budget.state(),
  };
}

function timeIsUp(deadline: number): AllowanceReached {
  return new AllowanceReached(`the allowance of time ended at ${new Date(deadline).toISOString()}`);
}
