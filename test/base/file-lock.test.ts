import { readFile, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readHolder, tryLock } from '../../src/base/file-lock.ts';
import { temporaryFolder } from '../support/folders.ts';

const DEAD = 999_999_999;

async function lockPath(record?: unknown, ageMs = 0): Promise<string> {
  const path = join(await temporaryFolder(), 'lock.json');
  if (record === undefined) return path;
  await writeFile(path, typeof record === 'string' ? record : JSON.stringify(record));
  const at = new Date(Date.now() - ageMs);
  await utimes(path, at, at);
  return path;
}

const since = new Date().toISOString();
const other = { pid: DEAD, command: 'sightline sync', since, host: 'another-container' };

describe('a lock', () => {
  test('is free for others after its release, and names its holder until then', async () => {
    const path = await lockPath();
    const taken = await tryLock(path, 'sightline sync');
    if (!('lock' in taken)) return expect.fail('the lock is taken');
    onTestFinished(() => taken.lock.release());
    const holder = { pid: process.pid, command: 'sightline sync', host: hostname() };
    expect(await tryLock(path, 'sightline export')).toMatchObject({ holder });
    expect(await readHolder(path)).toMatchObject(holder);
    await taken.lock.release();
    expect(await readHolder(path)).toBeNull();
    expect(await tryLock(path, 'sightline export')).toHaveProperty('lock');
  });

  test.each([
    ['a killed process', { ...other, host: hostname() }, 0],
    [
      'a killed process whose ID this process has, as in a restarted container',
      { ...other, pid: process.pid, host: hostname() },
      0,
    ],
    ['another container that has not renewed it for 31 seconds', other, 31_000],
    [
      'a running process that has not renewed it for 31 seconds',
      { ...other, pid: process.ppid, host: hostname() },
      31_000,
    ],
    ['nobody, because it is damaged', '{"pid"', 0],
  ])('is taken over from %s', async (_title, record, ageMs) => {
    const path = await lockPath(record, ageMs);
    expect(await readHolder(path)).toBeNull();
    expect(await tryLock(path, 'sightline sync')).toHaveProperty('lock');
    expect(await readFile(path, 'utf8')).toContain(`"pid":${process.pid}`);
  });

  test.each([
    ['another container that renews it', other],
    ['a running process', { ...other, pid: process.ppid, host: hostname() }],
  ])('stays with %s', async (_title, record) => {
    const path = await lockPath(record, 20_000);
    expect(await tryLock(path, 'sightline sync')).toEqual({ holder: record });
  });
});
