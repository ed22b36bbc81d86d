import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { SightlineError } from '../../base/errors.ts';
import { keyFilePath, readKeyFile } from '../../session/stored-keys.ts';

/**
 * Minimum interval between checks of the key files for unknown keys, so that guessing does not slow down other clients.
 */
const CHECK_INTERVAL_MS = 250;

/** Finds the workspace of an API key if one address serves several workspaces. */
export interface KeyDirectory {
  /**
   * Returns the workspace whose key file contains the key, without checking its expiry. Returns null if the key is
   * unknown or is in the files of two workspaces. A new key is found within 250 ms.
   */
  find(text: string): string | null;
  /** Whether a workspace's key file lists the key as revoked. */
  isRevoked(text: string): boolean;
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

interface KnownFile {
  readonly identity: string;
  readonly hashes: readonly string[];
  readonly revoked: ReadonlySet<string>;
}

/** Creates a directory of the keys of all workspaces. Key files may appear, change and disappear. */
export function createKeyDirectory({ folders, monotonic, onDamage }: KeyDirectoryOptions): KeyDirectory {
  const files = new Map<string, KnownFile>();
  const owners = new Map<string, string>();
  let reported: ReadonlySet<string> = new Set();
  let checkedAt = Number.NEGATIVE_INFINITY;
  const refresh = (): void => {
    if (monotonic() - checkedAt < CHECK_INTERVAL_MS) return;
    const current = folders();
    let isChanged = false;
    for (const name of files.keys()) if (!current.has(name)) isChanged = files.delete(name);
    for (const [name, folder] of current) {
      const identity = identityOf(keyFilePath(folder));
      if (files.get(name)?.identity === identity) continue;
      files.set(name, { identity, ...hashesOf(name, folder) });
      isChanged = true;
    }
    checkedAt = monotonic();
    if (!isChanged) return;
    owners.clear();
    const duplicates = new Set<string>();
    for (const [name, { hashes }] of files) {
      for (const hash of hashes) {
        const other = owners.get(hash);
        if (other === undefined) owners.set(hash, name);
        else duplicates.add(hash).add(`${name} ${other}`);
      }
    }
    // A folder was copied with its keys. Reject shared keys: choosing one workspace could expose the other's data.
    for (const duplicate of duplicates)
      if (!owners.delete(duplicate) && !reported.has(duplicate)) reportDuplicate(duplicate);
    reported = duplicates;
  };
  const reportDuplicate = (duplicate: string): void => {
    const [name = '', other = ''] = duplicate.split(' ');
    const message = `keys of ${name} are also keys of ${other} and are rejected; revoke them in one of the two`;
    onDamage(name, new SightlineError('config_invalid', message));
  };
  const hashesOf = (name: string, folder: string): Omit<KnownFile, 'identity'> => {
    try {
      const file = readKeyFile(folder);
      return { hashes: file?.keys.map(({ hash }) => hash) ?? [], revoked: new Set(file?.revoked) };
    } catch (thrown) {
      onDamage(name, thrown);
      return { hashes: [], revoked: new Set() };
    }
  };
  return {
    find: (text) => {
      const hash = hashOf(text);
      const known = owners.get(hash);
      if (known !== undefined && folders().has(known)) return known;
      refresh();
      return owners.get(hash) ?? null;
    },
    isRevoked: (text) => {
      const hash = hashOf(text);
      refresh();
      return [...files.values()].some(({ revoked }) => revoked.has(hash));
    },
    count: () => {
      refresh();
      return owners.size;
    },
  };
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function identityOf(path: string): string {
  try {
    const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
    return stats === undefined ? 'none' : `${stats.ino} ${stats.mtimeNs} ${stats.size}`;
  } catch (thrown) {
    return String((thrown as NodeJS.ErrnoException).code);
  }
}
