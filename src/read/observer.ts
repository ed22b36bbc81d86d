import { statSync } from 'node:fs';
import type { Clock } from '../base/clock.ts';
import { dayOf } from '../contract/time.ts';
import type { RunningSync } from '../sync/progress-file.ts';
import type { ServedReplica } from './open-replica.ts';
import { type ReplicaReport, readReplicaReport } from './replica-report.ts';
import { type Figures, readFigures } from './run-figures.ts';
import type { Service } from './service.ts';

/** State of a job for monitoring; times are epoch milliseconds. */
export interface JobFigures {
  readonly name: string;
  readonly enabled: boolean;
  readonly nextAt: number | null;
  readonly last: { readonly status: string; readonly endedAt: number } | null;
  readonly lastDoneAt: number | null;
  /** Since when a run is overdue; null if none is. */
  readonly owedSince: number | null;
}

/** State of a workspace apart from its replica. */
export interface Surroundings {
  readonly progress: RunningSync | null;
  readonly jobs: readonly JobFigures[];
  /** Requests per minute; null if no key is configured or nothing was sent with it recently. */
  readonly budget: {
    readonly limit: number;
    readonly capacity: number;
    readonly lastMinute: number;
    readonly lastHour: number;
  } | null;
  /** Sizes by part of the workspace. */
  readonly bytes: ReadonlyMap<string, number>;
  readonly disk: { readonly free: number; readonly size: number } | null;
  readonly snapshots: { readonly count: number; readonly newestAt: number | null; readonly newestRows: number };
}

/** A monitored workspace. */
export interface Monitored {
  readonly workspace: string;
  /** Path of the replica. */
  readonly path: string;
  surroundings(): Promise<Surroundings>;
}

/** A snapshot of everything that monitoring reports. */
export interface Observation {
  /** Whether the replica can be read; if it is damaged, the numbers come from the previous one. */
  readonly isReadable: boolean;
  /** Null if there is no readable replica. */
  readonly replica: { readonly report: ReplicaReport; readonly figures: Figures } | null;
  readonly surroundings: Surroundings;
}

/** Creates a function that reads the monitored values. Values of the replica are read once per replica and day. */
export function createObserver(service: Service, monitored: Monitored, clock: Clock): () => Promise<Observation> {
  const known = new WeakMap<ServedReplica, { readonly day: string; readonly read: Promise<Observation['replica']> }>();
  // The file from which each replica was opened. If it differs from the current file, the last readable replica is in
  // use.
  const files = new WeakMap<ServedReplica, string>();
  const readOnce = (replica: ServedReplica): Promise<Observation['replica']> => {
    const day = dayOf(clock.now());
    const earlier = known.get(replica);
    if (earlier?.day === day) return earlier.read;
    const read = (async () => ({
      report: await readReplicaReport(replica, service.catalogue, clock.now()),
      figures: await readFigures(replica, service.catalogue),
    }))();
    known.set(replica, { day, read });
    read.catch(() => known.delete(replica));
    return read;
  };
  return async () => {
    const surroundings = await monitored.surroundings();
    try {
      const file = identityOf(monitored.path);
      const replica = await service.newest();
      // If a publish happens between the two stats, the file is ambiguous; the next call resolves it.
      if (!files.has(replica) && identityOf(monitored.path) === file) files.set(replica, file);
      const isReadable = file !== '' && (files.get(replica) ?? file) === file;
      return { isReadable, replica: await readOnce(replica), surroundings };
    } catch {
      // Report the replica as unreadable instead of failing.
      return { isReadable: false, replica: null, surroundings };
    }
  };
}

function identityOf(path: string): string {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? '' : `${stats.dev}:${stats.ino}:${stats.mtimeNs}:${stats.size}`;
}
