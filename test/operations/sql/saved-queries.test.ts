import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openSavedQueries, QUERY_BYTES_MAX } from '../../../src/operations/sql/saved-queries.ts';
import { temporaryFolder } from '../../support/folders.ts';

async function openFolder() {
  const folder = join(await temporaryFolder(), 'queries');
  return { folder, saved: openSavedQueries(folder) };
}

test('a query is written, listed, read, changed, renamed and deleted as a plain file', async () => {
  const { folder, saved } = await openFolder();
  expect(await saved.list()).toEqual([]);
  const first = await saved.write('lost-prompts', '-- Lost prompts\nFROM mart.lost_prompts', 'new');
  expect(first).toMatchObject({ name: 'lost-prompts', title: 'Lost prompts' });
  const second = await saved.write('lost-prompts', 'FROM mart.lost_prompts', first.etag);
  expect(second).toMatchObject({ title: null });
  expect(second.etag).not.toBe(first.etag);
  expect(await saved.read('lost-prompts')).toMatchObject({ sql: 'FROM mart.lost_prompts', etag: second.etag });
  await saved.rename('lost-prompts', 'lost_2', second.etag);
  expect(await saved.list()).toMatchObject([{ name: 'lost_2', etag: second.etag }]);
  expect(await readdir(folder)).toEqual(['lost_2.sql']);
  await saved.remove('lost_2', second.etag);
  expect(await readdir(folder)).toEqual([]);
});

test('a change of a query that was changed meanwhile is rejected, and one of several simultaneous changes succeeds', async () => {
  const { saved } = await openFolder();
  const { etag } = await saved.write('a', 'SELECT 1', 'new');
  await expect(saved.write('a', 'SELECT 2', 'new')).rejects.toMatchObject({ code: 'changed_meanwhile' });
  const outcomes = await Promise.allSettled(
    ['SELECT 2', 'SELECT 3', 'SELECT 4'].map((sql) => saved.write('a', sql, etag)),
  );
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  await saved.write('b', 'SELECT 1', 'new');
  const changes = [
    () => saved.remove('a', etag),
    () => saved.rename('a', 'c', etag),
    () => saved.rename('a', 'b', '*'),
  ];
  for (const change of changes) await expect(change()).rejects.toMatchObject({ code: 'changed_meanwhile' });
  await expect(saved.remove('bb', '*')).rejects.toMatchObject({
    code: 'not_found',
    message: expect.stringContaining('there is no saved query bb'),
  });
});

test.each(['', '../a', 'a/b', 'A', '.a', 'a.b', '-a', 'con', 'com1', 'a b', 'ä', 'a'.repeat(65), 'a\0', '..'])(
  'the name %j is rejected',
  async (name) => {
    const { folder, saved } = await openFolder();
    const uses = [
      () => saved.write(name, 'SELECT 1', 'new'),
      () => saved.read(name),
      () => saved.rename('a', name, '*'),
    ];
    for (const use of uses) await expect(use()).rejects.toMatchObject({ code: 'invalid_parameter' });
    await expect(saved.remove(name, '*')).rejects.toMatchObject({ code: 'invalid_parameter' });
    expect(await readdir(folder)).toEqual([]);
  },
);

test('an empty or too large text is rejected, and links and other files are not read', async () => {
  const { folder, saved } = await openFolder();
  for (const sql of ['', ' \n', `-- ${'a'.repeat(QUERY_BYTES_MAX)}`]) {
    await expect(saved.write('a', sql, 'new')).rejects.toMatchObject({ code: 'invalid_parameter' });
  }
  await mkdir(join(folder, 'folder.sql'), { recursive: true });
  await writeFile(join(folder, 'notes.txt'), 'x');
  await writeFile(join(folder, 'big.sql'), 'x'.repeat(QUERY_BYTES_MAX + 1));
  await symlink('/etc/passwd', join(folder, 'link.sql'));
  expect(await saved.list()).toEqual([]);
  for (const name of ['link', 'big', 'folder']) {
    await expect(saved.read(name)).rejects.toMatchObject({ code: 'not_found' });
    await expect(saved.write(name, 'SELECT 1', 'new')).rejects.toMatchObject({ code: 'changed_meanwhile' });
  }
});
