import { setMaxListeners } from 'node:events';
import { onTestFinished, type TestContext } from 'vitest';
import type { Clock } from '../../../src/base/clock.ts';
import { type BudgetHome, type OpenedBudget, openBudgetAt } from '../../../src/upstream/budget/open-budget.ts';
import { virtualClock } from '../../support/clocks.ts';
import { temporaryFolder } from '../../support/folders.ts';
import type { TestPostgres } from '../../support/postgres.ts';
import { postgresFor } from '../../support/test-postgres.ts';
import { HASTE, hastyClock } from './budget-clock.ts';

export const BASE_URL = 'https://api.example.com/v1';
let keys = 0;
/** A key that no other test uses. */
export const newKey = (): string => `gsk_of_a_test_that_nobody_else_runs_${process.pid}_${keys++}`;

/** Returns a signal that is aborted when the test ends. */
export const signal = (): AbortSignal => {
  const controller = new AbortController();
  onTestFinished(() => controller.abort(new Error('the test is over')));
  setMaxListeners(0, controller.signal);
  return controller.signal;
};

/** Gives a database a clock that runs at the speed of the hasty clock, offset by the value in a table. */
export async function makeHasty<T extends TestPostgres>(database: T): Promise<T> {
  await database.run(`
    CREATE SCHEMA hasty;
    CREATE TABLE hasty.ahead (seconds double precision NOT NULL);
    INSERT INTO hasty.ahead VALUES (0);
    CREATE FUNCTION hasty.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
      'SELECT to_timestamp(extract(epoch FROM pg_catalog.clock_timestamp()) * ${HASTE} + (SELECT seconds FROM hasty.ahead))'`);
  return database;
}

/** Opens a database with a hasty clock for the duration of a test, or skips the test. */
export async function hastyDatabase(context: TestContext): Promise<TestPostgres> {
  return makeHasty(await postgresFor(context));
}

/** The budgets in a database with the hasty clock. */
export function homeIn(database: TestPostgres): BudgetHome & { readonly kind: 'postgres' } {
  return { kind: 'postgres', url: database.url('hasty,pg_catalog,public'), urlVariable: 'BUDGET_DATABASE_URL' };
}

/** The budgets in a database with its own clock. */
export function plainHomeIn(database: TestPostgres): BudgetHome & { readonly kind: 'postgres' } {
  return { kind: 'postgres', url: database.url(), urlVariable: 'BUDGET_DATABASE_URL' };
}

/** Opens the budget of one key; each call acts like another process. */
export type Open = (options?: { share?: number; clock?: Clock }) => Promise<OpenedBudget>;

/** Opens the budget of a new key in this storage. */
export function openIn(home: BudgetHome, standard: Clock = hastyClock): Open {
  const key = newKey();
  return async ({ share = 1, clock = standard } = {}) => {
    const opened = await openBudgetAt(home, { key, share, clock });
    onTestFinished(() => opened.close());
    return opened;
  };
}

/** A storage that processes can share, its clock, and a function that lets time pass. */
export interface Storage {
  readonly home: BudgetHome;
  readonly clock: Clock;
  pass(ms: number): Promise<void>;
  /** Sets the clock of the storage, if it has one of its own. */
  setAhead(seconds: number): Promise<unknown>;
}

/** All storages. Files are read and written synchronously, so their time can be virtual. */
export const storages: Readonly<Record<string, (context: TestContext) => Promise<Storage>>> = {
  file: async () => {
    const clock = virtualClock();
    const pass = (ms: number): Promise<void> => clock.advanceTo(clock.monotonic() + ms);
    return { home: { kind: 'file', folder: await temporaryFolder() }, clock, pass, setAhead: async () => undefined };
  },
  postgres: async (context) => {
    const database = await hastyDatabase(context);
    const setAhead = (seconds: number) => database.run(`UPDATE hasty.ahead SET seconds = seconds + ${seconds}`);
    return { home: homeIn(database), clock: hastyClock, pass: (ms) => hastyClock.sleep(ms), setAhead };
  },
};
