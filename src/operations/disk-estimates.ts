import { existsSync, statSync } from 'node:fs';
import type { WorkspaceConfig } from '../base/config/config.ts';
import type { DiskNeed } from '../base/disk-need.ts';
import { layoutOf } from '../publish/snapshot/layout.ts';
import { databaseBytes } from '../warehouse/file/copy-database.ts';

/**
 * Least free space for a sync, in bytes. Measured for a first sync: 84 MB of temporary files during a checkpoint, 32 MB of log,
 * 32 MB of raw pages until the file is rotated; the rest is for the new rows.
 */
export const SYNC_BYTES_MIN = 200_000_000;

/** Least estimate for a copy of data, in bytes. */
const COPY_BYTES_MIN = 1_000_000;

/** Space for a sync: the next replica, which is written beside the present one, and `SYNC_BYTES_MIN`. */
export function estimateSync({ folder }: Pick<WorkspaceConfig, 'folder'>): DiskNeed {
  const { analytics } = layoutOf(folder);
  // A file in place of the folder is reported by the step that creates the folder.
  const copy = existsSync(analytics) ? statSync(analytics).size : 0;
  return { folder, bytes: copy + SYNC_BYTES_MIN, by: 'a sync' };
}

/** Space for a copy of the workspace's data in `folder`: the size of its largest database file. */
export function estimateCopy(
  config: Pick<WorkspaceConfig, 'folder'>,
  { folder, by, unchanged }: Pick<DiskNeed, 'folder' | 'by' | 'unchanged'>,
): DiskNeed {
  const { warehouse, analytics } = layoutOf(config.folder);
  const bytes = Math.max(COPY_BYTES_MIN, databaseBytes(warehouse), databaseBytes(analytics));
  return { folder, bytes, by, ...(unchanged === undefined ? {} : { unchanged }) };
}
