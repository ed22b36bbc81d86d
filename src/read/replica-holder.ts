import { statSync } from 'node:fs';
import { SightlineError } from '../base/errors.ts';
import { evictBlocks } from '../warehouse/replica.ts';
import { openServedReplica, type ServedReplica, type ServedReplicaOptions } from './open-replica.ts';

/** How long a replaced replica stays open for requests that already use it. */
const GRACE_MS = 5_000;
/** Delay before an unreadable replica is opened again, because the cause may be temporary. */
const RETRY_MS = 5_000;

/** Keeps the newest replica open. */
export interface ReplicaHolder {
  /**
   * Returns the newest readable replica. If the newest is damaged or has another schema version, the previous one stays
   * in use, unless its own file was overwritten.
   *
   * @throws SightlineError `no_data` if there is none yet
   */
  current(): Promise<ServedReplica>;
  /** Returns the most recently opened replica, if any. */
  opened(): ServedReplica | null;
  close(): Promise<void>;
}

interface Held {
  readonly replica: ServedReplica;
  readonly file: FileIdentity;
}

/** Identity of a file; `content` also includes its size, its modification time, and the version of the marks. */
interface FileIdentity {
  readonly inode: string;
  readonly content: string;
}

/** Creates a shelf. Every request checks whether the replica was replaced, and switches to the new one. */
export function createReplicaHolder(path: string, options: ServedReplicaOptions): ReplicaHolder {
  let held: Held | null = null;
  /** Identity of the newest file if it could not be opened, and the error. */
  let unreadable: { readonly content: string; readonly error: unknown } | null = null;
  let opening: { readonly done: Promise<ServedReplica> } | null = null;
  const replaced = new Map<ServedReplica, NodeJS.Timeout>();
  const closing = new Set<Promise<void>>();
  const retire = (replica: ServedReplica): void => {
    const closed = replica.replica.close().finally(() => closing.delete(closed));
    closing.add(closed);
  };
  const retireLater = (replica: ServedReplica): void => {
    const later = (): void => {
      replaced.delete(replica);
      retire(replica);
    };
    replaced.set(replica, setTimeout(later, GRACE_MS).unref());
  };
  const open = async (file: FileIdentity): Promise<ServedReplica> => {
    try {
      const replica = await openServedReplica(path, options);
      // The fingerprints were read from all tables, of which requests need few blocks.
      await replica.replica.work((query) => evictBlocks(query, options.replica)).catch(() => undefined);
      if (held !== null) retireLater(held.replica);
      held = { replica, file };
      return replica;
    } catch (thrown) {
      // Opening the file again for every request would cost more than a response.
      const failed = { content: file.content, error: toNoData(thrown) };
      unreadable = failed;
      setTimeout(() => (unreadable = unreadable === failed ? null : unreadable), RETRY_MS).unref();
      if (held !== null && held.file.inode !== file.inode) return held.replica;
      // The file that is open was itself overwritten.
      if (held !== null) retireLater(held.replica);
      held = null;
      throw failed.error;
    } finally {
      opening = null;
    }
  };
  return {
    opened: () => held?.replica ?? null,
    current: async () => {
      const file = identityOf(path, options.marks?.version());
      if (file === null && held === null) {
        throw new SightlineError('no_data', 'no data published yet: the first sync has not finished');
      }
      // The file may be missing for a moment while it is replaced; keep using the open one.
      if (held !== null && (file === null || [held.file.content, unreadable?.content].includes(file.content)))
        return held.replica;
      if (unreadable !== null && unreadable.content === file?.content) throw unreadable.error;
      opening ??= { done: open(file as FileIdentity) };
      return opening.done;
    },
    close: async () => {
      await opening?.done.catch(() => undefined);
      for (const [replica, timer] of replaced) {
        clearTimeout(timer);
        retire(replica);
      }
      replaced.clear();
      if (held !== null) retire(held.replica);
      held = null;
      await Promise.all(closing);
    },
  };
}

// An inode alone is not enough: it may be reused once this file is closed.
function identityOf(path: string, marks = ''): FileIdentity | null {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  if (stats === undefined) return null;
  const inode = `${stats.dev}:${stats.ino}`;
  return { inode, content: `${inode}:${stats.mtimeNs}:${stats.size}:${marks}` };
}

function toNoData(thrown: unknown): unknown {
  if (!(thrown instanceof SightlineError) || thrown.code !== 'warehouse_invalid') return thrown;
  const message = 'the replica is damaged; run `sightline export` or wait for the next sync to replace it';
  return new SightlineError('no_data', message, { cause: thrown });
}
