import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Where a workspace keeps what. */
export interface Layout {
  /** The live file; one process owns it. */
  readonly warehouse: string;
  /** Who owns it, for the message that others get. */
  readonly owner: string;
  /** How far the sync is that runs; there only while one does. */
  readonly progress: string;
  /** The analysts' copy, replaced by rename. */
  readonly analytics: string;
  readonly snapshots: string;
  /** Symlink to the newest snapshot: the one path a BI tool is given. */
  readonly latest: string;
  /** What DuckDB puts aside when memory runs short. */
  readonly temporary: string;
  /** What is written in another form for another place, until it is sent there. */
  readonly sending: string;
  /** Every page as it came, kept for a while. */
  readonly raw: string;
  /** Folder of the budgets of all keys, shared by all workspaces beside this one; none of them can have its name. */
  readonly budgets: string;
  /** Send times of the last minute, as versions before kept them; taken over and removed. */
  readonly earlierBudget: string;
}

/** The layout of a workspace's folder. */
export function layoutOf(folder: string): Layout {
  const snapshots = join(folder, 'snapshots');
  return {
    warehouse: join(folder, 'warehouse.duckdb'),
    owner: join(folder, 'owner.json'),
    progress: join(folder, 'progress.json'),
    analytics: join(folder, 'analytics.duckdb'),
    snapshots,
    latest: join(snapshots, 'latest'),
    temporary: join(folder, '.temporary'),
    sending: join(folder, '.sending'),
    raw: join(folder, 'raw'),
    budgets: join(dirname(folder), '.budgets'),
    earlierBudget: join(folder, 'budget.log'),
  };
}

/** When the copy and the live file changed last, epoch milliseconds; 0 for one that is not there. */
export function agesOf(layout: Layout): { copy: number; live: number } {
  const live = Math.max(modifiedAt(layout.warehouse), modifiedAt(`${layout.warehouse}.wal`));
  return { copy: modifiedAt(layout.analytics), live };
}

function modifiedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
