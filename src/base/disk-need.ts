import { SightlineError, toSightlineError } from './errors.ts';
import { describeFree, freeBytes, megabytes } from './free-space.ts';

/** Estimated need of disk space. */
export interface DiskNeed {
  /** Folder that is written to. It need not exist yet. */
  readonly folder: string;
  readonly bytes: number;
  /** What needs the space, as the subject of a sentence: `a sync`. */
  readonly by: string;
  /** What is unchanged after the failure, as a sentence part; committed data are always kept. */
  readonly unchanged?: string;
}

/** `disk_full` with the folder, its free bytes and the needed bytes. */
class DiskFull extends SightlineError {
  constructor({ folder, bytes, by, unchanged }: DiskNeed, options?: ErrorOptions) {
    const kept = unchanged === undefined ? '' : `; ${unchanged}`;
    super('disk_full', `${describeFree(folder)}, and ${by} needs about ${megabytes(bytes)}${kept}`, options);
    this.name = 'DiskFull';
  }
}

/**
 * Checks that the disk has room, before anything is written.
 * @throws `disk_full`
 */
export function checkRoom(need: DiskNeed): void {
  const free = freeBytes(need.folder);
  if (free !== null && free < need.bytes) throw new DiskFull(need);
}

/**
 * Adds the folder, its free bytes and the needed bytes to the error of a full disk, which becomes its cause. Returns other
 * errors unchanged.
 */
export function explainFullDisk<E>(thrown: E, need: DiskNeed): E | SightlineError {
  if (thrown instanceof DiskFull || toSightlineError(thrown).code !== 'disk_full') return thrown;
  return new DiskFull(need, { cause: thrown });
}

/**
 * Runs work that writes to a disk, and describes a full disk by `need`. Free space is measured after the work has removed its
 * temporary files.
 * @throws `disk_full`, and the errors of the work
 */
export async function withDiskNeed<T>(need: DiskNeed, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    throw explainFullDisk(thrown, need);
  }
}
