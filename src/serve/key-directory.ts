import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { SightlineError } from '../base/errors.ts';
import { keyFilePath, readKeyFile } from './key-file.ts';

/**
 * Minimum interval between checks of the key files for unknown keys, so that guessing does not slow down other clients.
 */
const LOOK_EVERY_MS = 250;

/** Finds the workspace of an API key if one address serves several workspaces. */
export interface KeyDirectory {
  /**
   * Returns the workspace whose key file contains the key, without checking its expiry. Returns null if the key is
   * unknown or is in the files of two workspaces. A new key is found within 250 ms.
   */
  find(text: string): string | null;
  /** Number of keys. */
  count(): number;
}

/** Options of a key directory. */
export interface KeyDirectoryOptions {
  /** Returns the current folder of each workspace. */
  readonly folders: () => ReadonlyMap<string, string>;
  /** Monotonic clock in milliseconds. */
  readonly monotonic: () => number;
  /** Called once per state of a file that cannot be read or that shares a key with another workspace. */
  readonly onDamage: (workspace: string, error: unknown) => void;
}

interface Shelf {
  readonly seen: string;
  readonly hashes: readonly string[];
}

/** Creates a directory of the keys of all workspaces. Key files may appear, change and disappear. */
export function createKeyDirectory({ folders, monotonic, onDamage }: KeyDirectoryOptions): KeyDirectory {
  const shelves = new Map<string, Shelf>();
  const owners = new Map<string, string>();
  let told: ReadonlySet<string> = new Set();
  let lookedAt = Number.NEGATIVE_INFINITY;
  const look = (): void => {
    if (monotonic() - lookedAt < LOOK_EVERY_MS) return;
    const current = folders();
    let isOther = false;
    for (const name of shelves.keys()) if (!current.has(name)) isOther = shelves.delete(name);
    for (const [name, folder] of current) {
      const seen = identityOf(keyFilePath(folder));
      if (shelves.get(name)?.seen === seen) continue;
      shelves.set(name, { seen, hashes: hashesOf(name, folder) });
      isOther = true;
    }
    lookedAt = monotonic();
    if (!isOther) return;
    owners.clear();
    const doubles = new Set<string>();
    for (const [name, { hashes }] of shelves) {
      for (const hash of hashes) {
        const other = owners.get(hash);
        if (other === undefined) owners.set(hash, name);
        else doubles.add(hash).add(`${name} ${other}`);
      }
    }
    // A folder was copied with its keys. Reject shared keys: choosing one workspace could expose the other's data.
    for (const double of doubles) if (!owners.delete(double) && !told.has(double)) tellOf(double);
    told = doubles;
  };
  const tellOf = (double: string): void => {
    const [name = '', other = ''] = double.split(' ');
    const message = `keys of ${name} are also keys of ${other} and are rejected; revoke them in one of the two`;
    onDamage(name, new SightlineError('config_invalid', message));
  };
  const hashesOf = (name: string, folder: string): readonly string[] => {
    try {
      return readKeyFile(folder)?.keys.map(({ hash }) => hash) ?? [];
    } catch (thrown) {
      onDamage(name, thrown);
      return [];
    }
  };
  return {
    find: (text) => {
      const hash = createHash('sha256').update(text).digest('hex');
      const known = owners.get(hash);
      if (known !== undefined && folders().has(known)) return known;
      look();
      return owners.get(hash) ?? null;
    },
    count: () => {
      look();
      return owners.size;
    },
  };
}

function identityOf(path: string): string {
  try {
    const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
    return stats === undefined ? 'none' : `${stats.ino} ${stats.mtimeNs} ${stats.size}`;
  } catch (thrown) {
    return String((thrown as NodeJS.ErrnoException).code);
  }
}
