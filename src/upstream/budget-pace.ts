import type { Clock } from '../base/clock.ts';
import { type BudgetDatabase, load, PACE_TABLE, type Question } from './budget-database.ts';
import type { Pace } from './budget-queue.ts';

/** Requests are let go in groups as large as what so long a part of a minute allows. */
const GROUP_MS = 2_000;
/** A group is over a little early: what holds a minute to its limit is the log, and spreading must cost none of it. */
const GROUP_SHARE = 0.95;
/** By how much clocks may be taken wrongly: what a look at the database's takes. */
const SLACK_MS = 2_000;
/** No moment is as small in milliseconds, and no number of points as large. */
const MOMENT_MS_MIN = 1e12;

/**
 * Spreads a key's requests and keeps them back after a 429, by rate-limiter-flexible over PostgreSQL: `consume` for each
 * request, `block` for a 429, both seen by all workers at once. The limiter reads the clock of its process; every moment
 * that it writes or reads is put into the database's clock on the way, so that workers whose clocks differ agree.
 */
export async function openPace(options: {
  readonly database: BudgetDatabase;
  readonly budget: string;
  readonly clock: Clock;
  /** Milliseconds since 1970 by the database's clock, as far as it is known here. */
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
  let isDoubted = false;
  return {
    take: async (perMinute) => {
      const points = Math.max(1, Math.round((perMinute * GROUP_MS) / 60_000));
      limiter.points = points;
      limiter.duration = (GROUP_SHARE * points * 60) / perMinute;
      try {
        await limiter.consume(budget);
        isDoubted = false;
        return 0;
      } catch (thrown) {
        if (!(thrown instanceof RateLimiterRes)) throw thrown;
        const waitMs = Math.max(1, Math.ceil(thrown.msBeforeNext));
        const isTooLong = waitMs > limiter.duration * 1000 + SLACK_MS;
        // A 429 of which the log has not told yet; or, if that still has not when it was read again, a moment from
        // before the limit rose or the database's clock was set back, which would hold everybody until then.
        if (isTooLong && isDoubted) await limiter.delete(budget);
        isDoubted = isTooLong && !isDoubted;
        return waitMs;
      }
    },
    stop: (ms) => {
      // Blocked for no time means for ever.
      if (!(ms > 0)) return;
      const block = async (): Promise<void> => {
        // One that is shorter than what is left of another does not cut that one short.
        const current = await limiter.get(budget);
        const isBlocked = current !== null && current.consumedPoints > limiter.points;
        if (isBlocked && current.msBeforeNext >= ms) return;
        await limiter.block(budget, Math.ceil(ms) / 1000);
      };
      // Where it cannot be told, the log has it too, and without the database nobody sends.
      block().catch(() => undefined);
    },
  };
}
