import type { Clock } from '../../base/clock.ts';
import { type BudgetDatabase, load, PACE_TABLE, type Question } from './budget-database.ts';
import type { Pace } from './send-queue.ts';

/** Requests are released in groups; a group has the requests that the limit allows in this time. */
const GROUP_MS = 2_000;
/** A group's period is shortened by this factor. The log enforces the limit, so spreading must not cost throughput. */
const GROUP_SHARE = 0.95;
/** Tolerance for the error of the known database time: the duration of a query. */
const SLACK_MS = 2_000;
/** Numbers above this are epoch milliseconds; smaller ones are points. */
const MOMENT_MS_MIN = 1e12;

/**
 * Spreads a key's requests over the minute and stops them after a 429, with rate-limiter-flexible on PostgreSQL: `consume` for
 * each request, `block` for a 429. Both take effect on all workers at once. The limiter uses the clock of its process; all times
 * that it writes or reads are converted to the database's clock, so that workers with different clocks agree.
 */
export async function openPace(options: {
  readonly database: BudgetDatabase;
  readonly budget: string;
  readonly clock: Clock;
  /** Estimate of the database's clock in epoch milliseconds. */
  readonly databaseNow: () => number;
  readonly closing: AbortSignal;
}): Promise<Pace> {
  const { database, budget, databaseNow, closing } = options;
  const { RateLimiterPostgres, RateLimiterRes } = await load(
    'rate-limiter-flexible',
    '11',
    () => import('rate-limiter-flexible'),
  );
  const offset = (): number => databaseNow() - Date.now();
  const storeClient = {
    query: async ({ text, values = [], name }: Question) => {
      const ahead = offset();
      const isMoment = (value: unknown): value is number => typeof value === 'number' && value > MOMENT_MS_MIN;
      const inDatabase = values.map((value) => (isMoment(value) ? Math.round(value + ahead) : value));
      const result = await database.query(
        { text, values: inDatabase, ...(name === undefined ? {} : { name }) },
        closing,
      );
      const behind = offset();
      const rows = result.rows.map((row) =>
        row.expire == null ? row : { ...row, expire: Number(row.expire) - behind },
      );
      return { ...result, rows };
    },
  };
  const limiter = new RateLimiterPostgres({
    storeClient,
    storeType: 'pool',
    tableName: PACE_TABLE,
    tableCreated: true,
    clearExpiredByTimeout: false,
    keyPrefix: 'pace',
    points: 1,
    duration: 1,
  });
  let wasWaitTooLong = false;
  return {
    take: async (perMinute) => {
      const points = Math.max(1, Math.round((perMinute * GROUP_MS) / 60_000));
      limiter.points = points;
      limiter.duration = (GROUP_SHARE * points * 60) / perMinute;
      try {
        await limiter.consume(budget);
        wasWaitTooLong = false;
        return 0;
      } catch (thrown) {
        if (!(thrown instanceof RateLimiterRes)) throw thrown;
        const waitMs = Math.max(1, Math.ceil(thrown.msBeforeNext));
        const isTooLong = waitMs > limiter.duration * 1000 + SLACK_MS;
        // A wait longer than a group's period is a block after a 429 that the log does not contain yet. If the wait is
        // still too long on the next attempt, it is left from before the limit rose or the database's clock was set back,
        // and would block all workers: delete it.
        if (isTooLong && wasWaitTooLong) await limiter.delete(budget);
        wasWaitTooLong = isTooLong && !wasWaitTooLong;
        return waitMs;
      }
    },
    stop: (ms) => {
      // The limiter treats a block of 0 ms as endless.
      if (!(ms > 0)) return;
      const block = async (): Promise<void> => {
        // Do not replace a longer block by a shorter one.
        const current = await limiter.get(budget);
        const isBlocked = current !== null && current.consumedPoints > limiter.points;
        if (isBlocked && current.msBeforeNext >= ms) return;
        await limiter.block(budget, Math.ceil(ms) / 1000);
      };
      // Ignore errors: the log also contains the 429, and without the database no requests are sent.
      block().catch(() => undefined);
    },
  };
}
