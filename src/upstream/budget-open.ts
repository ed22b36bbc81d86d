import type { Clock } from '../base/clock.ts';
import { type Budget, createBudget } from './budget.ts';
import type { DatabaseAddress, Say } from './budget-database.ts';
import { openBudgetFile } from './budget-file.ts';
import { openSharedBudget } from './budget-postgres.ts';

/** Where the budgets of keys are kept. */
export type BudgetHome =
  | {
      /** In files, for all processes of this machine. */
      readonly kind: 'file';
      readonly folder: string;
      /** File of the version before, which is taken over. */
      readonly earlier?: string;
    }
  | ({
      /** In PostgreSQL, for the workers of all machines. */
      readonly kind: 'postgres';
    } & DatabaseAddress);

/** Whose budget, and what of it may be used. */
export interface OpenBudgetOptions {
  readonly key: string;
  readonly baseUrl: string;
  readonly share: number;
  readonly clock: Clock;
  /** Told in a sentence, once, when what keeps the budget goes away, and when it is back. */
  readonly say?: Say;
  /** Ends the opening, where that has to wait. */
  readonly signal?: AbortSignal;
}

/** A budget, closed when it is no longer needed. */
export interface OpenedBudget {
  readonly budget: Budget;
  close(): Promise<void>;
}

/**
 * Opens the budget of a key where it is kept. Throws `folder_unwritable`, `disk_full`, `budget_unreachable`, and
 * `config_invalid` where a package is missing.
 */
export async function openBudgetAt(home: BudgetHome, options: OpenBudgetOptions): Promise<OpenedBudget> {
  const { clock, share } = options;
  if (home.kind === 'postgres') {
    const { log, pace, close } = await openSharedBudget({ ...options, ...home });
    return { budget: createBudget({ clock, share, log, pace }), close };
  }
  const log = await openBudgetFile({ ...options, ...home });
  return { budget: createBudget({ clock, share, log }), close: async () => log.close() };
}
