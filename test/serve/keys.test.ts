import { existsSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { chmod, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createKey, KEYS_MAX, listKeys, openKeyring, readCursorSecret, revokeKey } from '../../src/serve/auth/keys.ts';
import { keyFilePath } from '../../src/workspace/stored-keys.ts';
import { temporaryFolder } from '../support/folders.ts';

const NOW = Date.parse('2026-03-15T15:30:00Z');

describe('API keys', () => {
  it('have 256 random bits and are stored only as hashes in a file private to its owner', async () => {
    const folder = join(await temporaryFolder(), 'not', 'there', 'yet');
    const { key, text } = await createKey(folder, 'ci', null, NOW);
    expect(text).toMatch(/^gsk_[A-Za-z0-9_-]{43}$/);
    expect(key).toMatchObject({ name: 'ci', prefix: text.slice(0, 12), createdAt: '2026-03-15T15:30:00.000Z' });
    expect(key.expiresAt).toBeNull();
    const stored = readFileSync(keyFilePath(folder), 'utf8');
    expect(stored).not.toContain(text.slice(12));
    expect(statSync(keyFilePath(folder)).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(['keys.json']);
    expect(listKeys(folder)).toEqual([key]);
    expect(openKeyring(folder).find(text)).toEqual(key);
    expect(openKeyring(folder).find(`${text}x`)).toBeNull();
  });

  it('are limited to ten, with unique names', async () => {
    const folder = await temporaryFolder();
    for (let index = 0; index < KEYS_MAX; index++) await createKey(folder, `key ${index}`, null, NOW);
    await expect(createKey(folder, 'one more', null, NOW)).rejects.toMatchObject({ code: 'usage' });
    await revokeKey(folder, 'key 3');
    await expect(createKey(folder, 'key 4', null, NOW)).rejects.toThrow('NAME is "key 4", which is already in use');
    await createKey(folder, 'one more', null, NOW);
    expect(listKeys(folder)).toHaveLength(KEYS_MAX);
  });

  it.each(['', ' ', ' x', 'a\u0000b', 'a\nb', 'x'.repeat(65), 'gsk_0123456789', '\ud800'])(
    'cannot be named %j',
    async (name) => {
      const folder = await temporaryFolder();
      await expect(createKey(folder, name, null, NOW)).rejects.toMatchObject({ code: 'usage' });
      expect(existsSync(keyFilePath(folder))).toBe(false);
    },
  );

  it('can be revoked by name, prefix, id or key text', async () => {
    const folder = await temporaryFolder();
    for (const by of ['name', 'prefix', 'id', 'text'] as const) {
      const { key, text } = await createKey(folder, 'temporary', null, NOW);
      await createKey(folder, `kept ${by}`, null, NOW);
      expect(await revokeKey(folder, by === 'text' ? text : key[by])).toEqual(key);
    }
    expect(listKeys(folder).map(({ name }) => name)).toEqual(['kept name', 'kept prefix', 'kept id', 'kept text']);
    await expect(revokeKey(folder, 'nobody')).rejects.toThrow('there is no key "nobody"; existing keys: "kept name", ');
  });

  it('take effect in an open key ring immediately when changed', async () => {
    const folder = await temporaryFolder();
    const ring = openKeyring(folder);
    expect(ring.find('gsk_anything')).toBeNull();
    const first = await createKey(folder, 'first', null, NOW);
    const second = await createKey(folder, 'second', null, NOW);
    expect(ring.find(first.text)?.name).toBe('first');
    await revokeKey(folder, 'first');
    expect(ring.find(first.text)).toBeNull();
    expect(ring.find(second.text)?.name).toBe('second');
    await rm(keyFilePath(folder));
    expect(ring.find(second.text)).toBeNull();
    expect(ring.count()).toBe(0);
  });

  it.each([
    ['no JSON', 'gsk_'],
    ['nothing', ''],
    ['another version', JSON.stringify({ version: 2, cursorSecret: 'x'.repeat(43), keys: [] })],
    ['a key without its hash', JSON.stringify({ version: 1, cursorSecret: 'x'.repeat(43), keys: [{ name: 'x' }] })],
    ['a short secret', JSON.stringify({ version: 1, cursorSecret: '', keys: [] })],
  ])('are all rejected if the key file has %s', async (_what, text) => {
    const folder = await temporaryFolder();
    const { text: key } = await createKey(folder, 'first', null, NOW);
    const ring = openKeyring(folder);
    expect(ring.find(key)).not.toBeNull();
    await writeFile(keyFilePath(folder), text);
    for (let times = 0; times < 2; times++) expect(() => ring.find(key)).toThrow(/keys\.json is damaged/);
    expect(() => listKeys(folder)).toThrow(/keys\.json is damaged/);
    await expect(createKey(folder, 'second', null, NOW)).rejects.toMatchObject({ code: 'config_invalid' });
    expect(readFileSync(keyFilePath(folder), 'utf8')).toBe(text);
  });

  it('keep one secret for cursors', async () => {
    const folder = await temporaryFolder();
    const secrets = await Promise.all([1, 2, 3].map(() => readCursorSecret(folder)));
    expect(secrets[0]).toHaveLength(32);
    for (const secret of secrets) expect(secret).toEqual(secrets[0]);
    await createKey(folder, 'first', null, NOW);
    expect(await readCursorSecret(folder)).toEqual(secrets[0]);
  });

  it('are all stored when created concurrently, and never exceed ten', async () => {
    const folder = await temporaryFolder();
    const made = await Promise.allSettled(
      Array.from({ length: 25 }, (_none, index) => createKey(folder, `key ${index}`, null, NOW)),
    );
    const texts = made.flatMap((result) => (result.status === 'fulfilled' ? [result.value.text] : []));
    expect(texts).toHaveLength(KEYS_MAX);
    const ring = openKeyring(folder);
    for (const text of texts) expect(ring.find(text)).not.toBeNull();
    for (const result of made) if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'usage' });
    expect(readdirSync(folder)).toEqual(['keys.json']);
  });

  it('can be created despite the lock of a dead process', async () => {
    const folder = await temporaryFolder();
    await createKey(folder, 'first', null, NOW);
    const lock = `${keyFilePath(folder)}.lock`;
    // A process id that no system assigns.
    const gone = { pid: 2 ** 31 - 2, command: 'sightline keys create', since: '', host: hostname() };
    for (const text of [JSON.stringify(gone), JSON.stringify({ ...gone, pid: process.pid }), '']) {
      writeFileSync(lock, text);
      await createKey(folder, `after ${text.length}`, null, NOW);
    }
    expect(readdirSync(folder)).toEqual(['keys.json']);
  });

  it('cannot be read without permission on the file', async () => {
    const folder = await temporaryFolder();
    const { text } = await createKey(folder, 'first', null, NOW);
    const ring = openKeyring(folder);
    await chmod(keyFilePath(folder), 0o000);
    utimesSync(keyFilePath(folder), 1, 1);
    // Root can read every file.
    if (process.getuid?.() === 0) expect(ring.find(text)?.name).toBe('first');
    else expect(() => ring.find(text)).toThrow(/cannot read/);
  });
});
