import { statSync } from 'node:fs';
import type { Clock } from '../base/clock.ts';
import { dayOf } from '../contract/time.ts';
import type { RunningSync } from '../sync/progress-file.ts';
import type { Edition } from './edition.ts';
import { type Figures, readFigures } from './figures.ts';
import type { Service } from './service.ts';
import { type CopyReport, readCopy } from './status/copy.ts';

/** A job, as monitoring sees it; moments are epoch milliseconds. */
export interface JobFigures {
  readonly name: string;
  readonly enabled: boolean;
  readonly nextAt: number | null;
  readonly last: { readonly status: string; readonly endedAt: number } | null;
  readonly lastDoneAt: number | null;
  /** Since when a run is owed; null where none is. */
  readonly owedSince: number | null;
}

/** What is known of a workspace beside its published copy. */
export interface Surroundings {
  readonly progress: RunningSync | null;
  readonly jobs: readonly JobFigures[];
  /** Requests a minute; null where no key is set, or nothing was sent with it lately. */
  readonly budget: {
    readonly limit: number;
    readonly capacity: number;
    readonly lastMinute: number;
    readonly lastHour: number;
  } | null;
  /** By part. */
  readonly bytes: ReadonlyMap<string, number>;
  readonly disk: { readonly free: number; readonly size: number } | null;
  readonly snapshots: { readonly count: number; readonly newestAt: number | null; readonly newestRows: number };
}

/** A workspace that is monitored. */
export interface Monitored {
  readonly workspace: string;
  /** Path of the published copy. */
  readonly copy: string;
  surroundings(): Promise<Surroundings>;
}

/** What monitoring reads at a time. */
export interface Observation {
  /** Whether the published copy can be read; where it is damaged, what is read is the one before. */
  readonly isReadable: boolean;
  /** Null where there is no copy, or none that can be read. */
  readonly copy: { readonly report: CopyReport; readonly figures: Figures } | null;
  readonly surroundings: Surroundings;
}

/** Reads what monitoring asks for; what follows from a copy alone is read once for each copy and day. */
export function createObserver(service: Service, monitored: Monitored, clock: Clock): () => Promise<Observation> {
  const known = new WeakMap<Edition, { readonly day: string; readonly read: Promise<Observation['copy']> }>();
  // Of which file each copy was opened: a copy that still stands for a file that is not that one is the last good one.
  const files = new WeakMap<Edition, string>();
  const readOnce = (edition: Edition): Promise<Observation['copy']> => {
    const day = dayOf(clock.now());
    const earlier = known.get(edition);
    if (earlier?.day === day) return earlier.read;
    const read = (async () => ({
      report: await readCopy(edition, service.catalogue, clock.now()),
      figures: await readFigures(edition, service.catalogue),
    }))();
    known.set(edition, { day, read });
    read.catch(() => known.delete(edition));
    return read;
  };
  return async () => {
    const surroundings = await monitored.surroundings();
    try {
      const file = identityOf(monitored.copy);
      const edition = await service.newest();
      // What is published between the two looks is of neither file for sure; the next look tells.
      if (!files.has(edition) && identityOf(monitored.copy) === file) files.set(edition, file);
      const isReadable = file !== '' && (files.get(edition) ?? file) === file;
      return { isReadable, copy: await readOnce(edition), surroundings };
    } catch {
      // Monitoring tells that it cannot be read, rather than fail to tell anything.
      return { isReadable: false, copy: null, surroundings };
    }
  };
}

function identityOf(path: string): string {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? '' : `${stats.dev}:${stats.ino}:${stats.mtimeNs}:${stats.size}`;
}
