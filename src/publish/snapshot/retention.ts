import { readlink, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { SightlineError, toSightlineError } from '../../base/errors.ts';
import { DAY_MS } from '../../contract/time.ts';
import type { Layout } from './layout.ts';
import { listSnapshots, numberOf } from './manifest.ts';

/** Prefix of a snapshot's folder that is being deleted. Readers ignore such folders. */
export const LEAVING = '.old-';
/** Time for which a superseded snapshot stays, so that its readers can finish. */
const GRACE_MS = 3_600_000;
/** 1 January 1970 was a Thursday: weeks begin three days before. */
const DAYS_INTO_WEEK = 3;

/** Retention rule: keeps the newest snapshot of each of the last days, ISO weeks and months (UTC) that have one. */
export interface Keep {
  readonly daily: number;
  readonly weekly: number;
  readonly monthly: number;
}

/** The age of a snapshot; times are epoch milliseconds. */
export interface Aged {
  readonly id: string;
  readonly createdAt: number;
  /** When another snapshot became the latest; null if none did. */
  readonly supersededAt: number | null;
}

/**
 * Returns the ids of expired snapshots: not the newest of a kept period, not `latest`, and past the grace period. Pure
 * function.
 */
export function chooseExpired(
  snapshots: readonly Aged[],
  latest: string | null,
  keep: Keep,
  now: number,
  graceMs: number = GRACE_MS,
): string[] {
  const newestFirst = [...snapshots].sort((a, b) => b.createdAt - a.createdAt || numberOf(b.id) - numberOf(a.id));
  const kept = new Set([
    ...newestOf(newestFirst, keep.daily, dayNumber),
    ...newestOf(newestFirst, keep.weekly, (at) => Math.floor((dayNumber(at) + DAYS_INTO_WEEK) / 7)),
    ...newestOf(newestFirst, keep.monthly, (at) => new Date(at).toISOString().slice(0, 7)),
  ]);
  return newestFirst
    .filter(({ id, supersededAt }) => id !== latest && !kept.has(id) && (supersededAt ?? now) + graceMs <= now)
    .map(({ id }) => id);
}

/**
 * Deletes expired snapshots and returns their ids. Each is renamed first, so that readers see it completely or not at
 * all.
 */
export async function applyRetention(
  { snapshots, latest }: Pick<Layout, 'snapshots' | 'latest'>,
  keep: Keep,
  now: number,
): Promise<string[]> {
  const target = await readlink(latest).catch(() => null);
  try {
    const expired = chooseExpired(await readAges(snapshots), target, keep, now);
    for (const id of expired) {
      const aside = join(snapshots, `${LEAVING}${id}`);
      await rename(join(snapshots, id), aside);
      await rm(aside, { recursive: true, force: true });
    }
    return expired;
  } catch (thrown) {
    const { code, message } = toSightlineError(thrown);
    throw new SightlineError(code, `the snapshot is published, but older ones could not be deleted: ${message}`, {
      cause: thrown,
    });
  }
}

async function readAges(folder: string): Promise<Aged[]> {
  const inOrder = (await listSnapshots(folder)).map(({ id, createdAt, publishedAt, previous }) => {
    return { id, createdAt: Date.parse(createdAt), publishedAt: Date.parse(publishedAt), previous };
  });
  return inOrder.map(({ id, createdAt }, index) => {
    // A crash can leave a snapshot that never was the latest. The snapshot after it names the one that it followed.
    const followed = inOrder.filter(({ previous }) => previous === id).map(({ publishedAt }) => publishedAt);
    const next = inOrder[index + 1]?.publishedAt;
    const supersededAt = followed.length > 0 ? Math.max(...followed) : (next ?? null);
    return { id, createdAt, supersededAt };
  });
}

function newestOf(newestFirst: readonly Aged[], count: number, periodOf: (at: number) => string | number): string[] {
  const newest = new Map<string | number, string>();
  for (const { id, createdAt } of newestFirst) {
    const period = periodOf(createdAt);
    if (!newest.has(period)) newest.set(period, id);
  }
  return [...newest.values()].slice(0, count);
}

function dayNumber(at: number): number {
  return Math.floor(at / DAY_MS);
}
