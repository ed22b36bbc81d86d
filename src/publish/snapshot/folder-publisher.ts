import { readlink, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { swapSymlink, syncToDisk } from '../../base/files.ts';
import type { Layout } from './layout.ts';
import { type Manifest, readManifest } from './manifest.ts';
import type { PlacedSnapshot, Publisher, StagedSnapshot } from './publisher.ts';
import { applyRetention } from './retention.ts';
import type { FileCounts } from './table-export.ts';

/** A snapshot in its final place in a folder. */
export interface FolderSnapshot extends PlacedSnapshot {
  readonly manifest: Manifest;
}

/**
 * Publishes into a workspace's folder. A snapshot is moved there by rename, and `latest` is a symlink that is swapped.
 */
export function createFolderPublisher({ snapshots, latest }: Pick<Layout, 'snapshots' | 'latest'>) {
  const readLatest = (): Promise<string | null> => readlink(latest).catch(() => null);
  const publisher: Publisher<FolderSnapshot> = {
    latest: async () => {
      const manifest = (await readLatest()) === null ? null : await readManifest(latest);
      return manifest === null ? null : { id: manifest.id, createdAt: manifest.createdAt };
    },
    put: async ({ folder, manifest }: StagedSnapshot) => {
      const location = join(snapshots, manifest.id);
      await rename(folder, location);
      await syncToDisk(snapshots);
      return { id: manifest.id, location, manifest, sent: totalOf(manifest) };
    },
    point: async ({ id, manifest }) => {
      const current = await readLatest();
      // Only the owner of the warehouse publishes, so `latest` differs from `previous` only if the owner has changed
      // meanwhile. Do not replace a newer snapshot.
      if (current !== null && current !== manifest.previous && current !== id) {
        const other = await readManifest(join(snapshots, current));
        if (other !== null && Date.parse(other.createdAt) > Date.parse(manifest.createdAt)) return 'superseded';
      }
      await swapSymlink(id, latest);
      return 'moved';
    },
    retain: (keep, now) => applyRetention({ snapshots, latest }, keep, now),
  };
  return publisher;
}

function totalOf({ tables }: Manifest): FileCounts {
  const files = tables.flatMap((table) => table.files);
  return { files: files.length, bytes: files.reduce((sum, { bytes }) => sum + bytes, 0) };
}
