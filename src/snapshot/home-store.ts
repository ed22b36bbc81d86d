import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { SightlineError } from '../base/errors.ts';
import { ensureWritableFolder, syncToDisk } from '../base/files.ts';
import { foldLog, refuseIfOpen } from '../warehouse/log-file.ts';
import { logOf } from '../warehouse/open-files.ts';
import type { CheckedOut, Holder, Home } from './home.ts';
import { bring, isKept, type KeptFiles, receiveKept } from './home-files.ts';
import { type Lease, type LeaseTiming, takeLease } from './home-lease.ts';
import { judgeFolder, writeMark } from './home-mark.ts';
import { HOME, readHome } from './home-record.ts';
import { type CheckedInRecord, sweepHome, withCheckedIn } from './home-sweep.ts';
import { createJournal, type KeptJournal } from './journal.ts';
import { applyJournal } from './journal-piece.ts';
import type { Layout } from './layout.ts';
import type { ObjectStore } from './object-store.ts';

/** How often a check-in is tried, and what is waited before the second time. */
const SAVES_MAX = 4;
const SAVE_PAUSE_MS = 1_000;

/** What a home in an object store is made of. */
export interface StoreHomeParts {
  /** Opens the folder of the store that is the workspace's home; its requests end with the signal. */
  readonly open: (signal: AbortSignal) => Promise<ObjectStore>;
  readonly layout: Pick<Layout, 'warehouse' | 'temporary'>;
  readonly kept: KeptFiles;
  readonly clock: Clock;
  /** The epoch that others were told of this workspace, which the next is to exceed whatever the home says; default 0. */
  readonly toldEpoch?: (signal: AbortSignal) => Promise<number>;
  /** Changed by tests only. */
  readonly timing?: LeaseTiming;
}

/** The home of a workspace in an object store. */
export async function createStoreHome(parts: StoreHomeParts): Promise<Home> {
  const { open, clock } = parts;
  const asked = new AbortController();
  const store = await open(asked.signal);
  return {
    checkOut: (holder, signal) => checkOut(parts, holder, signal),
    fetchCopy: async (path, known) => {
      for (let isSecond = false; ; isSecond = true) {
        const copy = (await readHome(store))?.record.checkedIn ?? null;
        if (copy === null) return null;
        if (copy.key === known) return { version: copy.key, isNew: false, savedAt: copy.savedAt };
        try {
          await ensureWritableFolder(dirname(path));
          await bring(store, copy, path);
          await syncToDisk(dirname(path));
          return { version: copy.key, isNew: true, savedAt: copy.savedAt };
        } catch (thrown) {
          // It may have become an old one, and gone, since the record was read.
          if (isSecond || (await store.head(copy.key)) !== null) throw thrown;
        }
      }
    },
    state: async () => {
      const record = (await readHome(store))?.record;
      if (record === undefined) return null;
      const { epoch, claim, checkedIn, journalPieces } = record;
      const isHeld = claim !== null && Date.parse(claim.until) > clock.now();
      const shown = isHeld ? { holder: claim.holder, via: claim.via, until: claim.until } : null;
      return { epoch, claim: shown, savedAt: checkedIn?.savedAt ?? null, bytes: checkedIn?.bytes ?? 0, journalPieces };
    },
    close: () => store.close(),
  };
}

async function checkOut(parts: StoreHomeParts, holder: Holder, signal: AbortSignal): Promise<CheckedOut> {
  const { open, layout, clock, timing, toldEpoch = async () => 0 } = parts;
  const folder = dirname(layout.warehouse);
  await ensureWritableFolder(folder);
  // Another process of this machine may have been stopped at its work: it would go on in files that are ours by then.
  await refuseIfOpen(layout.warehouse, join(folder, '.asked'));
  const lost = new AbortController();
  const store = await open(lost.signal);
  let journal: KeptJournal | null = null;
  let lease: Lease | null = null;
  try {
    const pieces = (): number => journal?.pieces() ?? 0;
    const told = (): Promise<number> => toldEpoch(signal);
    lease = await takeLease(
      { store, clock, lost, journalPieces: pieces, told, ...(timing === undefined ? {} : { timing }) },
      holder,
      signal,
    );
    journal = createJournal({ ...parts, store, lease, folder, warehouse: layout.warehouse });
    if ((await judgeFolder(layout.warehouse, store.location, lease.found)) === 'take in') {
      await takeIn(layout.warehouse, journal);
      await writeMark(folder, { location: store.location, hasData: true });
    } else {
      await writeMark(folder, { location: store.location, hasData: lease.found.base !== null });
      await journal.begin(await receive(parts, lease, AbortSignal.any([signal, lost.signal])));
    }
    return checkedOut(parts, store, lease, journal);
  } catch (thrown) {
    await lease?.end();
    store.close();
    throw thrown;
  }
}

