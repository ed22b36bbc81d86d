import { statSync } from 'node:fs';
import { readdir, statfs } from 'node:fs/promises';
import type { Clock } from '../base/clock.ts';
import type { WorkspaceConfig } from '../base/config/config.ts';
import { type JobRun, readJobRuns, readSettled } from '../jobs/job-log.ts';
import type { Job } from '../jobs/job.ts';
import { lastRun } from '../jobs/next-run.ts';
import { upcoming } from '../jobs/schedule.ts';
import { jobsOf } from '../operations/jobs/job-list.ts';
import { sizeOf } from '../operations/status.ts';
import { layoutOf } from '../publish/snapshot/layout.ts';
import { isSnapshotId, readManifest } from '../publish/snapshot/manifest.ts';
import type { JobFigures, Monitored, Surroundings } from '../read/observer.ts';
import { readProgress } from '../sync/progress-file.ts';
import type { ReadBudget } from './status-parts.ts';

/** How long measured sizes are reused, because walking the folders costs more than everything else. */
const SIZES_MS = 60_000;
/** A run that has not started this long after its due time counts as missed. */
const LATE_MS = 600_000;

type Sizes = Pick<Surroundings, 'bytes' | 'disk' | 'snapshots'>;

/** Provides the metrics of a workspace that do not come from its replica: sizes, disk, snapshots, jobs and budget. */
export function monitoredOf(config: WorkspaceConfig, clock: Clock, readBudget: ReadBudget): Monitored {
  const layout = layoutOf(config.folder);
  let sizes: { readonly at: number; readonly of: string; readonly read: Promise<Sizes> } | null = null;
  const readSizes = async (): Promise<Sizes> => {
    const [disk, names, manifest] = await Promise.all([
      statfs(config.folder).catch(() => null),
      readdir(layout.snapshots).catch(() => []),
      readManifest(layout.latest),
    ]);
    const counted = new Set<number>();
    const live = sizeOf(layout.warehouse, counted) + sizeOf(`${layout.warehouse}.wal`, counted);
    const bytes = new Map([
      ['warehouse', live],
      ['replica', sizeOf(layout.analytics, counted)],
      ['snapshots', sizeOf(layout.snapshots, counted)],
      ['raw', sizeOf(layout.raw, counted)],
    ]);
    const newestRows = (manifest?.tables ?? []).reduce((sum, { rows }) => sum + rows, 0);
    const newestAt = manifest === null ? null : Date.parse(manifest.createdAt);
    return {
      bytes,
      disk: disk === null ? null : { free: disk.bavail * disk.bsize, size: disk.blocks * disk.bsize },
      snapshots: { count: names.filter(isSnapshotId).length, newestAt, newestRows },
    };
  };
  const surroundings = async (): Promise<Surroundings> => {
    const nowMs = clock.now();
    // A finished sync replaces the replica and an export adds a snapshot, so measure again when either changes.
    const of = `${changedAt(layout.analytics)} ${changedAt(layout.snapshots)}`;
    if (sizes?.of !== of || Math.abs(nowMs - sizes.at) > SIZES_MS) sizes = { at: nowMs, of, read: readSizes() };
    const progress = await readProgress(config.folder, nowMs);
    const [runs, settled] = await Promise.all([readJobRuns(config.folder), readSettled(config.folder)]);
    const jobs = jobsOf(config).map((job) => figuresOf(job, runs, settled.get(job.name), nowMs, progress !== null));
    return { progress, jobs, budget: await readBudget(), ...(await sizes.read) };
  };
  return { workspace: config.name, path: layout.analytics, surroundings };
}

function changedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

// While a sync runs, a due job may be the one that is running, so it is not reported as missed.
function figuresOf(
  job: Job,
  runs: readonly JobRun[],
  settledAt: number | undefined,
  nowMs: number,
  isBusy: boolean,
): JobFigures {
  const { name, enabled, cron, timeZone } = job;
  const [last] = runs.filter((run) => run.job === name);
  const done = runs.find((run) => run.job === name && run.status === 'done');
  const due = enabled && !isBusy && settledAt !== undefined ? lastRun(cron, timeZone, settledAt, nowMs) : null;
  return {
    name,
    enabled,
    nextAt: upcoming([job], nowMs, 1)[0]?.atMs ?? null,
    last: last === undefined ? null : { status: last.status, endedAt: Date.parse(last.endedAt) },
    lastDoneAt: done === undefined ? null : Date.parse(done.endedAt),
    owedSince: due !== null && nowMs - due > LATE_MS ? due : null,
  };
}
