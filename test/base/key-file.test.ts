import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/base/config/config.ts';
import { temporaryFolder } from '../support/folders.ts';

test('a key is read from a private file named by its _FILE variable', async () => {
  const folder = await temporaryFolder();
  const file = join(folder, 'key');
  await writeFile(file, 'gsk_in_a_file\n', { mode: 0o600 });
  const workspaces = { acme: { baseUrl: 'https://api.example.com/v1', apiKeyVariable: 'ACME_KEY' } };
  await writeFile(join(folder, 'sightline.config.json'), JSON.stringify({ workspaces }));
  const keyOf = (environment: Record<string, string>): string =>
    loadConfig({ flags: { workspace: 'acme' }, environment, folder }).upstream().key;
  const environment = { ACME_KEY_FILE: 'key', HOME: '/root', SIGHTLINE_API_KEY_FILE: join(folder, 'none') };
  expect(keyOf(environment)).toBe('gsk_in_a_file');
  expect(keyOf({ ACME_KEY: 'gsk_here', ACME_KEY_FILE: '' })).toBe('gsk_here');
  expect(() => keyOf({ ...environment, ACME_KEY: 'gsk_here' })).toThrow('ACME_KEY and ACME_KEY_FILE are both set');
  expect(() => keyOf({ ACME_KEY_FILE: 'none' })).toThrow(/ACME_KEY_FILE: the file .*none cannot be read \(ENOENT\)/);
  expect(() => keyOf({ ACME_KEY_FILE: '.' })).toThrow('cannot be read (EISDIR)');
  await writeFile(file, 'x'.repeat(70_000));
  expect(() => keyOf(environment)).toThrow('too large');
  await writeFile(file, Buffer.from('\ufeffgsk_in_a_file', 'utf16le'));
  expect(() => keyOf(environment)).toThrow('is not UTF-8 text but UTF-16 or binary');
  await writeFile(file, '\ufeffgsk_in_a_file\r\n');
  expect(keyOf(environment)).toBe('gsk_in_a_file');
  await writeFile(file, '');
  expect(() => keyOf(environment)).toThrow(`ACME_KEY_FILE: the file ${file} is empty; allowed: a file with the secret`);
  await chmod(file, 0o644);
  expect(() => keyOf(environment)).toThrow('chmod o-r');
});
