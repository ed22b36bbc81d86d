import { onTestFinished, type TestContext } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import { createBudget } from '../../src/budget/budget.ts';
import { type BudgetHome, type OpenedBudget, openBudgetAt } from '../../src/budget/open-budget.ts';
import { temporaryFolder } from '../support/folders.ts';
import { type OwnPostgres, startPostgres } from '../support/postgres.ts';
import { HASTE, hastyClock } from './budget-clock.ts';

export const BASE_URL = 'https://api.example.com/v1';
let keys = 0;
/** A key that no other test uses. */
export const newKey = (): string => `gsk_of_a_test_that_nobody_else_runs_${process.pid}_${keys++}`;

let postgres: OwnPostgres | string = 'it was not started';

/** Starts PostgreSQL once for the tests of a file. If it cannot start, prints a warning and the tests are skipped. */
export async function startDatabase(): Promise<void> {
  postgres = await startPostgres();
  if (typeof postgres === 'string') {
    process.stderr.write(`\nThe budget in PostgreSQL is NOT TESTED here: ${postgres}\n\n`);
    return;
  }
  // The database's clock runs at the speed of the hasty clock and is offset by the value in a table.
  await postgres.run(`
    CREATE SCHEMA hasty;
    CREATE TABLE hasty.ahead (seconds double precision NOT NULL);
    INSERT INTO hasty.ahead VALUES (0);
    CREATE FUNCTION hasty.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
      'SELECT to_timestamp(extract(epoch FROM pg_catalog.clock_timestamp()) * ${HASTE} + (SELECT seconds FROM hasty.ahead))'`);
}

/** Stops PostgreSQL. */
export async function stopDatabase(): Promise<void> {
  if (typeof postgres !== 'string') await postgres.close();
}

/** Returns the database, or skips the test. */
export function databaseOf({ skip }: TestContext): OwnPostgres {
  if (typeof postgres === 'string') return skip(`PostgreSQL is not available: ${postgres}`);
  return postgres;
}
/** Address of the database with the hasty clock. */
export const addressOf = (database: OwnPostgres) => ({
  url: database.url('hasty,pg_catalog,public'),
  urlVariable: 'BUDGET_DATABASE_URL',
});

/** Opens the budget of one key; each call acts like another process. */
export type Open = (options?: { share?: number; clock?: Clock }) => Promise<OpenedBudget>;

/** Storages that processes can share. */
export const homes: Readonly<Record<string, (context: TestContext) => Promise<BudgetHome>>> = {
  file: async () => ({ kind: 'file', folder: await temporaryFolder() }),
  postgres: async (context) => ({ kind: 'postgres', ...addressOf(databaseOf(context)) }),
};
/** All storages of a budget. */
export const kinds: Readonly<Record<string, (context: TestContext) => Promise<Open>>> = {
  memory: async () => {
    const budgets = new Map<number, OpenedBudget['budget']>();
    return async ({ share = 1 } = {}) => {
      const budget = budgets.get(share) ?? createBudget({ clock: hastyClock, share });
      budgets.set(share, budget);
      return { budget, close: async () => undefined };
    };
  },
  file: async (context) => openIn(await homes['file']?.(context)),
  postgres: async (context) => openIn(await homes['postgres']?.(context)),
};
/** Opens the budget of a new key in this storage. */
export function openIn(home: BudgetHome | undefined): Open {
  const key = newKey();
  return async ({ share = 1, clock = hastyClock } = {}) => {
    const opened = await openBudgetAt(home as BudgetHome, { key, baseUrl: BASE_URL, share, clock });
    onTestFinished(() => opened.close());
    return opened;
  };
}
