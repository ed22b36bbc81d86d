import { existsSync } from 'node:fs';
import type { WorkspaceConfig } from '../base/config/config.ts';
import { inSpan } from '../base/trace.ts';
import { publishedMarts } from '../metrics/marts/published.ts';
import { layoutOf } from '../publish/snapshot/layout.ts';
import { exportSnapshot, type Snapshot } from '../publish/snapshot/snapshot-export.ts';
import { noData } from '../workspace/newest-replica.ts';
import { withSession } from '../workspace/session.ts';
import { type Context, type Opened, publishIfOutdated, withWarehouse } from '../workspace/workspace.ts';
import { checkPublishable, type Publication, publishSnapshot } from './publish.ts';

/** Enough to sort and write two files; larger sorts spill to disk. Each session of an export runs its statements on one thread. */
const EXPORT_RESOURCES = { memoryLimitMb: 384, threads: 1 };

/** Progress of an export: `table` is the table being written, or null while files are uploaded. */
export interface ExportProgress {
  readonly table: string | null;
  readonly done: number;
  readonly of: number;
}

/** A written snapshot, and where it was published. */
export type Exported = Snapshot & { readonly published: Publication | null };

/** Writes a Parquet snapshot to the workspace folder, then uploads it if `publish` names another place. */
export function exportWorkspace(
  context: Context,
  onProgress: (progress: ExportProgress) => void,
  changes: Partial<Pick<WorkspaceConfig, 'compression'>> = {},
): Promise<Exported> {
  // Publish before the lease is released. A later holder publishes newer data, so the order stays correct.
  return withSession(context, 'wait', (inside) => exportHere(inside, onProgress, changes));
}

async function exportHere(
  context: Context,
  onProgress: (progress: ExportProgress) => void,
  changes: Partial<Pick<WorkspaceConfig, 'compression'>>,
): Promise<Exported> {
  const { clock, signal } = context;
  const config = { ...context.config, ...changes };
  if (!existsSync(layoutOf(config.folder).warehouse)) throw noData(config);
  const work = async ({ warehouse, layout, copy }: Opened): Promise<Snapshot> => {
    // A killed sync may have committed pages after the last replica was published.
    await publishIfOutdated(warehouse, layout, copy);
    const { compression, parquet, keep } = config;
    const marts = publishedMarts(config.marts);
    const options = { compression, parquet, keep, marts, clock, signal, onProgress };
    return exportSnapshot(warehouse.database, warehouse.catalogue, layout, options);
  };
  return inSpan('export', {}, async () => {
    await checkPublishable(context);
    const snapshot = await withWarehouse(context, EXPORT_RESOURCES, work);
    // A snapshot is immutable, so other processes may use the warehouse during the upload.
    const published = await publishSnapshot(context, snapshot, (sent) => onProgress({ table: null, ...sent }));
    return { ...snapshot, published };
  });
}
