import { SightlineError, toSightlineError } from '../base/errors.ts';
import { inSpan } from '../base/trace.ts';
import type { Snapshot } from '../snapshot/export.ts';
import { readManifest } from '../snapshot/manifest.ts';
import type { ObjectStore } from '../snapshot/object-store.ts';
import type { Tally } from '../snapshot/tables.ts';
import { heldHome } from './home.ts';
import type { Context } from './workspace.ts';

/** What became of a snapshot beyond the workspace's folder. */
export interface Publication {
  readonly kind: 's3';
  readonly bucket: string;
  /** What all keys of the workspace begin with; ends in a slash. */
  readonly prefix: string;
  /** Address of the folder in which `latest.json` is. */
  readonly location: string;
  /** Key of the snapshot's manifest, below the prefix. */
  readonly manifest: string;
  /** Whether `latest.json` leads to it, or to one whose data were read later. */
  readonly pointer: 'moved' | 'superseded';
  /** Id of the snapshot to which it leads. */
  readonly latest: string;
  readonly sent: Readonly<Tally>;
  /** Ids of the snapshots whose files were deleted there. */
  readonly deleted: readonly string[];
}

/**
 * Publishes a snapshot of the folder where the settings name another place too; null where they do not. Throws
 * `publish_failed`, and `config_invalid` where what that needs is not installed.
 */
export async function publishSnapshot(
  context: Context,
  snapshot: Pick<Snapshot, 'id' | 'path'>,
  onProgress: (progress: { done: number; of: number }) => void,
): Promise<Publication | null> {
  const { config, clock, signal } = context;
  return withStore(context, (store, target) =>
    inSpan('publish', {}, async () => {
      const manifest = await readManifest(snapshot.path);
      if (manifest === null) throw new SightlineError('publish_failed', `${snapshot.path} has no manifest any more`);
      const epoch = heldHome(config.folder)?.epoch ?? null;
      const { createStorePublisher } = await import('../snapshot/store-publisher.ts');
      const publisher = createStorePublisher(store, { clock, signal, onProgress, epoch });
      const placed = await publisher.put({ folder: snapshot.path, manifest });
      const pointer = await publisher.point(placed);
      const latest = pointer === 'moved' ? manifest.id : ((await publisher.latest())?.id ?? manifest.id);
      const prefix = store.location.slice(`s3://${target.bucket}/`.length);
      const key = placed.location.slice(store.location.length);
      const deleted = await retained(() => publisher.retain(config.keep, clock.now()));
      const where = { kind: 's3', bucket: target.bucket, prefix, location: store.location } as const;
      return { ...where, manifest: key, pointer, latest, sent: placed.sent, deleted };
    }),
  );
}

/** Throws `config_invalid` where what publishing needs is not installed; asks the object store nothing. */
export async function checkPublishable(context: Context): Promise<void> {
  await withStore(context, async () => undefined);
}

/** Deletes what is not to be kept where snapshots are published beyond the folder; returns ids. Throws `publish_failed`. */
export async function retainPublished(context: Context): Promise<string[]> {
  const { config, clock, signal } = context;
  const deleted = await withStore(context, async (store) => {
    const { retainStored } = await import('../snapshot/store-retention.ts');
    return retainStored(store, config.keep, clock.now(), { clock, signal });
  });
  return deleted ?? [];
}

/** Opens the object store of the settings for as long as the work takes; null, and no work, where they name none. */
export async function withStore<T>(
  { config, signal }: Context,
  work: (store: ObjectStore, target: { readonly bucket: string }) => Promise<T>,
): Promise<T | null> {
  const { publish } = config;
  if (publish.kind === 'folder') return null;
  const { openS3Store } = await import('../snapshot/s3-store.ts');
  const store = await openS3Store(publish, { folder: config.name, signal });
  try {
    return await work(store, publish);
  } finally {
    store.close();
  }
}

async function retained(work: () => Promise<string[]>): Promise<string[]> {
  try {
    return await work();
  } catch (thrown) {
    const { code, message } = toSightlineError(thrown);
    const said = `the snapshot is published, but older ones could not be deleted: ${message}`;
    throw code === 'interrupted' ? thrown : new SightlineError(code, said, { cause: thrown });
  }
}
