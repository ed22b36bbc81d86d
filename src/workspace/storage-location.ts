import type { WorkspaceConfig } from '../base/config/config.ts';
import type { S3Target } from '../base/config/publish-settings.ts';
import type { ObjectStore } from '../publish/storage/object-store.ts';

/**
 * Opens the bucket to which the workspace's snapshots are published, and closes it after the work. Returns null
 * without calling `work` if the settings name none.
 *
 * @throws `config_invalid` if a required package is not installed.
 */
export async function withStore<T>(
  { config, signal }: { readonly config: Pick<WorkspaceConfig, 'name' | 'publish'>; readonly signal: AbortSignal },
  work: (store: ObjectStore, target: S3Target) => Promise<T>,
): Promise<T | null> {
  const { publish } = config;
  if (publish.kind === 'folder') return null;
  const { openS3Store } = await import('../publish/storage/s3-store.ts');
  const store = await openS3Store(publish, { folder: config.name, signal });
  try {
    return await work(store, publish);
  } finally {
    store.close();
  }
}
