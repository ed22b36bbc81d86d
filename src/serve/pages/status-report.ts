import { statSync } from 'node:fs';
import type { Clock } from '../../base/clock.ts';
import { SightlineError } from '../../base/errors.ts';
import { fileIdentity } from '../../base/files.ts';
import { VERSION } from '../../base/version.ts';
import { dayOf } from '../../contract/time.ts';
import { type ReplicaState, verdictOf } from '../../operations/verdict.ts';
import { layoutOf } from '../../publish/snapshot/layout.ts';
import type { ServedReplica } from '../../read/open-replica.ts';
import { type ReplicaReport, readReplicaReport } from '../../read/replica-report.ts';
import type { Service } from '../../read/service.ts';
import { toShownTexts } from '../../read/shown-text.ts';
import { type RunningSync, readProgress } from '../../sync/progress-file.ts';
import { withDerivedEnd } from '../../warehouse/ledger/runs.ts';
import type { OperationsReport } from '../../web/page-data/operations-report.ts';
import type { DestinationState, JobLine, SnapshotLine } from '../../web/page-data/status-lines.ts';
import { writerOf } from '../../workspace/lock-driver.ts';
import { listKeys } from '../auth/keys.ts';
import { createBudgetWatch } from './budget-watch.ts';
import type { PageAccess } from './page-access.ts';

/** Maximum number of snapshots reported individually. */
const SNAPSHOTS_MAX = 50;

/** Input of the operations page. The rest is read from the workspace's folder and the replica. */
export interface StatusParts {
  readonly access: PageAccess;
  readonly workspace: string;
  /** Path of the workspace's folder. */
  readonly folder: string;
  /** Whether this process runs jobs when they are due. */
  readonly runsJobs: boolean;
  /** Returns the requests per minute that upstream reported last on this machine; null if not known. */
  reportedLimit(): Promise<number | null>;
  /** Returns the jobs, with their results from the job log. */
  jobs(nowMs: number): Promise<readonly JobLine[]>;
  /** Returns the destinations with their last loads. `dataVersion` is null before the first sync. */
  destinations(dataVersion: number | null): Promise<readonly DestinationState[]>;
}

/** Dependencies of a reporter. */
export interface ReporterParts extends StatusParts {
  readonly service: Service;
  readonly clock: Clock;
  /** Last use of each key by id, epoch milliseconds. */
  readonly usedAt: ReadonlyMap<string, number>;
  snapshotList(): Promise<{ readonly latest: string | null; readonly snapshots: readonly SnapshotLine[] }>;
}

/** Reports the state of a workspace. */
export interface Reporter {
  read(): Promise<OperationsReport>;
  progress(): Promise<RunningSync | null>;
  /** Returns texts that change when the data, jobs or keys change. */
  marks(): Promise<Readonly<Record<'data' | 'jobs' | 'keys', string>>>;
}

