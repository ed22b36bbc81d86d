import { z } from 'zod';
import { SightlineError, toSightlineError } from '../base/errors.ts';
import { inSpan } from '../base/trace.ts';
import { fileCounts, type ValueOf } from '../contract/operation/json-parts.ts';
import { readManifest } from '../publish/snapshot/manifest.ts';
import type { Snapshot } from '../publish/snapshot/snapshot-export.ts';
import { withStore } from '../workspace/storage-location.ts';
import type { Context } from '../workspace/workspace.ts';

/** Where a snapshot was published. */
export const publication = z.object({
  kind: z.literal('s3'),
  bucket: z.string(),
  prefix: z.string().describe('key prefix of the workspace, ending in a slash'),
  location: z.string().describe('address of the folder that contains `latest.json`'),
  manifest: z.string().describe("key of the snapshot's manifest, below the prefix"),
  pointer: z
    .enum(['moved', 'superseded'])
    .describe('`moved` if `latest.json` points to this snapshot, `superseded` if to one with newer data'),
  latest: z.string().describe('ID of the snapshot that `latest.json` points to'),
  sent: fileCounts,
  deleted: z.array(z.string()).describe('IDs of the snapshots that were deleted there'),
});

/** Where a snapshot was published. */
export type Publication = ValueOf<typeof publication>;

/**
 * Publishes a snapshot to the place beyond the folder that the settings name. Returns null if they name none.
 *
 * @throws `publish_failed`, and `config_invalid` if a required package is not installed.
 */
export async function publishSnapshot(
  context: Context,
  snapshot: Pick<Snapshot, 'id' | 'path'>,
  onProgress: (progress: { done: number; of: number }) => void,
): Promise<Publication | null> {
  const { config, clock, signal, session } = context;
  return withStore(context, (store, { bucket }) =>
    inSpan('publish', {}, async () => {
      const manifest = await readManifest(snapshot.path);
      if (manifest === null) throw new SightlineError('publish_failed', `${snapshot.path} no longer has a manifest`);
      const { createStorePublisher } = await import('../publish/lake/store-publisher.ts');
      const publisher = createStorePublisher(store, { clock, signal, onProgress, epoch: session?.epoch ?? null });
      const placed = await publisher.put({ folder: snapshot.path, manifest });
      const pointer = await publisher.point(placed);
      const latest = pointer === 'moved' ? manifest.id : ((await publisher.latest())?.id ?? manifest.id);
      const prefix = store.location.slice(`s3://${bucket}/`.length);
      const key = placed.location.slice(store.location.length);
      const deleted = await retained(() => publisher.retain(config.keep, clock.now()));
      const where = { kind: 's3', bucket, prefix, location: store.location } as const;
      return { ...where, manifest: key, pointer, latest, sent: placed.sent, deleted };
    }),
  );
}

/** Checks without network access that publishing is possible. Throws `config_invalid` if a required package is missing. */
export async function checkPublishable(context: Context): Promise<void> {
  await withStore(context, async () => undefined);
}

/** Deletes expired snapshots from the place beyond the folder and returns their IDs. Throws `publish_failed`. */
export async function retainPublished(context: Context): Promise<string[]> {
  const { config, clock, signal } = context;
  const deleted = await withStore(context, async (store) => {
    const { retainStored } = await import('../publish/lake/lake-retention.ts');
    return retainStored(store, config.keep, clock.now(), { clock, signal });
  });
  return deleted ?? [];
}

async function retained(work: () => Promise<string[]>): Promise<string[]> {
  try {
    return await work();
  } catch (thrown) {
    const { code, message } = toSightlineError(thrown);
    const explanation = `the snapshot is published, but older ones could not be deleted: ${message}`;
    throw code === 'interrupted' ? thrown : new SightlineError(code, explanation, { cause: thrown });
  }
}
