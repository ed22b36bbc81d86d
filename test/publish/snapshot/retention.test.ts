import { mkdir, readdir, readlink, rename, symlink, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { layoutOf } from '../../../src/publish/snapshot/layout.ts';
import { type Aged, applyRetention, chooseExpired } from '../../../src/publish/snapshot/retention.ts';
import { temporaryFolder } from '../../support/folders.ts';

const DAY_MS = 86_400_000;
const GRACE_MS = 3_600_000;
const NOW = Date.parse('2026-03-16T00:00:00Z');

const histories = fc
  .array(fc.integer({ min: 0, max: 500 * 24 * 60 }), { minLength: 1, maxLength: 60 })
  .map((minutes): Aged[] => {
    const inOrder = [...minutes].sort((a, b) => b - a).map((ago) => NOW - ago * 60_000);
    return inOrder.map((createdAt, index) => {
      return { id: `${index}`, createdAt, supersededAt: inOrder[index + 1] ?? null };
    });
  });
const keeps = fc.record({
  daily: fc.integer({ min: 0, max: 20 }),
  weekly: fc.integer({ min: 0, max: 10 }),
  monthly: fc.integer({ min: 0, max: 20 }),
});

describe('expired snapshots', () => {
  test('never include the latest or the newest of a kept period, and all are found at once', () => {
    fc.assert(
      fc.property(histories, keeps, fc.nat(), (snapshots, keep, pick) => {
        const latest = (snapshots[pick % snapshots.length] as Aged).id;
        const expired = new Set(chooseExpired(snapshots, latest, keep, NOW, GRACE_MS));
        const left = snapshots.filter(({ id }) => !expired.has(id));
        expect(expired.has(latest)).toBe(false);
        const inGrace = left.filter(({ supersededAt }) => (supersededAt ?? NOW) + GRACE_MS > NOW);
        expect(left.length).toBeLessThanOrEqual(keep.daily + keep.weekly + keep.monthly + inGrace.length + 1);
        for (const [count, period] of [
          [keep.daily, dayOf],
          [keep.weekly, weekOf],
          [keep.monthly, monthOf],
        ] as const) {
          const newest = [...new Set(snapshots.map(({ createdAt }) => period(createdAt)))].sort().reverse();
          for (const wanted of newest.slice(0, count)) {
            const own = snapshots.filter(({ createdAt }) => period(createdAt) === wanted);
            const last = Math.max(...own.map(({ createdAt }) => createdAt));
            expect(left.some(({ createdAt }) => createdAt === last)).toBe(true);
          }
        }
        expect(chooseExpired(left, latest, keep, NOW, GRACE_MS)).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  test('are past the grace period for their readers', () => {
    const snapshots = [
      { id: 'a', createdAt: NOW - 3 * GRACE_MS, supersededAt: NOW - GRACE_MS },
      { id: 'b', createdAt: NOW - 2 * GRACE_MS, supersededAt: NOW - GRACE_MS + 1 },
      { id: 'c', createdAt: NOW - GRACE_MS, supersededAt: null },
    ];
    expect(chooseExpired(snapshots, 'c', { daily: 0, weekly: 0, monthly: 0 }, NOW)).toEqual(['a']);
  });
});

describe('retention in a folder', () => {
  test('deletes complete snapshots and leaves other folders alone', async () => {
    const layout = layoutOf(await temporaryFolder());
    const ids = ['20260101T000000Z', '20260102T000000Z', '20260102T000000Z-2', '20260103T000000Z'];
    for (const [index, id] of ids.entries()) await writeSnapshot(layout.snapshots, id, ids[index - 1] ?? null);
    await symlink('20260103T000000Z', layout.latest);
    await mkdir(join(layout.snapshots, '20200101T000000Z'));
    await mkdir(join(layout.snapshots, 'notes'));
    const keep = { daily: 2, weekly: 0, monthly: 0 };
    expect(await applyRetention(layout, keep, NOW)).toEqual(['20260102T000000Z', '20260101T000000Z']);
    expect((await readdir(layout.snapshots)).sort()).toEqual([
      '20200101T000000Z',
      '20260102T000000Z-2',
      '20260103T000000Z',
      'latest',
      'notes',
    ]);
    expect(await applyRetention(layout, keep, NOW)).toEqual([]);
    // `latest` was set back to an older snapshot, and no snapshot follows the newest.
    await unlink(layout.latest);
    await symlink('20260102T000000Z-2', layout.latest);
    expect(await applyRetention(layout, { daily: 0, weekly: 0, monthly: 0 }, NOW)).toEqual([]);
    expect(await readlink(layout.latest)).toBe('20260102T000000Z-2');
  });

  test('counts the grace period from when a snapshot was superseded, even if one never became the latest', async () => {
    const layout = layoutOf(await temporaryFolder());
    const first = '20260315T200000Z';
    await writeSnapshot(layout.snapshots, first, null);
    // Published except for the symlink.
    await writeSnapshot(layout.snapshots, '20260315T210000Z', first);
    await writeSnapshot(layout.snapshots, '20260315T233000Z', first);
    await symlink('20260315T233000Z', layout.latest);
    const none = { daily: 0, weekly: 0, monthly: 0 };
    expect(await applyRetention(layout, none, NOW)).toEqual([]);
    expect(await applyRetention(layout, none, NOW + GRACE_MS / 2)).toEqual(['20260315T210000Z', first]);
  });

  test('that was interrupted leaves no partial snapshot under its name', async () => {
    const layout = layoutOf(await temporaryFolder());
    await writeSnapshot(layout.snapshots, '20260101T000000Z', null);
    await rename(join(layout.snapshots, '20260101T000000Z'), join(layout.snapshots, '.old-20260101T000000Z'));
    await writeSnapshot(layout.snapshots, '20260102T000000Z', null);
    await symlink('20260102T000000Z', layout.latest);
    expect(await applyRetention(layout, { daily: 1, weekly: 1, monthly: 1 }, NOW)).toEqual([]);
  });
});

async function writeSnapshot(folder: string, id: string, previous: string | null): Promise<void> {
  await mkdir(join(folder, id), { recursive: true });
  const createdAt = id.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z.*/, '$1-$2-$3T$4:$5:$6Z');
  const empty = { schemaVersion: 1, tables: [], coverage: [], verifiedThrough: [] };
  const manifest = { format: 1, id, createdAt, publishedAt: createdAt, previous, ...empty };
  await writeFile(join(folder, id, 'manifest.json'), JSON.stringify(manifest));
}

function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

function monthOf(at: number): string {
  return new Date(at).toISOString().slice(0, 7);
}

// Returns the Monday of a week.
function weekOf(at: number): string {
  const weekday = (new Date(at).getUTCDay() + 6) % 7;
  return dayOf(at - weekday * DAY_MS);
}
