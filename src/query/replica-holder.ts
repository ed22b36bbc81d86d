import { statSync } from 'node:fs';
import { SightlineError } from '../base/errors.ts';
import { type Edition, type EditionOptions, openEdition } from './open-replica.ts';

/** How long a replaced replica stays open for requests that already use it. */
const GRACE_MS = 5_000;
/** Delay before an unreadable replica is opened again, because the cause may be temporary. */
const RETRY_MS = 5_000;

/** Keeps the newest replica open. */
export interface Shelf {
  /**
   * Returns the newest readable replica. If the newest is damaged or has another schema version, the previous one stays
   * in use, unless its own file was overwritten.
   *
   * @throws SightlineError `no_data` if there is none yet
   */
  current(): Promise<Edition>;
  /** Returns the most recently opened replica, if any. */
  opened(): Edition | null;
  close(): Promise<void>;
}

interface Held {
  readonly edition: Edition;
  readonly file: FileIdentity;
}

/** Identity of a file; `content` also includes its size and modification time. */
interface FileIdentity {
  readonly inode: string;
  readonly content: string;
}

/** Creates a shelf. Every request checks whether the replica was replaced, and switches to the new one. */
export function createShelf(path: string, options: EditionOptions): Shelf {
  let held: Held | null = null;
  /** Identity of the newest file if it could not be opened, and the error. */
  let unreadable: { readonly content: string; readonly error: unknown } | null = null;
  let opening: { readonly done: Promise<Edition> } | null = null;
  const replaced = new Map<Edition, NodeJS.Timeout>();
  const closing = new Set<Promise<void>>();
  const retire = (edition: Edition): void => {
    const closed = edition.replica.close().finally(() => closing.delete(closed));
    closing.add(closed);
  };
  const retireLater = (edition: Edition): void => {
    const later = (): void => {
      replaced.delete(edition);
      retire(edition);
    };
    replaced.set(edition, setTimeout(later, GRACE_MS).unref());
  };
  const open = async (file: FileIdentity): Promise<Edition> => {
    try {
      const edition = await openEdition(path, options);
      if (held !== null) retireLater(held.edition);
      held = { edition, file };
      return edition;
    } catch (thrown) {
      // Opening the file again for every request would cost more than a response.
      const failed = { content: file.content, error: toNoData(thrown) };
      unreadable = failed;
      setTimeout(() => (unreadable = unreadable === failed ? null : unreadable), RETRY_MS).unref();
      if (held !== null && held.file.inode !== file.inode) return held.edition;
      // The file that is open was itself overwritten.
      if (held !== null) retireLater(held.edition);
      held = null;
      throw failed.error;
    } finally {
      opening = null;
    }
  };
  return {
    opened: () => held?.edition ?? null,
    current: async () => {
      const file = identityOf(path);
      if (file === null && held === null) {
        throw new SightlineError('no_data', 'no data published yet: the first sync has not finished');
      }
      // The file may be missing for a moment while it is replaced; keep using the open one.
      if (held !== null && (file === null || [held.file.content, unreadable?.content].includes(file.content)))
        return held.edition;
      if (unreadable !== null && unreadable.content === file?.content) throw unreadable.error;
      opening ??= { done: open(file as FileIdentity) };
      return opening.done;
    },
    close: async () => {
      await opening?.done.catch(() => undefined);
      for (const [edition, timer] of replaced) {
        clearTimeout(timer);
        retire(edition);
      }
      replaced.clear();
      if (held !== null) retire(held.edition);
      held = null;
      await Promise.all(closing);
    },
  };
}

// An inode alone is not enough: it may be reused once this file is closed.
function identityOf(path: string): FileIdentity | null {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  if (stats === undefined) return null;
  const inode = `${stats.dev}:${stats.ino}`;
  return { inode, content: `${inode}:${stats.mtimeNs}:${stats.size}` };
}

function toNoData(thrown: unknown): unknown {
  if (!(thrown instanceof SightlineError) || thrown.code !== 'warehouse_invalid') return thrown;
  const message = 'the published copy is damaged; run `sightline export` or wait for the next sync to replace it';
  return new SightlineError('no_data', message, { cause: thrown });
}
