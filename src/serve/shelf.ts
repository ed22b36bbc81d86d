import { statSync } from 'node:fs';
import { SightlineError } from '../base/errors.ts';
import { type Edition, type EditionOptions, openEdition } from './edition.ts';

/** How long a copy that was replaced stays open for questions that were asked of it. */
const GRACE_MS = 5_000;
/** How long a copy that could not be opened is left alone: what stood in the way may have been of the moment. */
const RETRY_MS = 5_000;

/** Holds the newest published copy open. */
export interface Shelf {
  /**
   * The newest copy that can be read; throws `no_data` while there is none. If the newest is damaged, or another version's,
   * the one before serves on, unless its own file was overwritten.
   */
  current(): Promise<Edition>;
  /** The copy that was opened last, if any. */
  opened(): Edition | null;
  close(): Promise<void>;
}

interface Held {
  readonly edition: Edition;
  readonly file: FileIdentity;
}

/** A file, and its content as far as size and time tell. */
interface FileIdentity {
  readonly inode: string;
  readonly content: string;
}

/** Looks at every question whether another copy was put in place, and goes over to it. */
export function createShelf(path: string, options: EditionOptions): Shelf {
  let held: Held | null = null;
  /** The newest file if it could not be opened, and why. */
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
      // Opening it again for every request would cost more than answering.
      const failed = { content: file.content, error: toNoData(thrown) };
      unreadable = failed;
      setTimeout(() => (unreadable = unreadable === failed ? null : unreadable), RETRY_MS).unref();
      if (held !== null && held.file.inode !== file.inode) return held.edition;
      // What was open is this very file, which somebody has overwritten.
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
        throw new SightlineError('no_data', 'nothing was published yet: the first sync has not ended');
      }
      // A copy that is being put in place may be gone for a moment; the one before serves on.
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

// An inode alone may be given to the next file, once nobody holds this one open.
function identityOf(path: string): FileIdentity | null {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  if (stats === undefined) return null;
  const inode = `${stats.dev}:${stats.ino}`;
  return { inode, content: `${inode}:${stats.mtimeNs}:${stats.size}` };
}

function toNoData(thrown: unknown): unknown {
  if (!(thrown instanceof SightlineError) || thrown.code !== 'warehouse_invalid') return thrown;
  const message = 'the published copy is damaged; the next sync or `sightline export` publishes it anew';
  return new SightlineError('no_data', message, { cause: thrown });
}