/** Creates a reporter. The part that depends only on the replica is read once per replica and day. */
export function createReporter(parts: ReporterParts): Reporter {
  const { service, clock, folder } = parts;
  const layout = layoutOf(folder);
  const watch = createBudgetWatch();
  const newest = createNewest(service, layout.analytics);
  const reportOf = createReports(service);

  // Publishing or deleting a snapshot changes the folder, so the list is cached by the folder's identity.
  let listed: { readonly folder: string; readonly list: ReturnType<ReporterParts['snapshotList']> } | null = null;
  const snapshots = (): ReturnType<ReporterParts['snapshotList']> => {
    const now = fileIdentity(layout.snapshots);
    if (listed?.folder !== now) listed = { folder: now, list: parts.snapshotList() };
    return listed.list;
  };

  const progress = async (): Promise<RunningSync | null> => {
    const found = await readProgress(folder, clock.now());
    watch.note(found, clock.now());
    return found;
  };

  const read = async (): Promise<OperationsReport> => {
    const nowMs = clock.now();
    const { state, replica, why = null } = await newest();
    const report = replica === null ? null : await reportOf(replica, nowMs);
    const reportedLimit = await parts.reportedLimit();
    const [running, jobs, list] = await Promise.all([progress(), parts.jobs(nowMs), snapshots()]);
    const isOwned = (await writerOf(folder)) !== null;
    const isActive = running !== null || isOwned;
    const keys = readKeys(parts);
    const shown = report === null ? null : { ...report, runs: report.runs.map((run) => withDerivedEnd(run, isActive)) };
    const status = shown?.status ?? null;
    const destinations = await parts.destinations(status?.dataVersion ?? null);
    const facts = {
      nowMs,
      workspace: parts.workspace,
      replica: state,
      why,
      status,
      progress: running,
      isOwned,
      jobs,
      destinations,
      keys,
    };
    return {
      now: new Date(nowMs).toISOString(),
      version: VERSION,
      workspace: parts.workspace,
      access: parts.access,
      runsJobs: parts.runsJobs,
      findings: toShownTexts(verdictOf(facts).findings),
      replicaState: state,
      dataVersion: replica?.version ?? null,
      replica: shown,
      progress: running,
      budget: watch.hour(shown?.requests ?? [], nowMs, reportedLimit),
      jobs,
      destinations,
      keys,
      snapshots: {
        latest: list.latest,
        all: list.snapshots.length,
        newest: list.snapshots.slice(0, SNAPSHOTS_MAX),
      },
      bytes: bytesOf(layout),
    };
  };

  const marks: Reporter['marks'] = async () => {
    const lines = await parts.jobs(clock.now());
    const keys = readKeys(parts)?.map(({ lastUsedAt: _, ...key }) => key);
    return {
      data: [layout.analytics, layout.latest, layout.loads].map(fileIdentity).join(' '),
      jobs: JSON.stringify(lines.map(({ name, last }) => [name, last])),
      keys: JSON.stringify(keys ?? null),
    };
  };
  return { read, progress, marks };
}

// Null if the key file is damaged.
function readKeys({ folder, usedAt }: ReporterParts): OperationsReport['keys'] {
  try {
    return listKeys(folder).map((key) => {
      const at = usedAt.get(key.id);
      return { ...key, lastUsedAt: at === undefined ? null : new Date(at).toISOString() };
    });
  } catch {
    return null;
  }
}

// Caches the report of a replica for a day.
function createReports({ catalogue }: Service): (replica: ServedReplica, nowMs: number) => Promise<ReplicaReport> {
  const reports = new WeakMap<ServedReplica, { readonly day: string; readonly report: Promise<ReplicaReport> }>();
  return (replica, nowMs) => {
    const day = dayOf(nowMs);
    const known = reports.get(replica);
    if (known?.day === day) return known.report;
    const report = readReplicaReport(replica, catalogue, nowMs);
    reports.set(replica, { day, report });
    report.catch(() => reports.delete(replica));
    return report;
  };
}

interface NewestReplica {
  readonly state: ReplicaState;
  readonly replica: ServedReplica | null;
  /** Why there is no replica. */
  readonly why?: string;
}

// Opens the newest readable replica, and compares the file from which it was opened with the current one.
function createNewest(service: Service, path: string): () => Promise<NewestReplica> {
  const files = new WeakMap<ServedReplica, string>();
  return async () => {
    const file = fileIdentity(path);
    try {
      const replica = await service.newest();
      if (!files.has(replica)) files.set(replica, file);
      const isCurrent = file === '' || files.get(replica) === file;
      return { state: isCurrent ? 'current' : 'outdated', replica };
    } catch (thrown) {
      if (!(thrown instanceof SightlineError) || thrown.code !== 'no_data') throw thrown;
      return { state: file === '' ? 'none' : 'unreadable', replica: null, why: thrown.message };
    }
  };
}

function bytesOf({ warehouse, analytics }: ReturnType<typeof layoutOf>): OperationsReport['bytes'] {
  return { warehouse: sizeOf(warehouse) + sizeOf(`${warehouse}.wal`), replica: sizeOf(analytics) };
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
