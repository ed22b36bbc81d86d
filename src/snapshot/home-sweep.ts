import { SightlineError } from '../base/errors.ts';
import { atOnce } from './home-files.ts';
import type { HomeRecord } from './home-record.ts';
import type { ObjectStore } from './object-store.ts';

/** So long readers may take to bring a file that is not the newest any more. */
const READERS_MS = 3_600_000;
/** How often it is looked by listing for what processes left that were killed. */
const SWEEP_EVERY_MS = 24 * 3_600_000;
/** Objects that are removed at most at one time; what is left is found by listing. */
const REMOVED_MAX = 5_000;
const OURS = /^(base|files|journal)\/(\d+)-[^/]+/;

/** What a check-in leaves behind. */
export interface CheckedInRecord {
  readonly record: HomeRecord;
  /** Keys that the record names no more. */
  readonly gone: readonly string[];
  /** Whether it is time to look for what killed processes have left. */
  readonly isDue: boolean;
}

/** The record with its base given to readers; what they were given before stays for an hour. `now` is epoch milliseconds. */
export function withCheckedIn(record: HomeRecord, now: number): CheckedInRecord {
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
 * Removes what a home needs no longer, and where it is time for that, what was left of earlier epochs by processes that were
 * killed, by listing. No key is used twice, so that it never matters who removes one, and when. What the store refuses is
 * left for the next time.
 */
export async function sweepHome(store: ObjectStore, keys: readonly string[], after: CheckedInRecord): Promise<void> {
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

function neededBy({ base, checkedIn, files, former, journal }: HomeRecord): Set<string> {
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
