import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Paths of a workspace's files. */
export interface Layout {
  /** The warehouse, owned by one process. */
  readonly warehouse: string;
  /** The lock of the workspace: the process that may write to it, named in messages to others. */
  readonly owner: string;
  /** The lock of the process that runs the jobs of the workspace when they are due. */
  readonly scheduler: string;
  /** Progress of the running sync; exists only while a sync runs. */
  readonly progress: string;
  /** The replica, replaced by rename. */
  readonly analytics: string;
  readonly snapshots: string;
  /** Symlink to the newest snapshot: the path that BI tools use. */
  readonly latest: string;
  /** DuckDB's temporary files when memory runs short. */
  readonly temporary: string;
  /** Raw pages as received, kept for a while. */
  readonly raw: string;
  /**
   * Folder of the budgets of all API keys, shared by all workspaces beside this one. A workspace cannot have this name.
   */
  readonly budgets: string;
  /** API keys of the workspace's server, as hashes. */
  readonly keys: string;
  /** Runs of the jobs. */
  readonly jobLog: string;
  /** The last load into each destination. */
  readonly loads: string;
  /** Recorded outages and messages that wait for delivery. */
  readonly notifications: string;
  /** Inferred declarations of the endpoints that no declaration covers, as of the replica. */
  readonly endpoints: string;
  /** Saved queries of the SQL page, one file each. */
  readonly queries: string;
  /** What readers said about domains, actions and opportunities. */
  readonly marks: string;
  /** Positions of incremental exports, a folder for each name. */
  readonly positions: string;
}

/** Returns the paths in a workspace's folder. */
export function layoutOf(folder: string): Layout {
  const snapshots = join(folder, 'snapshots');
  return {
    warehouse: join(folder, 'warehouse.duckdb'),
    owner: join(folder, 'owner.json'),
    scheduler: join(folder, 'scheduler.json'),
    progress: join(folder, 'progress.json'),
    analytics: join(folder, 'analytics.duckdb'),
    snapshots,
    latest: join(snapshots, 'latest'),
    temporary: join(folder, '.temporary'),
    raw: join(folder, 'raw'),
    budgets: join(dirname(folder), '.budgets'),
    keys: join(folder, 'keys.json'),
    jobLog: join(folder, 'jobs.json'),
    loads: join(folder, 'loads.json'),
    notifications: join(folder, 'notify.json'),
    endpoints: join(folder, 'endpoints.json'),
    queries: join(folder, 'queries'),
    marks: join(folder, 'marks.json'),
    positions: join(folder, 'positions'),
  };
}

/** Returns when the replica and the warehouse last changed, epoch milliseconds; 0 if the file is missing. */
export function agesOf(layout: Layout): { copy: number; live: number } {
  const live = Math.max(modifiedAt(layout.warehouse), modifiedAt(`${layout.warehouse}.wal`));
  return { copy: modifiedAt(layout.analytics), live };
}

function modifiedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
