import { SightlineError } from '../base/errors.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { atOnce } from './remote-files.ts';
import type { RemoteRecord } from './remote-record.ts';

/** Time that readers have to download a file that is no longer the newest. */
const READERS_MS = 3_600_000;
/** Interval between searches, by listing, for leftovers of killed processes. */
const SWEEP_EVERY_MS = 24 * 3_600_000;
/** Maximum number of objects removed at one time. A later listing finds the rest. */
const REMOVED_MAX = 5_000;
const OURS = /^(base|files|journal)\/(\d+)-[^/]+/;

/** What a check-in leaves to clean up. */
export interface CheckedInRecord {
  readonly record: RemoteRecord;
  /** Keys that the record no longer names. */
  readonly gone: readonly string[];
  /** True if a search for leftovers of killed processes is due. */
  readonly isDue: boolean;
}

/**
 * Returns the record with its base as the file for readers. The previous file stays for an hour. `now` is epoch
 * milliseconds.
 */
export function withCheckedIn(record: RemoteRecord, now: number): CheckedInRecord {
  const { base, checkedIn, former, sweptAt } = record;
  const since = new Date(now).toISOString();
  const left = checkedIn === null || checkedIn.key === base?.key ? [] : [{ key: checkedIn.key, since }];
  const others = former.filter(({ key }) => !left.some((entry) => entry.key === key));
  const gone = others.filter((entry) => Date.parse(entry.since) + READERS_MS <= now).map(({ key }) => key);
  const kept = [...others.filter(({ key }) => !gone.includes(key)), ...left];
  const isDue = Date.parse(sweptAt) + SWEEP_EVERY_MS <= now;
  const next = { ...record, checkedIn: base, former: kept, sweptAt: isDue ? since : sweptAt };
  return { record: next, gone, isDue };
}

/**
 * Removes objects that the remote warehouse no longer needs and, if due, leftovers of earlier epochs, found by listing.
 * Keys are never reused, so it does not matter which process removes an object, or when. Objects that the store does
 * not remove are left for the next time.
 */
export async function sweepRemote(store: ObjectStore, keys: readonly string[], after: CheckedInRecord): Promise<void> {
  const { record, gone, isDue } = after;
  const needed = neededBy(record);
  try {
    await removeAll(
      store,
      [...keys, ...gone].filter((key) => !needed.has(key)),
    );
    if (isDue) await removeAll(store, await findLeft(store, needed, record.epoch));
  } catch (thrown) {
    if (!(thrown instanceof SightlineError)) throw thrown;
  }
}

function neededBy({ base, checkedIn, files, former, journal }: RemoteRecord): Set<string> {
  const kept = [base, checkedIn, ...files, ...former].flatMap((file) => (file === null ? [] : [file.key]));
  return new Set([...kept, ...journal.map(({ prefix }) => prefix)]);
}

async function findLeft(store: ObjectStore, needed: ReadonlySet<string>, epoch: number): Promise<string[]> {
  const left: string[] = [];
  for (const prefix of ['base/', 'files/', 'journal/']) {
    for await (const { key } of store.list(prefix)) {
      const found = OURS.exec(key);
      const isOfAnother = found !== null && Number(found[2]) < epoch;
      if (isOfAnother && !needed.has(key) && !needed.has(`${found[0]}/`)) left.push(key);
      if (left.length >= REMOVED_MAX) return left;
    }
  }
  return left;
}

function removeAll(store: ObjectStore, keys: readonly string[]): Promise<void> {
  return atOnce(keys.slice(0, REMOVED_MAX), (key) => store.remove(key));
}
