import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { SightlineError } from '../base/errors.ts';
import { keyFilePath, readKeyFile } from './key-file.ts';

/** Files of keys are looked at no oftener than this for keys that nobody knows, so that guessing costs others nothing. */
const LOOK_EVERY_MS = 250;

/** Tells whose a key is, where many workspaces are served at one address. */
export interface KeyDirectory {
  /**
   * The workspace whose key this is, by its own file: whether it still opens it is for that workspace to say. Null for a
   * key of none, and for one that stands in the files of two; one that was just made is known within a quarter of a second.
   */
  find(text: string): string | null;
  /** How many keys there are. */
  count(): number;
}

/** What a directory is kept from. */
export interface KeyDirectoryOptions {
  /** Folders by workspace, as they are now. */
  readonly folders: () => ReadonlyMap<string, string>;
  /** Milliseconds that are never set back. */
  readonly monotonic: () => number;
  /** Told of a file that cannot be read, or has another workspace's key, which opens nothing; once for each state of it. */
  readonly onDamage: (workspace: string, error: unknown) => void;
}

interface Shelf {
  readonly seen: string;
  readonly hashes: readonly string[];
}

/** Opens the keys of all workspaces; files may come, change and go. */
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
    // A folder was copied with its keys: whose data their holders mean cannot be told, and a guess would show another's.
    for (const double of doubles) if (!owners.delete(double) && !told.has(double)) tellOf(double);
    told = doubles;
  };
  const tellOf = (double: string): void => {
    const [name = '', other = ''] = double.split(' ');
    const message = `keys of ${name} are keys of ${other} too, and open neither; revoke them in one of the two`;
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
