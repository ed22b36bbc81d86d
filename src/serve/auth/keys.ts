import { createHash, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { suggestion } from '../../base/choose-name.ts';
import { SightlineError } from '../../base/errors.ts';
import { time, type ValueOf } from '../../contract/operation/json-parts.ts';
import {
  changeKeyFile,
  DEFAULT_SCOPES,
  type KeyFile,
  keyFilePath,
  readKeyFile,
  SCOPES,
  type Scope,
  type StoredKey,
} from '../../workspace/stored-keys.ts';
import { createFileWatch } from './file-watch.ts';

/** Maximum number of keys of a workspace, and of keys for several workspaces. */
export const KEYS_MAX = 10;

/** Maximum number of remembered revoked keys; the oldest are forgotten first. */
const REVOKED_MAX = 1_000;
const NAME_CHARACTERS_MAX = 64;
/** Number of characters of a key that are shown next to its name. */
const PREFIX_CHARACTERS = 12;
const KEY_BYTES = 32;

/** A key without its text. */
export const listedKey = z.object({
  id: z.string(),
  name: z.string(),
  prefix: z.string().describe("the key's first characters"),
  createdAt: time,
  expiresAt: time.nullable(),
  scopes: z.array(z.enum(SCOPES)),
  brands: z.array(z.string()).nullable().describe('IDs or names of the brands that the key can read; null for all'),
  workspaces: z
    .union([z.literal('all'), z.array(z.string())])
    .nullable()
    .describe('workspaces that the key opens; null for a key of one workspace'),
});

/** A key without its text. */
export type Key = ValueOf<typeof listedKey>;

/** The rights of a new key. */
export interface KeyRights {
  /** Default: `DEFAULT_SCOPES`. */
  readonly scopes?: readonly Scope[];
  /** Default: all. */
  readonly brands?: readonly string[] | null;
  readonly workspaces?: Key['workspaces'];
}

/** Finds keys for a running server. Changes of the key file take effect immediately. */
export interface Keyring {
  /**
   * Returns the key with this text, even if expired; null if there is none.
   *
   * @throws SightlineError `config_invalid` if the key file is damaged
   */
  find(text: string): Key | null;
  /** Returns the key with this id, even if expired; null if there is none. Throws like `find`. */
  byId(id: string): Key | null;
  /** Whether a key with this text existed and was revoked. */
  isRevoked(text: string): boolean;
  /** Number of keys. */
  count(): number;
}

/**
 * Creates a key and returns its text, which is not stored. `folder` is that of its workspace, or the data folder if `workspaces` is
 * given. Without rights, the key has `DEFAULT_SCOPES` and all brands.
 *
 * @throws SightlineError `usage` if the name is taken or invalid, or if there are already 10 keys
 * @example
 * const { text } = await createKey(folder, 'dashboard', null, clock.now());
 */
export async function createKey(
  folder: string,
  name: string,
  expiresAtMs: number | null,
  nowMs: number,
  { scopes = DEFAULT_SCOPES, brands = null, workspaces = null }: KeyRights = {},
): Promise<{ readonly key: Key; readonly text: string }> {
  checkName(name);
  const text = `gsk_${randomBytes(KEY_BYTES).toString('base64url')}`;
  const key: Key = {
    id: randomUUID(),
    name,
    prefix: text.slice(0, PREFIX_CHARACTERS),
    createdAt: new Date(nowMs).toISOString(),
    expiresAt: expiresAtMs === null ? null : new Date(expiresAtMs).toISOString(),
    scopes,
    brands,
    workspaces,
  };
  return changeKeyFile(folder, (before) => {
    if (before.keys.some((other) => other.name === name)) {
      throw new SightlineError(
        'usage',
        `NAME is ${JSON.stringify(name)}, which is already in use; choose another name`,
      );
    }
    if (before.keys.length >= KEYS_MAX) {
      const names = namesOf(before);
      throw new SightlineError('usage', `there are ${KEYS_MAX} keys; allowed: ${KEYS_MAX}. Revoke one of ${names}`);
    }
    const stored = { ...key, hash: hashOf(text).toString('hex') };
    return { after: { ...before, keys: [...before.keys, stored] }, result: { key, text } };
  });
}

/**
 * Returns the keys in the file of a workspace or of the data folder, oldest first.
 *
 * @throws SightlineError `config_invalid` if the key file is damaged
 */
export function listKeys(folder: string): Key[] {
  return (readKeyFile(folder)?.keys ?? []).map(publicPart);
}

/**
 * Revokes the key with this name, prefix, id or text, and returns it. If the folder has no such key, that of `otherFolder` is
 * revoked.
 *
 * @throws SightlineError `usage`, listing the existing keys, if there is no such key
 */
export async function revokeKey(folder: string, which: string, otherFolder?: string): Promise<Key> {
  const isIn = (each: string): boolean => pick(readKeyFile(each), which) !== undefined;
  if (otherFolder !== undefined && !isIn(folder) && isIn(otherFolder)) return revokeKey(otherFolder, which);
  return changeKeyFile(folder, (before) => {
    const key = pick(before, which);
    if (key === undefined) {
      const known = before.keys.length === 0 ? 'there are no keys' : `existing keys: ${namesOf(before)}`;
      const names = before.keys.map(({ name }) => name);
      const message = `there is no key ${JSON.stringify(which)}; ${known}${suggestion(which, names)}`;
      throw new SightlineError('usage', message);
    }
    const keys = before.keys.filter((other) => other !== key);
    const revoked = [...(before.revoked ?? []), key.hash].slice(-REVOKED_MAX);
    return { after: { ...before, keys, revoked }, result: publicPart(key) };
  });
}

/** Returns the workspace's 256-bit secret for signing cursors; created on first use. */
export async function readCursorSecret(folder: string): Promise<Buffer> {
  const known = readKeyFile(folder);
  const text =
    known?.cursorSecret ?? (await changeKeyFile(folder, (before) => ({ after: before, result: before.cursorSecret })));
  return Buffer.from(text, 'base64url');
}

/** Opens the keys of a folder for a running server. The key file may not exist yet. */
export function openKeyring(folder: string): Keyring {
  let keys: readonly { readonly key: Key; readonly hash: Buffer }[] = [];
  let revoked: ReadonlySet<string> = new Set();
  // Caches keys that were found, so that the next request needs no hash. Unknown keys are never cached.
  const found = new Map<string, Key>();
  const refresh = createFileWatch(keyFilePath(folder), () => {
    found.clear();
    const file = readKeyFile(folder);
    revoked = new Set(file?.revoked);
    keys = (file?.keys ?? []).map((stored) => ({
      key: publicPart(stored),
      hash: Buffer.from(stored.hash, 'hex'),
    }));
  });
  const find = (text: string): Key | null => {
    refresh();
    const known = found.get(text);
    if (known !== undefined) return known;
    const hash = hashOf(text);
    let match: Key | null = null;
    // Compare with every key, so that the time does not depend on which one matches.
    for (const candidate of keys) if (timingSafeEqual(candidate.hash, hash)) match = candidate.key;
    if (match !== null) found.set(text, match);
    return match;
  };
  const byId = (id: string): Key | null => {
    refresh();
    return keys.find(({ key }) => key.id === id)?.key ?? null;
  };
  const isRevoked = (text: string): boolean => {
    refresh();
    return revoked.has(hashOf(text).toString('hex'));
  };
  const count = (): number => {
    refresh();
    return keys.length;
  };
  return { find, byId, isRevoked, count };
}

/** Joins the keys in a workspace's folder and those in the data folder that open it. */
export function joinKeyrings(own: Keyring, fleet: Keyring, workspace: string): Keyring {
  const opening = (key: Key | null): Key | null => (key !== null && opensWorkspace(key, workspace) ? key : null);
  // Ignore keys of one workspace that were copied to the data folder.
  const ofFleet = (key: Key | null): Key | null => (key === null || key.workspaces === null ? null : opening(key));
  return {
    find: (text) => opening(own.find(text)) ?? ofFleet(fleet.find(text)),
    byId: (id) => opening(own.byId(id)) ?? ofFleet(fleet.byId(id)),
    isRevoked: (text) => own.isRevoked(text) || fleet.isRevoked(text),
    count: () => own.count() + fleet.count(),
  };
}

/** Returns whether a key of a file that this workspace uses opens the workspace. */
export function opensWorkspace({ workspaces }: Key, workspace: string): boolean {
  return workspaces === null || workspaces === 'all' || workspaces.includes(workspace);
}

function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function pick(file: KeyFile | null, which: string): StoredKey | undefined {
  const hash = hashOf(which).toString('hex');
  const keys = file?.keys ?? [];
  return (
    keys.find(({ id }) => id === which.toLowerCase()) ??
    keys.find(({ name }) => name === which) ??
    keys.find((key) => key.prefix === which || key.hash === hash)
  );
}

function checkName(name: string): void {
  const refuse = (allowed: string): never => {
    throw new SightlineError('usage', `NAME is ${JSON.stringify(name)}; allowed: ${allowed}`);
  };
  if (name.trim() !== name || name === '') refuse('a non-empty text without leading or trailing spaces');
  if ([...name].length > NAME_CHARACTERS_MAX) refuse(`at most ${NAME_CHARACTERS_MAX} characters`);
  if (/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(name)) refuse('a text without control characters');
  // A key given as a name by mistake would be stored in readable form.
  if (/gsk_/i.test(name)) refuse('a text that does not look like a key');
}

function namesOf({ keys }: KeyFile): string {
  return keys.map(({ name }) => JSON.stringify(name)).join(', ');
}

function publicPart({ hash: _, ...key }: StoredKey): Key {
  return key;
}
