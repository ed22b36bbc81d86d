import { existsSync } from 'node:fs';
import { mkdir, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { layoutOf } from '../../src/publish/snapshot/layout.ts';
import { keepProgress, readProgress } from '../../src/sync/progress-file.ts';
import { progressOf } from '../../src/sync/progress.ts';
import type { Slice } from '../../src/sync/slice.ts';
import { createSyncStats } from '../../src/sync/sync-stats.ts';
import { temporaryFolder } from '../support/folders.ts';

const budget = { limit: 120, capacity: 116, left: 116 };

/** Sync stats of one resource with expected and sent requests. */
function tallied(expected: number, sent: number) {
  const stats = createSyncStats();
  stats.planned([{ id: 'a', resource: 'things', expected } as Slice]);
  for (let request = 0; request < sent; request += 1) {
    stats.attempted({ attempt: 1, waitedMs: 10 } as Parameters<typeof stats.attempted>[0]);
  }
  return stats;
}

describe('the estimated time', () => {
  it('is 0 if no requests are left', () => {
    expect(progressOf(tallied(0, 5), budget, 1_000).secondsToGo).toBe(0);
  });

  it('follows the budget if upstream is fast', () => {
    // 600 requests, 116 of them at once, then 116 per minute.
    const { secondsToGo } = progressOf(tallied(600, 116), budget, 100);
    expect(secondsToGo).toBe(Math.ceil((484 / 116) * 60));
  });

  it('follows the pace so far if upstream is slow', () => {
    // 10 requests took a minute, so 50 more take five.
    expect(progressOf(tallied(50, 10), budget, 60_000).secondsToGo).toBe(300);
  });

  it('is a whole number of seconds and never negative', () => {
    const count = fc.integer({ min: 0, max: 500 });
    fc.assert(
      fc.property(count, count, fc.integer({ min: 0, max: 200 }), count, (expected, sent, left, elapsedMs) => {
        const { secondsToGo } = progressOf(tallied(expected, sent), { limit: 200, capacity: 190, left }, elapsedMs);
        expect(Number.isInteger(secondsToGo) && secondsToGo >= 0).toBe(true);
      }),
    );
  });
});

describe('the progress file', () => {
  const progress = progressOf(tallied(40, 3), budget, 1_000);

  it('exists only while a sync runs', async () => {
    const folder = await temporaryFolder();
    expect(await readProgress(folder, systemClock.now())).toBeNull();
    const kept = keepProgress({ folder, clock: systemClock, command: 'sync' }, () => progress);
    await expect.poll(() => existsSync(layoutOf(folder).progress)).toBe(true);
    const now = systemClock.now();
    const running = await readProgress(folder, now);
    expect(running).toMatchObject({ ...progress, command: 'sync', pid: process.pid });
    expect(Math.abs(now - Date.parse(running?.startedAt ?? ''))).toBeLessThan(60_000);
    await kept.close();
    expect(await readProgress(folder, now)).toBeNull();
    expect(existsSync(layoutOf(folder).progress)).toBe(false);
  });

  it('of a killed process is ignored', async () => {
    const folder = await temporaryFolder();
    const at = new Date(1_000_000_000_000).toISOString();
    const left = { command: 'sync', pid: 1, host: hostname(), startedAt: at, updatedAt: at, ...progress };
    await writeFile(layoutOf(folder).progress, JSON.stringify(left));
    expect(await readProgress(folder, 1_000_000_010_000)).toMatchObject({ pid: 1 });
    expect(await readProgress(folder, 1_000_000_016_000)).toBeNull();
    // The clock was set back after the write.
    expect(await readProgress(folder, 999_999_900_000)).toBeNull();
  });

  it('is ignored if it is a link or too large', async () => {
    const folder = await temporaryFolder();
    const path = layoutOf(folder).progress;
    await symlink('/dev/zero', path);
    expect(await readProgress(folder, systemClock.now())).toBeNull();
    await rm(path);
    await writeFile(path, '');
    await truncate(path, 2 ** 40);
    expect(await readProgress(folder, systemClock.now())).toBeNull();
  });

  it.each(['', '{', '[]', '{"pid":1}'])('with invalid content is ignored: %j', async (text) => {
    const folder = await temporaryFolder();
    await writeFile(layoutOf(folder).progress, text);
    expect(await readProgress(folder, systemClock.now())).toBeNull();
  });

  it('does not affect a sync if it cannot be written', async () => {
    const folder = await temporaryFolder();
    await mkdir(layoutOf(folder).progress);
    const kept = keepProgress({ folder, clock: systemClock, command: 'sync' }, () => progress);
    await expect(kept.close()).resolves.toBeUndefined();
  });
});
