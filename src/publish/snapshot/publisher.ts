import type { Manifest } from './manifest.ts';
import type { Keep } from './retention.ts';
import type { FileCounts } from './table-export.ts';

/** A complete snapshot in a folder of its own: its files, and the manifest that names them. */
export interface StagedSnapshot {
  readonly folder: string;
  readonly manifest: Manifest;
}

/** A snapshot in its final place, which may become the latest. */
export interface PlacedSnapshot {
  readonly id: string;
  /** Permanent address of the snapshot: a folder or an object. */
  readonly location: string;
  /** Files that had to be transferred; all others were already there. */
  readonly sent: Readonly<FileCounts>;
}

/** The snapshot that readers see. */
export interface LatestSnapshot {
  readonly id: string;
  /** When its data were read, ISO 8601. */
  readonly createdAt: string;
}

/**
 * A place to which snapshots are published. Published files never change. Readers move to a new snapshot in one step,
 * and never to an older one. If a publisher fails, the last snapshot stays in place.
 * @example
 * const placed = await publisher.put({ folder, manifest });
 * await publisher.point(placed); // 'moved', or 'superseded' if a newer snapshot is the latest
 */
export interface Publisher<P extends PlacedSnapshot = PlacedSnapshot> {
  /** Returns null if nothing was published. */
  latest(): Promise<LatestSnapshot | null>;
  /** Transfers the files, then the manifest, without changing the latest snapshot. */
  put(staged: StagedSnapshot): Promise<P>;
  /** Makes a snapshot the latest, or returns `superseded` if a newer one already is. */
  point(placed: P): Promise<'moved' | 'superseded'>;
  /** Deletes expired snapshots that no reader can still use and returns their ids; `now` is epoch milliseconds. */
  retain(keep: Keep, now: number): Promise<string[]>;
}
