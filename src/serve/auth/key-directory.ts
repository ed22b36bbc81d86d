import { createHash } from 'node:crypto';
import { SightlineError } from '../../base/errors.ts';
import { fileIdentity } from '../../base/files.ts';
import { keyFilePath, readKeyFile } from '../../workspace/stored-keys.ts';
import { type Key, type Keyring, openKeyring, opensWorkspace } from './keys.ts';

/**
 * Minimum interval between checks of the key files for unknown keys, so that guessing does not slow down other clients.
 */
const CHECK_INTERVAL_MS = 250;

/** Owner of the keys that open several workspaces. */
const FLEET = '';

/**
 * The keys of all workspaces that one address serves, and those for several workspaces. A key that is in the files of two workspaces
 * is unknown. A new key is found within 250 ms.
 */
export interface KeyDirectory extends Keyring {
  /** Returns the names of the workspaces that a key opens, sorted; all for null. */
  workspacesOf(key: Key | null): readonly string[];
}

/** Options of a key directory. */
export interface KeyDirectoryOptions {
  /** Returns the current workspaces by name. A changed list must be a new Map. */
  readonly workspaces: () => ReadonlyMap<string, { readonly folder: string }>;
  /** The data folder, with the keys for several workspaces. */
  readonly fleetFolder: string;
  /** Monotonic clock in milliseconds. */
  readonly monotonic: () => number;
  /** Called once per state of a file that cannot be read or that shares a key with another workspace. */
  readonly onDamage: (workspace: string, error: unknown) => void;
}

interface KnownFile {
  readonly identity: string;
  readonly folder: string;
  /** The keys for requests, which are checked against the file each time. */
  readonly ring: Keyring;
  readonly hashes: readonly string[];
  readonly ids: readonly string[];
  readonly revoked: ReadonlySet<string>;
}

/** Creates a directory of the keys of all workspaces. Key files may appear, change and disappear. */
export function createKeyDirectory(options: KeyDirectoryOptions): KeyDirectory {
  const { monotonic, onDamage } = options;
  const files = new Map<string, KnownFile>();
  const owners = new Map<string, string>();
  let reported: ReadonlySet<string> = new Set();
  let checkedAt = Number.NEGATIVE_INFINITY;
  const refresh = (): void => {
    if (monotonic() - checkedAt < CHECK_INTERVAL_MS) return;
    const current = new Map([...options.workspaces(), [FLEET, { folder: options.fleetFolder }] as const]);
    let isChanged = false;
    for (const name of files.keys()) if (!current.has(name)) isChanged = files.delete(name);
    for (const [name, { folder }] of current) {
      const identity = identityOf(keyFilePath(folder));
      const known = files.get(name);
      if (known?.identity === identity && known.folder === folder) continue;
      const ring = known?.folder === folder ? known.ring : openKeyring(folder);
      files.set(name, { identity, folder, ring, ...keysIn(name, folder) });
      isChanged = true;
    }
    checkedAt = monotonic();
    if (isChanged) reported = assignOwners(files, owners, reported, onDamage);
  };
  const keysIn = (name: string, folder: string): Pick<KnownFile, 'hashes' | 'ids' | 'revoked'> => {
    try {
      const file = readKeyFile(folder);
      // Ignore keys of one workspace that were copied to the data folder.
      const keys = (file?.keys ?? []).filter(({ workspaces }) => name !== FLEET || workspaces !== null);
      return {
        hashes: keys.map(({ hash }) => hash),
        ids: keys.map(({ id }) => id),
        revoked: new Set(file?.revoked),
      };
    } catch (thrown) {
      onDamage(name, thrown);
      return { hashes: [], ids: [], revoked: new Set() };
    }
  };
  const ownerOf = (name: string): string | undefined => {
    const known = owners.get(name);
    if (known !== undefined && (known === FLEET || options.workspaces().has(known))) return known;
    refresh();
    return owners.get(name);
  };
  const lookUp = (name: string, find: (ring: Keyring) => Key | null): Key | null => {
    const owner = ownerOf(name);
    const key = owner === undefined ? null : find((files.get(owner) as KnownFile).ring);
    if (key === null || owner === undefined) return null;
    return owner === FLEET ? key : ownedKey(key, owner);
  };
  let names: { readonly of: ReadonlyMap<string, object>; readonly sorted: readonly string[] } | null = null;
  const workspacesOf: KeyDirectory['workspacesOf'] = (key) => {
    const current = options.workspaces();
    if (key !== null && typeof key.workspaces === 'object') {
      return (key.workspaces ?? []).filter((name) => current.has(name));
    }
    if (names?.of !== current) names = { of: current, sorted: [...current.keys()].sort() };
    return names.sorted;
  };
  return {
    find: (text) => lookUp(hashOf(text), (ring) => ring.find(text)),
    byId: (id) => lookUp(id, (ring) => ring.byId(id)),
    workspacesOf,
    isRevoked: (text) => {
      const hash = hashOf(text);
      const owner = owners.get(hash);
      // Its own file is checked each time, so that a key that was just revoked is not counted as a guess.
      if (owner !== undefined && files.get(owner)?.ring.isRevoked(text) === true) return true;
      refresh();
      return [...files.values()].some(({ revoked }) => revoked.has(hash));
    },
    count: () => {
      refresh();
      return [...files.values()].reduce((sum, { hashes }) => sum + hashes.filter((hash) => owners.has(hash)).length, 0);
    },
  };
}

// A key in the file of a workspace opens that workspace only.
function ownedKey(key: Key, workspace: string): Key | null {
  return opensWorkspace(key, workspace) ? { ...key, workspaces: [workspace] } : null;
}

// A folder was copied with its keys. Reject shared keys: choosing one workspace could expose the other's data.
function assignOwners(
  files: ReadonlyMap<string, KnownFile>,
  owners: Map<string, string>,
  reported: ReadonlySet<string>,
  onDamage: KeyDirectoryOptions['onDamage'],
): ReadonlySet<string> {
  owners.clear();
  const shared = new Set<string>();
  const pairs = new Map<string, readonly [name: string, other: string]>();
  for (const [name, { hashes, ids }] of files) {
    for (const each of [...hashes, ...ids]) {
      const other = owners.get(each);
      if (other === undefined) owners.set(each, name);
      else {
        shared.add(each);
        pairs.set(`${name} ${other}`, [name, other]);
      }
    }
  }
  for (const each of shared) owners.delete(each);
  for (const [pair, [name, other]] of pairs) {
    if (reported.has(pair)) continue;
    const what = `keys of ${shownOwner(name)} are also keys of ${shownOwner(other)} and are rejected`;
    onDamage(name, new SightlineError('config_invalid', `${what}; revoke them in one of the two`));
  }
  return new Set(pairs.keys());
}

function shownOwner(name: string): string {
  return name === FLEET ? 'the data folder' : name;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function identityOf(path: string): string {
  try {
    return fileIdentity(path);
  } catch (thrown) {
    return String((thrown as NodeJS.ErrnoException).code);
  }
}
