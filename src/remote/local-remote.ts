import { stat } from 'node:fs/promises';
import type { Layout } from '../snapshot/layout.ts';
import type { Remote } from './remote.ts';

/**
 * The driver for a workspace whose data stay in its own folder. Nothing is transferred, and the warehouse's own lock
 * protects it.
 */
export function createLocalRemote({ analytics }: Pick<Layout, 'analytics'>): Remote {
  return {
    checkOut: async () => ({
      epoch: 0,
      lost: new AbortController().signal,
      journal: null,
      checkIn: async () => null,
      keepFiles: async () => undefined,
      release: async () => undefined,
    }),
    fetchCopy: async (path, known) => {
      const found = path === analytics ? await stat(path).catch(() => null) : null;
      if (found === null) return null;
      const version = `${found.mtimeMs} ${found.size}`;
      return { version, isNew: version !== known, savedAt: found.mtime.toISOString() };
    },
    state: async () => null,
    close: () => undefined,
  };
}
