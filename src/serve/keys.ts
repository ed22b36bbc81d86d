import { createHash, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import { statSync } from 'node:fs';
import { SightlineError } from '../base/errors.ts';
import { changeKeyFile, type KeyFile, keyFilePath, readKeyFile, type StoredKey } from './key-file.ts';

/** How many keys a workspace can have. */
export const KEYS_MAX = 10;

const NAME_CHARACTERS_MAX = 64;
/** How much of a key is shown next to its name. */
const PREFIX_CHARACTERS = 12;
const KEY_BYTES = 32;

/** A key of the read server, as people see it; times are ISO 8601 in UTC. */
export interface Key {
  readonly id: string;
  readonly name: string;
  /** The key's first characters. */
  readonly prefix: string;
  readonly createdAt: string;
  /** Null for a key that does not expire. */
  readonly expiresAt: string | null;
}

/** Finds keys for a running server, and notices at once when they change. */
export interface Keyring {
  /** The key with this text, expired or not; null when there is none. Throws `config_invalid` for a damaged file. */
  find(text: string): Key | null;
  /** How many keys there are. */
  count(): number;
}

/**
 * Makes a key and returns its text, which is stored nowhere. Throws `usage` for a name that is taken or not allowed, and
 * where there are as many keys as can be.
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
      throw new SightlineError('usage', `there is a key named ${JSON.stringify(name)} already; choose another name`);
    }
    if (before.keys.length >= KEYS_MAX) {
      const names = namesOf(before.keys);
      throw new SightlineError('usage', `there are ${KEYS_MAX} keys, the most there can be; revoke one of ${names}`);
    }
    const stored = { ...key, hash: hashOf(text).toString('hex') };
    return { after: { ...before, keys: [...before.keys, stored] }, result: { key, text } };
  });
}

/** Every key of a workspace, oldest first. Throws `config_invalid` when their file is damaged. */
export function listKeys(folder: string): Key[] {
  return (readKeyFile(folder)?.keys ?? []).map(publicPart);
}

/** Revokes the key with this name, prefix, id or text, and returns it; throws `usage` that names what there is. */
export async function revokeKey(folder: string, which: string): Promise<Key> {
  return changeKeyFile(folder, (before) => {
    const key = pick(before, which);
    if (key === undefined) {
      const known = before.keys.length === 0 ? 'there is none' : `there are ${namesOf(before.keys)}`;
      throw new SightlineError('usage', `there is no key ${JSON.stringify(which)}; ${known}`);
    }
    const keys = before.keys.filter((other) => other !== key);
    return { after: { ...before, keys }, result: publicPart(key) };
  });
}

/** The workspace's secret for signing cursors, 256 random bits; made on first use. */
export async function readCursorSecret(folder: string): Promise<Buffer> {
  const known = readKeyFile(folder);
  const text =
    known?.cursorSecret ?? (await changeKeyFile(folder, (before) => ({ after: before, result: before.cursorSecret })));
  return Buffer.from(text, 'base64url');
}

/** Opens a workspace's keys for a running server; there need be no file yet. */
export function openKeyring(folder: string): Keyring {
  const path = keyFilePath(folder);
  let seen = '';
  let isFresh = false;
  let keys: readonly { readonly key: Key; readonly hash: Buffer }[] = [];
  // Texts that were found, so that a client's next request costs no hash; those that were not are never remembered.
  const found = new Map<string, Key>();
  // A look at the file's own entry costs microseconds; reading it is left to when it has changed, and requests that are
  // taken in together, in one turn of the event loop, look once.
  const refresh = (): void => {
    if (isFresh) return;
    const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
    const now = stats === undefined ? 'none' : `${stats.ino} ${stats.mtimeNs} ${stats.size}`;
    if (now !== seen) {
      // Until it was read well nothing is remembered: a damaged file opens no door, and is looked at again.
      seen = '';
      found.clear();
      keys = (readKeyFile(folder)?.keys ?? []).map((stored) => ({
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
    // All of them, whichever it is, so that the time taken tells nothing.
    for (const candidate of keys) if (timingSafeEqual(candidate.hash, hash)) match = candidate.key;
    if (match !== null) found.set(text, match);
    return match;
  };
  const count = (): number => {
    refresh();
    return keys.length;
  };
  return { find, count };
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
  if (name.trim() !== name || name === '') refuse('a text that is not empty, without spaces around it');
  if ([...name].length > NAME_CHARACTERS_MAX) refuse(`at most ${NAME_CHARACTERS_MAX} characters`);
  if (/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(name)) refuse('a text without control characters');
  // A key given as a name by mistake would stand in the file for all to read.
  if (/gsk_/i.test(name)) refuse('a text that does not look like a key');
}

function namesOf(keys: readonly Key[]): string {
  return keys.map(({ name }) => JSON.stringify(name)).join(', ');
}

function publicPart({ id, name, prefix, createdAt, expiresAt }: StoredKey): Key {
  return { id, name, prefix, createdAt, expiresAt };
}
