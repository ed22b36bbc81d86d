import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { SightlineError } from '../base/errors.ts';
import { ensureWritableFolder, syncToDisk } from '../base/files.ts';
import type { Layout } from '../snapshot/layout.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { foldLog, refuseIfOpen } from '../warehouse/file/log-file.ts';
import { logOf } from '../warehouse/file/open-files.ts';
import { judgeFolder, writeMark } from './folder-owner.ts';
import { applyJournal } from './log-segment.ts';
import { createJournal, type KeptJournal } from './log-shipping.ts';
import { bring, isKept, type KeptFiles, receiveKept } from './remote-files.ts';
import { type Lease, type LeaseTiming, takeLease } from './remote-lease.ts';
import { HOME, readRemote } from './remote-record.ts';
import { type CheckedInRecord, sweepRemote, withCheckedIn } from './remote-sweep.ts';
import type { CheckedOut, Holder, Remote } from './remote.ts';

/** Attempts to save at a check-in, and the wait before the second one. */
const SAVES_MAX = 4;
const SAVE_PAUSE_MS = 1_000;

/** Dependencies of `createStoreRemote`. */
export interface StoreRemoteParts {
  /** Opens the workspace's folder in the store. The signal aborts its requests. */
  readonly open: (signal: AbortSignal) => Promise<ObjectStore>;
  readonly layout: Pick<Layout, 'warehouse' | 'temporary'>;
  readonly kept: KeptFiles;
  readonly clock: Clock;
  /**
   * Returns the highest epoch published elsewhere, which the next one exceeds whatever the record contains; default 0.
   */
  readonly toldEpoch?: (signal: AbortSignal) => Promise<number>;
  /** Changed by tests only. */
  readonly timing?: LeaseTiming;
}

/** Creates the driver for a remote warehouse in an object store. */
export async function createStoreRemote(parts: StoreRemoteParts): Promise<Remote> {
  const { open, clock } = parts;
  const asked = new AbortController();
  const store = await open(asked.signal);
  return {
    checkOut: (holder, signal) => checkOut(parts, holder, signal),
    fetchCopy: async (path, known) => {
      for (let isSecond = false; ; isSecond = true) {
        const copy = (await readRemote(store))?.record.checkedIn ?? null;
        if (copy === null) return null;
        if (copy.key === known) return { version: copy.key, isNew: false, savedAt: copy.savedAt };
        try {
          await ensureWritableFolder(dirname(path));
          await bring(store, copy, path);
          await syncToDisk(dirname(path));
          return { version: copy.key, isNew: true, savedAt: copy.savedAt };
        } catch (thrown) {
          // The file may have been superseded and deleted since the record was read.
          if (isSecond || (await store.head(copy.key)) !== null) throw thrown;
        }
      }
    },
    state: async () => {
      const record = (await readRemote(store))?.record;
      if (record === undefined) return null;
      const { epoch, claim, checkedIn, journalPieces } = record;
      const isHeld = claim !== null && Date.parse(claim.until) > clock.now();
      const shown = isHeld ? { holder: claim.holder, via: claim.via, until: claim.until } : null;
      return { epoch, claim: shown, savedAt: checkedIn?.savedAt ?? null, bytes: checkedIn?.bytes ?? 0, journalPieces };
    },
    close: () => store.close(),
  };
}

async function checkOut(parts: StoreRemoteParts, holder: Holder, signal: AbortSignal): Promise<CheckedOut> {
  const { open, layout, clock, timing, toldEpoch = async () => 0 } = parts;
  const folder = dirname(layout.warehouse);
  await ensureWritableFolder(folder);
  // A stopped process of this machine may still have the warehouse open and would continue to write to these files.
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

// Uploads a local warehouse, with all kept files, as the first state of the remote warehouse.
async function takeIn(warehouse: string, journal: KeptJournal): Promise<void> {
  await foldLog(warehouse);
  await journal.save((record) => record);
}

// Downloads the remote state and returns the number of journal pieces that were applied. The signal ends the download.
async function receive({ open, layout, kept }: StoreRemoteParts, lease: Lease, signal: AbortSignal): Promise<number> {
  const folder = dirname(layout.warehouse);
  const { base, files, journal } = lease.found;
  const other = files.find(({ path }) => !isKept(kept, path));
  if (other !== undefined)
    throw new SightlineError('remote_failed', `${HOME} names ${other.path}, which is not a kept file`);
  await clear(folder, basename(layout.warehouse), base === null);
  const store = await open(signal);
  try {
    if (base !== null) await bring(store, base, layout.warehouse);
    await receiveKept(store, folder, kept, files);
    const log = basename(logOf(layout.warehouse));
    const mayBe = (path: string): boolean => path === log || isKept(kept, path);
    const taken = await applyJournal(store, journal, folder, mayBe, signal);
    signal.throwIfAborted();
    // Fix the number of pieces, so that pieces that a previous holder still writes are never read.
    const closed = taken.filter(({ pieces }) => pieces > 0);
    if (journal.length > 0) await lease.change((record) => ({ ...record, journal: closed }));
    return closed.reduce((sum, { pieces }) => sum + pieces, 0);
  } finally {
    store.close();
  }
}

// Removes logs and leftovers, and the warehouse file itself if `withFile` is true.
async function clear(folder: string, warehouse: string, withFile: boolean): Promise<void> {
  for (const name of await readdir(folder)) {
    const isLeft = name.startsWith(`${warehouse}.`) || (withFile && name === warehouse) || name.startsWith('.sending-');
    if (isLeft) await rm(join(folder, name), { recursive: true, force: true });
  }
}

// Retries a save, because the result of the run depends on it. Uploaded files are not uploaded again.
async function saved<T>(clock: Clock, lease: Lease, save: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await save();
    } catch (thrown) {
      lease.lost.throwIfAborted();
      const isStore = thrown instanceof SightlineError && thrown.code === 'remote_failed';
      if (!isStore || attempt === SAVES_MAX) throw thrown;
      await clock.sleep(SAVE_PAUSE_MS * attempt, lease.lost);
    }
  }
}

function checkedOut(parts: StoreRemoteParts, store: ObjectStore, lease: Lease, journal: KeptJournal): CheckedOut {
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
      // Set only now: until the record is stored, it still names the obsolete objects.
      after = made;
      lease.assertHeld();
      const { checkedIn } = record;
      await writeMark(dirname(layout.warehouse), { location: store.location, hasData: checkedIn !== null });
      return checkedIn?.key ?? null;
    },
    release: async () => {
      // Release the lease first, so that others do not wait for the cleanup.
      await lease.end();
      try {
        if (after !== null && !lease.lost.aborted) await sweepRemote(store, journal.superseded(), after);
      } finally {
        store.close();
      }
    },
  };
}
