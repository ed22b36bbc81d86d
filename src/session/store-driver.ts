import { stat, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import type { Clock } from '../base/clock.ts';
import type { WorkspaceConfig } from '../base/config/config.ts';
import type { CheckedOut, Journal } from '../remote/remote.ts';
import { layoutOf } from '../snapshot/layout.ts';
import { type Grant, once, type SessionDriver } from './driver.ts';
import { noteVersion } from './remote-replica.ts';
import { openRemote } from './remote-stores.ts';
import { withStore } from './storage-location.ts';

/** The lease on a remote warehouse. Releasing it first saves the folder there, and throws `lease_lost` and `remote_failed`. */
export interface StoreGrant extends Grant {
  readonly epoch: number;
  readonly journal: Journal | null;
  /** Saves the job log and the notification state at once. Throws `lease_lost` and `remote_failed`. */
  keepFiles(): Promise<void>;
}

/** Dependencies of `createStoreDriver`. */
export interface StoreDriverParts {
  readonly config: Pick<WorkspaceConfig, 'name' | 'folder' | 'remote' | 'publish'>;
  readonly clock: Clock;
  /** ID of the queue task for which the session is entered, or null. A retry of the task takes over the lease at once. */
  readonly task: string | null;
}

/**
 * Creates the driver that excludes other machines from a remote warehouse: a lease in the object store, whose holder has the
 * warehouse in its local folder. It has no queue, so it also refuses requests that could wait.
 */
export function createStoreDriver(parts: StoreDriverParts): SessionDriver<StoreGrant> {
  return {
    acquire: async ({ command, signal }) => {
      const { config, clock, task } = parts;
      const remote = await openRemote({ config, clock });
      try {
        const name = `\`sightline ${command}\` on ${hostname()} (process ${process.pid})`;
        const out = await remote.checkOut({ name, via: task }, signal);
        try {
          await fencePublished(parts, out);
        } catch (thrown) {
          await out.release();
          throw thrown;
        }
        const { epoch, lost, journal, keepFiles } = out;
        return { epoch, lost, journal, keepFiles, release: once(() => saveAndRelease(parts, out)) };
      } finally {
        remote.close();
      }
    },
  };
}

// Revokes the right of earlier lease holders to publish.
async function fencePublished({ config, clock }: StoreDriverParts, { epoch, lost }: CheckedOut): Promise<void> {
  await withStore({ config, signal: lost }, async (store) => {
    const { raiseFence } = await import('../lake/fence.ts');
    await raiseFence(store, epoch, clock, lost);
  });
}

async function saveAndRelease({ config }: StoreDriverParts, out: CheckedOut): Promise<void> {
  try {
    await save(config.folder, out);
    out.lost.throwIfAborted();
  } catch (thrown) {
    out.lost.throwIfAborted();
    throw thrown;
  } finally {
    await out.release();
  }
}

async function save(folder: string, out: CheckedOut): Promise<void> {
  const { analytics, warehouse } = layoutOf(folder);
  const modified = async (path: string): Promise<number> => (await stat(path).catch(() => null))?.mtimeMs ?? 0;
  const live = Math.max(await modified(warehouse), await modified(`${warehouse}.wal`));
  const isCurrent = (await modified(analytics)) >= live && live > 0;
  const version = await out.checkIn();
  if (!isCurrent || version === null) return;
  // Checkpointing touched the warehouse file after the replica was made, but their content is the same.
  const now = new Date();
  await utimes(analytics, now, now);
  await noteVersion(folder, version);
}
