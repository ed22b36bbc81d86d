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
   * The newest copy that can be read; throws `no_data` while there is none. Where the newest is damaged, or is another
   * version's, the one before serves on.
   */
  current(): Promise<Edition>;
  /** The copy that was opened last, if any. */
  opened(): Edition | null;
  close(): Promise<void>;
}

interface Held {
  readonly edition: Edition;
  /** Identity of the file, and of its content. */
  readonly file: string;
}

/** Looks at every question whether another copy was put in place, and goes over to it. */
export function createShelf(path: string, options: EditionOptions): Shelf {
  let held: Held | null = null;
  let unreadable: string | null = null;
  let opening: { readonly file: string; readonly done: Promise<Edition> } | null = null;
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
  const open = async (file: string): Promise<Edition> => {
    try {
      const edition = await openEdition(path, options);
      if (held !== null) retireLater(held.edition);
      held = { edition, file };
      return edition;
    } catch (thrown) {
      if (held === null) throw toNoData(thrown);
      // Opening it again at every question would cost more than answering.
      unreadable = file;
      setTimeout(() => (unreadable = unreadable === file ? null : unreadable), RETRY_MS).unref();
      return held.edition;
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
      if (held !== null && (file === null || file === held.file || file === unreadable)) return held.edition;
      opening ??= { file: file as string, done: open(file as string) };
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
function identityOf(path: string): string | null {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? null : `${stats.dev}:${stats.ino}:${stats.mtimeNs}:${stats.size}`;
}

function toNoData(thrown: unknown): unknown {
  if (!(thrown instanceof SightlineError) || thrown.code !== 'warehouse_invalid') return thrown;
  return new SightlineError('no_data', 'the published copy cannot be read; the next sync renews it', { cause: thrown });
}
