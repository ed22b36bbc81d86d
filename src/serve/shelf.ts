import { statSync } from 'node:fs';
import { SightlineError } from '../base/errors.ts';
import { type Edition, type EditionOptions, openEdition } from './edition.ts';

/** How long a copy that was replaced stays open for questions that were asked of it. */
const GRACE_MS = 5_000;

/** Holds the newest published copy open. */
export interface Shelf {
  /** The newest copy; throws `no_data` while there is none. */
  current(): Promise<Edition>;
  /** The copy that was opened last, if any. */
  opened(): Edition | null;
  close(): Promise<void>;
}

interface Held {
  readonly edition: Edition;
  /** Identity of the file; while it is held open no other file can have the same. */
  readonly file: string;
}

/** Looks at every question whether another copy was put in place, and goes over to it. */
export function createShelf(path: string, options: EditionOptions): Shelf {
  let held: Held | null = null;
  let opening: { readonly file: string; readonly done: Promise<Edition> } | null = null;
  const replaced = new Map<Edition, NodeJS.Timeout>();
  const closing = new Set<Promise<void>>();
  const retire = (edition: Edition): void => {
    const closed = edition.replica.close().finally(() => closing.delete(closed));
    closing.add(closed);
  };
  const open = async (file: string): Promise<Edition> => {
    try {
      const edition = await openEdition(path, options);
      if (held !== null) {
        const { edition: old } = held;
        const later = (): void => {
          replaced.delete(old);
          retire(old);
        };
        replaced.set(old, setTimeout(later, GRACE_MS).unref());
      }
      held = { edition, file };
      return edition;
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
      if (held !== null && (file === null || held.file === file)) return held.edition;
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

function identityOf(path: string): string | null {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? null : `${stats.dev}:${stats.ino}`;
}
