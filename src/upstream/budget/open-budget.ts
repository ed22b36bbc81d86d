import type { Clock } from '../../base/clock.ts';
import type { DatabaseAddress } from '../../base/config/budget-settings.ts';
import { type Budget, createBudget } from './budget.ts';
import { openBudgetFile } from './file-store.ts';

/** Storage of the request budgets. */
export type BudgetHome =
  | {
      /** Files, shared by all processes of this machine. */
      readonly kind: 'file';
      readonly folder: string;
    }
  | ({
      /** PostgreSQL, shared by the workers of all machines. */
      readonly kind: 'postgres';
    } & DatabaseAddress);

/** Key, and the share of its limit that may be used, in (0, 1]. */
export interface OpenBudgetOptions {
  readonly key: string;
  readonly share: number;
  readonly clock: Clock;
  /** Receives a sentence when the budget's database becomes unreachable and when it is reachable again. */
  readonly say?: (sentence: string) => void;
  /** Aborts opening while it waits for the database. */
  readonly signal?: AbortSignal;
}

/** A budget. Close it after use. */
export interface OpenedBudget {
  readonly budget: Budget;
  close(): Promise<void>;
}

/**
 * Opens the budget of a key in its storage.
 * @throws `folder_unwritable` or `disk_full` for files
 * @throws `budget_unreachable`, or `config_invalid` if a package is not installed, for PostgreSQL
 */
export async function openBudgetAt(home: BudgetHome, options: OpenBudgetOptions): Promise<OpenedBudget> {
  const { clock, share } = options;
  if (home.kind === 'postgres') {
    const { openSharedBudget } = await import('./postgres-store.ts');
    const { log, pace, close } = await openSharedBudget({ ...options, ...home });
    return { budget: createBudget({ clock, share, log, pace }), close };
  }
  const log = await openBudgetFile({ ...options, ...home });
  return { budget: createBudget({ clock, share, log }), close: async () => log.close() };
}
