import { existsSync } from 'node:fs';
import { SightlineError } from '../../base/errors.ts';
import { toTimestamp } from '../../contract/time.ts';
import type { Layout } from './layout.ts';
import { isSnapshotId, listSnapshots, type Manifest } from './manifest.ts';

/** The state of the data that an incremental export compares with. */
export type Since =
  /** The data that the previous export of the same name wrote. */
  | { readonly kind: 'last' }
  | { readonly kind: 'snapshot'; readonly id: string }
  /** The newest snapshot at or before a time, in epoch milliseconds. */
  | { readonly kind: 'time'; readonly given: string; readonly atMs: number };

/** Snapshots that an error lists. */
const LISTED_MAX = 5;

/**
 * Parses the value of `--since`.
 *
 * @throws `usage`
 */
export function toSince(given: string, name: string): Since {
  if (given === 'last') return { kind: 'last' };
  if (isSnapshotId(given)) return { kind: 'snapshot', id: given };
  const moment = toTimestamp(given);
  if (moment !== null) return { kind: 'time', given, atMs: Date.parse(`${moment.slice(0, 23).replace(' ', 'T')}Z`) };
  const allowed =
    'last, the ID of a snapshot such as 20261120T021500Z, or a time such as 2026-11-20 or 2026-11-20T02:15:00Z';
  throw new SightlineError('usage', `${name} is ${JSON.stringify(given)}; allowed: ${allowed}`);
}

/**
 * Returns the snapshot that `since` means. Null if the workspace had no data at that time; `readFirstRun` returns the start of its first
 * run, or null if that is unknown.
 *
 * @throws `usage` if there is no such snapshot, or none that is old enough
 */
export async function findSnapshot(
  layout: Pick<Layout, 'snapshots'>,
  since: Exclude<Since, { kind: 'last' }>,
  readFirstRun: () => Promise<number | null>,
): Promise<Manifest | null> {
  const snapshots = existsSync(layout.snapshots) ? await listSnapshots(layout.snapshots) : [];
  if (since.kind === 'snapshot') {
    const found = snapshots.find(({ id }) => id === since.id);
    if (found !== undefined) return found;
    throw unavailable(`no snapshot has the ID ${since.id}`, snapshots);
  }
  const found = snapshots.filter(({ createdAt }) => Date.parse(createdAt) <= since.atMs).at(-1);
  if (found !== undefined) return found;
  const firstRunMs = await readFirstRun();
  if (firstRunMs !== null && firstRunMs > since.atMs) return null;
  throw unavailable(`no snapshot is as old as --since ${since.given}, so the rows of that time are unknown`, snapshots);
}

function unavailable(problem: string, snapshots: readonly Manifest[]): SightlineError {
  const [oldest] = snapshots;
  if (oldest === undefined) {
    const hint = 'Run `sightline export` to write a snapshot, or use --since last.';
    return new SightlineError('usage', `${problem}; allowed: last, because there are no snapshots`, { hint });
  }
  const newest = snapshots.slice(-LISTED_MAX).map(({ id }) => id);
  const allowed = `last, a time from ${oldest.createdAt} on, or a snapshot (newest: ${newest.reverse().join(', ')})`;
  return new SightlineError('usage', `${problem}; allowed: ${allowed}`);
}
