import type { WorkspaceConfig } from '../base/config/config.ts';
import type { PublishLocation } from '../base/config/publish-settings.ts';
import type { ObjectStore } from '../storage/object-store.ts';

/**
 * Opens the place to which the workspace's snapshots are published, and closes it after the work. Returns null
 * without calling `work` if the settings name none.
 *
 * @throws `config_invalid` if a required package is not installed.
 */
export async function withStore<T>(
  { config, signal }: { readonly config: Pick<WorkspaceConfig, 'name' | 'publish'>; readonly signal: AbortSignal },
  work: (store: ObjectStore, place: PublishLocation) => Promise<T>,
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

async function openPlace(
  place: PublishLocation,
  options: { folder: string; signal: AbortSignal },
): Promise<ObjectStore> {
  if (place.kind === 'folder') {
    const { openFolderStore } = await import('../storage/folder-store.ts');
    return openFolderStore(place.path, options);
  }
  const { openS3Store } = await import('../storage/s3-store.ts');
  return openS3Store(place, options);
}
