import { SightlineError, toSightlineError } from '../base/errors.ts';
import { inSpan } from '../base/trace.ts';
import type { Snapshot } from '../snapshot/export.ts';
import { layoutOf } from '../snapshot/layout.ts';
import { readManifest } from '../snapshot/manifest.ts';
import type { ObjectStore } from '../snapshot/object-store.ts';
import type { Publisher } from '../snapshot/publisher.ts';
import type { StoredSnapshot } from '../snapshot/store-publisher.ts';
import type { Tally } from '../snapshot/tables.ts';
import { heldHome } from './home.ts';
import { withStore } from './place.ts';
import { type Context, catalogue } from './workspace.ts';

/** What became of a snapshot beyond the workspace's folder. */
export interface Publication {
  readonly kind: 's3' | 'iceberg';
  /** Null in a folder of a file system. */
  readonly bucket: string | null;
  /** What all keys of the workspace begin with; ends in a slash. Null in a folder of a file system, too. */
  readonly prefix: string | null;
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
  const { config, clock } = context;
  return withStore(context, (store, place) =>
    inSpan('publish', {}, async () => {
      const manifest = await readManifest(snapshot.path);
      if (manifest === null) throw new SightlineError('publish_failed', `${snapshot.path} has no manifest any more`);
      const publisher = await openPublisher(context, store, onProgress);
      const placed = await publisher.put({ folder: snapshot.path, manifest });
      const pointer = await publisher.point(placed);
      const latest = pointer === 'moved' ? manifest.id : ((await publisher.latest())?.id ?? manifest.id);
      const bucket = place.kind === 's3' ? place.bucket : null;
      const prefix = bucket === null ? null : store.location.slice(`s3://${bucket}/`.length);
      const key = placed.location.slice(store.location.length);
      const deleted = await retained(() => publisher.retain(config.keep, clock.now()));
      const kind = config.publish.kind === 'iceberg' ? 'iceberg' : 's3';
      const where = { kind, bucket, prefix, location: store.location } as const;
      return { ...where, manifest: key, pointer, latest, sent: placed.sent, deleted };
    }),
  );
}

/** Throws `config_invalid` where what publishing needs is not installed; asks the object store nothing. */
export async function checkPublishable(context: Context): Promise<void> {
  await withStore(context, async () => {
    if (context.config.publish.kind === 'iceberg') (await import('../snapshot/iceberg-engine.ts')).findEngine();
  });
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

async function openPublisher(
  { config, clock, signal }: Context,
  store: ObjectStore,
  onProgress: (progress: { done: number; of: number }) => void,
): Promise<Publisher<StoredSnapshot>> {
  const epoch = heldHome(config.folder)?.epoch ?? null;
  const options = { clock, signal, onProgress, epoch };
  if (config.publish.kind !== 'iceberg') {
    const { createStorePublisher } = await import('../snapshot/store-publisher.ts');
    return createStorePublisher(store, options);
  }
  const { createIcebergPublisher } = await import('../snapshot/iceberg-publisher.ts');
  const times = new Map([...catalogue.tables, ...catalogue.histories].map(({ name, time }) => [name, time ?? null]));
  const timeOf = (table: string): string | null => times.get(table) ?? null;
  const { sending } = layoutOf(config.folder);
  return createIcebergPublisher(store, { ...options, keep: config.keep, timeOf, sending });
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
