import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { WorkspaceConfig } from '../base/config.ts';
import { SightlineError } from '../base/errors.ts';
import { type JobRun, readJobRuns } from '../scheduler/book.ts';
import { agesOf, layoutOf } from '../snapshot/layout.ts';
import type { Query } from '../warehouse/database.ts';
import { type HeldDeletionRow, readHeldDeletions } from '../warehouse/held-deletions.ts';
import { openReader } from '../warehouse/reader.ts';
import { readStatus, type WarehouseStatus } from '../warehouse/status.ts';
import { openNewestWith } from './newest.ts';
import { catalogue, type Owner, readOwner } from './workspace.ts';

/** Files that are looked at for their size; beyond, the sum says so by being too small. */
const FILES_MAX = 100_000;

/** A workspace's status. */
export interface WorkspaceStatus {
  readonly workspace: string;
  readonly folder: string;
  /** The process that owns the warehouse now; null when none does. */
  readonly owner: Owner | null;
  /** When the data that all of this is read from changed last; `stale` when the live file has moved on since. */
  readonly asOf: string | null;
  readonly stale: boolean;
  readonly bytes: {
    readonly warehouse: number;
    readonly copy: number;
    readonly snapshots: number;
    readonly all: number;
  };
  /** The last run of each job that has run. */
  readonly jobs: readonly JobRun[];
  /** Null while the first sync runs, or before it. */
  readonly data: WarehouseStatus | null;
}

/** Reads a workspace's status, also while somebody owns the warehouse. Throws `no_data` where there was never a sync. */
export async function readWorkspaceStatus(config: WorkspaceConfig, clock: Clock): Promise<WorkspaceStatus> {
  const layout = layoutOf(config.folder);
  const owner = await readLiveOwner(layout.owner);
  const counted = new Set<number>();
  const snapshots = sizeOf(layout.snapshots, counted);
  const bytes = {
    warehouse: sizeOf(layout.warehouse, counted) + sizeOf(`${layout.warehouse}.wal`, counted),
    copy: sizeOf(layout.analytics, counted),
    snapshots,
    all: sizeOf(config.folder, new Set()),
  };
  const runs = await readJobRuns(config.folder);
  const jobs = runs.filter((run, index) => runs.findIndex(({ job }) => job === run.job) === index);
  const beside = { workspace: config.name, folder: config.folder, owner, bytes, jobs };
  try {
    const { value, stale, asOfMs } = await readNewest(config, (query) => readStatus(query, catalogue, clock.now()));
    return { ...beside, asOf: new Date(asOfMs).toISOString(), stale, data: value };
  } catch (thrown) {
    const isFirst = thrown instanceof SightlineError && thrown.code === 'no_data' && owner !== null;
    if (!isFirst) throw thrown;
    return { ...beside, asOf: null, stale: false, data: null };
  }
}

/** The mass deletions that are held back. Throws `no_data`. */
export async function readHeld(config: WorkspaceConfig): Promise<HeldDeletionRow[]> {
  return (await readNewest(config, readHeldDeletions)).value;
}

/** What was read from the newest data that can be read, and of when they are. */
export interface ReadNewest<T> {
  readonly value: T;
  /** Whether it is a copy, and the live file has moved on. */
  readonly stale: boolean;
  readonly asOfMs: number;
}

/** Reads a workspace's newest data, whoever else has them open. Throws `no_data`. */
export async function readNewest<T>(
  config: WorkspaceConfig,
  read: (query: Query) => Promise<T>,
): Promise<ReadNewest<T>> {
  const layout = layoutOf(config.folder);
  const { opened: reader, stale } = await openNewestWith(config, layout, openReader);
  try {
    const query: Query = async (sql) => (await reader.query(sql)).rows.map((row) => [...row]);
    const { copy, live } = agesOf(layout);
    return {
      value: await read(query),
      stale,
      asOfMs: stale || config.home.kind !== 'local' ? copy : Math.max(copy, live),
    };
  } finally {
    reader.close();
  }
}

// What a killed process left says nothing about now.
async function readLiveOwner(path: string): Promise<Owner | null> {
  const owner = await readOwner(path);
  if (owner === null) return null;
  try {
    process.kill(owner.pid, 0);
    return owner;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM' ? owner : null;
  }
}

/**
 * Bytes of a file or of all files of a folder, but for those whose inodes are `counted` already: snapshots share files by
 * hard links, which take room once.
 */
export function sizeOf(path: string, counted: Set<number>): number {
  let files = 0;
  let bytes = 0;
  const pending = [path];
  for (let next = pending.pop(); next !== undefined && files < FILES_MAX; next = pending.pop()) {
    const found = statSync(next, { throwIfNoEntry: false });
    files += 1;
    if (found?.isDirectory()) {
      const entries = readdirSync(next, { withFileTypes: true });
      for (const entry of entries) if (!entry.isSymbolicLink()) pending.push(join(next, entry.name));
    } else if (found !== undefined && !counted.has(found.ino)) {
      counted.add(found.ino);
      bytes += found.size;
    }
  }
  return bytes;
}
