import type { Clock } from '../base/clock.ts';
import { toSightlineError } from '../base/errors.ts';
import type { Catalogue } from '../contract/catalogue.ts';
import { questionsToAsk } from '../metrics/calibration/questions.ts';
import type { AskUpstream } from '../sync/ask-upstream.ts';
import type { SyncStats } from '../sync/sync-stats.ts';
import { AllowanceReached } from '../upstream/allowance.ts';
import type { Budget } from '../upstream/budget/budget.ts';
import type { Database } from '../warehouse/database.ts';
import { keepAnswer } from '../warehouse/ledger/answers.ts';

/** Longest wait for requests that the budget has left over, and the time between two looks. */
const SPARE_WAIT = { maxMs: 15_000, stepMs: 1_000 } as const;
/** Dependencies of `probeUpstream`. */
export interface ProbeUpstreamParts {
  readonly catalogue: Catalogue;
  readonly database: Database;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Most questions after the first sync, and again after a contradiction. */
  readonly max: number;
  readonly budget: Pick<Budget, 'state'>;
  readonly stats: SyncStats;
}

/**
 * Asks upstream the questions about points that reports leave open, and keeps the responses as evidence. Only spare requests are used: if
 * the budget stays used up, the next sync asks. A failure ends the questions with a warning: the data are complete without them.
 * @throws the signal's reason if the sync is stopped
 */
export async function probeUpstream(
  { catalogue, database, clock, signal, max, budget, stats }: ProbeUpstreamParts,
  ask: AskUpstream,
): Promise<void> {
  const asking = { catalogue, now: clock.now(), max };
  const questions = await database.exclusive(({ query }) => questionsToAsk(query, asking));
  try {
    for (const { resource, brandId, query } of questions ?? []) {
      if (!(await hasSpare(budget, clock, signal))) return;
      const { status, body, at } = await ask({ resource, brandId, query });
      const answer = { resource, brandId, query, purpose: 'probe', status, body, askedAt: at } as const;
      await database.transaction((session) => keepAnswer(session, null, answer));
    }
  } catch (thrown) {
    // The allowance of the run is used up by optional requests, so the run is complete nevertheless.
    if (thrown instanceof AllowanceReached) return;
    signal.throwIfAborted();
    const { code, message } = toSightlineError(thrown);
    if (code === 'unauthorized' || code === 'plan_required') throw thrown;
    stats.warned({ slice: 'calibration', code, message: `stopped asking about open points: ${message}` });
  }
}

async function hasSpare(budget: Pick<Budget, 'state'>, clock: Clock, signal: AbortSignal): Promise<boolean> {
  for (let waitedMs = 0; budget.state().left < 1; waitedMs += SPARE_WAIT.stepMs) {
    if (waitedMs >= SPARE_WAIT.maxMs) return false;
    await clock.sleep(SPARE_WAIT.stepMs, signal);
  }
  return true;
}
