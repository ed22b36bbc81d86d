import type { Clock } from '../base/clock.ts';
import type { Budget } from './budget.ts';

/** What a run may use at most. */
export interface Allowance {
  readonly maxRequests: number | null;
  /** Epoch milliseconds after which no request is sent. */
  readonly deadline: number | null;
}

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
    if (deadline !== null && clock.now() >= deadline) {
      throw new AllowanceReached(`the allowance of time ended at ${new Date(deadline).toISOString()}`);
    }
  };
  return {
    acquire: async (signal) => {
      check();
      // Counted before the wait, or everybody who waits would be let through.
      sent += 1;
      return budget.acquire(signal);
    },
    closeGate: (ms) => budget.closeGate(ms),
    state: () => budget.state(),
  };
}
