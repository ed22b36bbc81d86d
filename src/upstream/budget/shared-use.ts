import type { Clock } from '../../base/clock.ts';
import type { DatabaseAddress } from '../../base/config/budget-settings.ts';
import { LIMIT_MAX, LIMIT_MIN } from '../../contract/plausibility/rate-headers.ts';
import { DATABASE_NOW, LOG_TABLE, openBudgetDatabase } from './budget-database.ts';
import { budgetName } from './postgres-store.ts';

const MINUTE_MS = 60_000;

const USE = `
  SELECT budget,
    count(*) FILTER (WHERE kind IN ('answer', 'fail') AND at > ${DATABASE_NOW} - ${MINUTE_MS})::int AS used,
    (array_agg(value ORDER BY seq DESC) FILTER (WHERE kind = 'limit' AND value BETWEEN ${LIMIT_MIN} AND ${LIMIT_MAX}))[1]::int
      AS allowed
  FROM ${LOG_TABLE}
  WHERE budget = ANY($1)
  GROUP BY budget`;

/** Use of a key's budget by the workers of all machines. */
export interface SharedBudgetUse {
  /** Upstream's limit in requests per minute; null if upstream has not sent it recently. */
  readonly limit: number | null;
  /** Requests that ended in the last 60 seconds. */
  readonly lastMinute: number;
}

/**
 * Reads the use of budgets in a database, in the order of the keys.
 * @throws `config_invalid` if the package pg is not installed
 * @throws `budget_unreachable`
 */
export async function readSharedBudgetUses(
  address: DatabaseAddress,
  keys: readonly string[],
  clock: Clock,
  signal: AbortSignal,
): Promise<SharedBudgetUse[]> {
  const database = await openBudgetDatabase(address, clock, { signal });
  try {
    const names = keys.map(budgetName);
    const { rows } = await database.query({ text: USE, values: [names] }, signal);
    const found = new Map(rows.map(({ budget, used, allowed }) => [budget, { limit: allowed, lastMinute: used }]));
    return names.map((name) => found.get(name) ?? { limit: null, lastMinute: 0 });
  } finally {
    await database.close();
  }
}
