import { createHash, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import { statSync } from 'node:fs';
import { suggestion } from '../../base/choose-name.ts';
import { SightlineError } from '../../base/errors.ts';
import { changeKeyFile, type KeyFile, keyFilePath, readKeyFile, type StoredKey } from '../../session/stored-keys.ts';

/** Maximum number of keys of a workspace. */
export const KEYS_MAX = 10;

/** Maximum number of remembered revoked keys; the oldest are forgotten first. */
const REVOKED_MAX = 1_000;
const NAME_CHARACTERS_MAX = 64;
/** Number of characters of a key that are shown next to its name. */
const PREFIX_CHARACTERS = 12;
const KEY_BYTES = 32;

/** Public part of an API key of the read server; times are ISO 8601 in UTC. */
export interface Key {
  readonly id: string;
  readonly name: string;
  /** The key's first characters. */
  readonly prefix: string;
  readonly createdAt: string;
  /** Null if the key does not expire. */
  readonly expiresAt: string | null;
}

/** Finds keys for a running server. Changes of the key file take effect immediately. */
export interface Keyring {
  /**
   * Returns the key with this text, even if expired; null if there is none.
   *
   * @throws SightlineError `config_invalid` if the key file is damaged
   */
  find(text: string): Key | null;
  /** Whether a key with this text existed and was revoked. */
  isRevoked(text: string): boolean;
  /** Number of keys. */
  count(): number;
}

/**
 * Creates a key and returns its text, which is not stored.
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
): Promise<{ readonly key: Key; readonly text: string }> {
  checkName(name);
  const text = `gsk_${randomBytes(KEY_BYTES).toString('base64url')}`;
  const key: Key = {
    id: randomUUID(),
    name,
    prefix: text.slice(0, PREFIX_CHARACTERS),
    createdAt: new Date(nowMs).toISOString(),
    expiresAt: expiresAtMs === null ? null : new Date(expiresAtMs).toISOString(),
  };
  return changeKeyFile(folder, (before) => {
    if (before.keys.some((other) => other.name === name)) {
      throw new SightlineError(
        'usage',
        `NAME is ${JSON.stringify(name)}, which is already in use; choose another name`,
      );
    }
    if (before.keys.length >= KEYS_MAX) {
      const names = namesOf(before.keys);
      throw new SightlineError('usage', `there are ${KEYS_MAX} keys; allowed: ${KEYS_MAX}. Revoke one of ${names}`);
    }
    const stored = { ...key, hash: hashOf(text).toString('hex') };
    return { after: { ...before, keys: [...before.keys, stored] }, result: { key, text } };
  });
}

/**
 * Returns the keys of a workspace, oldest first.
 *
 * @throws SightlineError `config_invalid` if the key file is damaged
 */
export function listKeys(folder: string): Key[] {
  return (readKeyFile(folder)?.keys ?? []).map(publicPart);
}

/**
 * Revokes the key with this name, prefix, id or text, and returns it.
 *
 * @throws SightlineError `usage`, listing the existing keys, if there is no such key
 */
export async function revokeKey(folder: string, which: string): Promise<Key> {
  return changeKeyFile(folder, (before) => {
    const key = pick(before, which);
    if (key === undefined) {
      const known = before.keys.length === 0 ? 'there are no keys' : `existing keys: ${namesOf(before.keys)}`;
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

/** Opens the keys of a workspace for a running server. The key file may not exist yet. */
export function openKeyring(folder: string): Keyring {
  const path = keyFilePath(folder);
  let seen = '';
  let isFresh = false;
  let keys: readonly { readonly key: Key; readonly hash: Buffer }[] = [];
  let revoked: ReadonlySet<string> = new Set();
  // Caches keys that were found, so that the next request needs no hash. Unknown keys are never cached.
  const found = new Map<string, Key>();
  // A stat costs microseconds, so stat the file on every request and read it only when it has changed. Requests handled
  // in the same turn of the event loop share one stat.
  const refresh = (): void => {
    if (isFresh) return;
    const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
    const now = stats === undefined ? 'none' : `${stats.ino} ${stats.mtimeNs} ${stats.size}`;
    if (now !== seen) {
      // Cache nothing until the file is read successfully: a damaged file accepts no key and is read again next time.
      seen = '';
      found.clear();
      const file = readKeyFile(folder);
      revoked = new Set(file?.revoked);
      keys = (file?.keys ?? []).map((stored) => ({
        key: publicPart(stored),
        hash: Buffer.from(stored.hash, 'hex'),
      }));
      seen = now;
    }
    isFresh = true;
    setImmediate(() => {
      isFresh = false;
    });
  };
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
  const isRevoked = (text: string): boolean => {
    refresh();
    return revoked.has(hashOf(text).toString('hex'));
  };
  const count = (): number => {
    refresh();
    return keys.length;
  };
  return { find, isRevoked, count };
}

function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function pick(file: KeyFile, which: string): StoredKey | undefined {
  const hash = hashOf(which).toString('hex');
  return (
    file.keys.find(({ id }) => id === which.toLowerCase()) ??
    file.keys.find(({ name }) => name === which) ??
    file.keys.find((key) => key.prefix === which || key.hash === hash)
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

function namesOf(keys: readonly Key[]): string {
  return keys.map(({ name }) => JSON.stringify(name)).join(', ');
}

function publicPart({ id, name, prefix, createdAt, expiresAt }: StoredKey): Key {
  return { id, name, prefix, createdAt, expiresAt };
}
