import type { WorkspaceConfig } from '../base/config.ts';
import type { PublishPlace } from '../base/publish-settings.ts';
import type { ObjectStore } from '../snapshot/object-store.ts';

/**
 * Opens the place beyond the workspace's folder in which its snapshots are published, for as long as the work takes; null, and
 * no work, where the settings name none. Throws `config_invalid` where what that needs is not installed.
 */
export async function withStore<T>(
  { config, signal }: { readonly config: Pick<WorkspaceConfig, 'name' | 'publish'>; readonly signal: AbortSignal },
  work: (store: ObjectStore, place: PublishPlace) => Promise<T>,
): Promise<T | null> {
  const { publish } = config;
  if (publish.kind === 'folder') return null;
  const place = publish.kind === 'iceberg' ? publish.place : publish;
  const store = await openPlace(place, { folder: config.name, signal });
  try {
    return await work(store, place);
  } finally {
    store.close();
  }
}

async function openPlace(place: PublishPlace, options: { folder: string; signal: AbortSignal }): Promise<ObjectStore> {
  if (place.kind === 'folder') {
    const { openFolderStore } = await import('../snapshot/folder-store.ts');
    return openFolderStore(place.path, options);
  }
  const { openS3Store } = await import('../snapshot/s3-store.ts');
  return openS3Store(place, options);
}