// What was the home itself until now becomes its first state elsewhere, with all that is kept.
async function takeIn(warehouse: string, journal: KeptJournal): Promise<void> {
  await foldLog(warehouse);
  await journal.save((record) => record);
}

// Gives the number of pieces of the journal that were taken; who is to stop does not wait for a warehouse to come.
async function receive({ open, layout, kept }: StoreHomeParts, lease: Lease, signal: AbortSignal): Promise<number> {
  const folder = dirname(layout.warehouse);
  const { base, files, journal } = lease.found;
  const other = files.find(({ path }) => !isKept(kept, path));
  if (other !== undefined) throw new SightlineError('home_failed', `${HOME} names ${other.path}, which no home keeps`);
  await clear(folder, basename(layout.warehouse), base === null);
  const store = await open(signal);
  try {
    if (base !== null) await bring(store, base, layout.warehouse);
    await receiveKept(store, folder, kept, files);
    const log = basename(logOf(layout.warehouse));
    const mayBe = (path: string): boolean => path === log || isKept(kept, path);
    const taken = await applyJournal(store, journal, folder, mayBe, signal);
    signal.throwIfAborted();
    // From here on nobody reads what whoever was here before may still be writing.
    const closed = taken.filter(({ pieces }) => pieces > 0);
    if (journal.length > 0) await lease.change((record) => ({ ...record, journal: closed }));
    return closed.reduce((sum, { pieces }) => sum + pieces, 0);
  } finally {
    store.close();
  }
}

// Logs and what is left of others; a file that is the home's already need not be brought.
async function clear(folder: string, warehouse: string, withFile: boolean): Promise<void> {
  for (const name of await readdir(folder)) {
    const isLeft = name.startsWith(`${warehouse}.`) || (withFile && name === warehouse) || name.startsWith('.sending-');
    if (isLeft) await rm(join(folder, name), { recursive: true, force: true });
  }
}

// All that was done hangs on it, and what was sent need not be sent again.
async function saved<T>(clock: Clock, lease: Lease, save: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await save();
    } catch (thrown) {
      lease.lost.throwIfAborted();
      const isStore = thrown instanceof SightlineError && thrown.code === 'home_failed';
      if (!isStore || attempt === SAVES_MAX) throw thrown;
      await clock.sleep(SAVE_PAUSE_MS * attempt, lease.lost);
    }
  }
}

function checkedOut(parts: StoreHomeParts, store: ObjectStore, lease: Lease, journal: KeptJournal): CheckedOut {
  const { layout, clock } = parts;
  let after: CheckedInRecord | null = null;
  return {
    epoch: lease.epoch,
    lost: lease.lost,
    journal,
    keepFiles: () => saved(clock, lease, () => journal.saveFiles()),
    checkIn: async () => {
      lease.assertHeld();
      await foldLog(layout.warehouse);
      const { record, made } = await saved(clock, lease, async () => {
        let made: CheckedInRecord | null = null;
        const record = await journal.save((base) => {
          made = withCheckedIn(base, clock.now());
          return made.record;
        });
        return { record, made };
      });
      // Before the store has taken it the home still names what it does not.
      after = made;
      lease.assertHeld();
      const { checkedIn } = record;
      await writeMark(dirname(layout.warehouse), { location: store.location, hasData: checkedIn !== null });
      return checkedIn?.key ?? null;
    },
    release: async () => {
      // Others need not wait for what is removed.
      await lease.end();
      try {
        if (after !== null && !lease.lost.aborted) await sweepHome(store, journal.superseded(), after);
      } finally {
        store.close();
      }
    },
  };
}
