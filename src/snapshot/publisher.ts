import type { Manifest } from './manifest.ts';
import type { Keep } from './retention.ts';
import type { Tally } from './tables.ts';

/** A snapshot that stands whole in a folder of its own: its files, and the manifest that names them. */
export interface StagedSnapshot {
  readonly folder: string;
  readonly manifest: Manifest;
}

/** A snapshot that is in its place, and to which readers may be led. */
export interface PlacedSnapshot {
  readonly id: string;
  /** Its own address, which never changes: a folder, or an object's. */
  readonly location: string;
  /** What had to be brought; all other files were there. */
  readonly sent: Readonly<Tally>;
}

/** What readers are led to. */
export interface LatestSnapshot {
  readonly id: string;
  /** When its data were read, ISO 8601. */
  readonly createdAt: string;
}

/**
 * A place where snapshots are published. What is in place never changes; readers are led to it in one step, and to nothing
 * older than before; whatever stops a publisher leaves the last snapshot standing.
 */
export interface Publisher<P extends PlacedSnapshot = PlacedSnapshot> {
  /** Null where nothing was published. */
  latest(): Promise<LatestSnapshot | null>;
  /** Brings files and then the manifest into place, unseen by who asks for the latest. */
  put(staged: StagedSnapshot): Promise<P>;
  /** Leads readers to it, unless they are led to a newer one by now: `superseded`. */
  point(placed: P): Promise<'moved' | 'superseded'>;
  /** Deletes what is not to be kept and no reader can still want; `now` is epoch milliseconds. Gives ids. */
  retain(keep: Keep, now: number): Promise<string[]>;
}
