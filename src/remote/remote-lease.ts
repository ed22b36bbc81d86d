import { randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { SightlineError } from '../base/errors.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { checkConditions } from '../storage/store-conditions.ts';
import {
  EPOCH_MAX,
  firstRecord,
  HOME,
  isFree,
  LEASE_MS,
  type ReadRemote,
  type RemoteRecord,
  readRemote,
  toRemoteBody,
} from './remote-record.ts';
import type { Holder } from './remote.ts';

/** Interval between renewals of a lease. */
const RENEW_MS = 5_000;
const TIMING = { leaseMs: LEASE_MS, renewMs: RENEW_MS } as const;
/** Wait after a failed renewal. */
const RETRY_MS = 1_000;
/** Attempts to change the record. A second attempt is needed only if a response was lost. */
const CHANGES_MAX = 10;
/** Attempts to take the lease, because others may try at the same time. */
const TAKES_MAX = 10;
const PAUSE_MS = 300;

/** The lease on a remote warehouse, renewed until `end` is called. */
export interface Lease {
  readonly epoch: number;
  /** Aborted with `lease_lost`. */
  readonly lost: AbortSignal;
  /** Throws `lease_lost`, also if the lease expired unnoticed, for example while the process was stopped. */
  assertHeld(): void;
  /** The record as it was when the lease was taken. */
  readonly found: RemoteRecord;
  /**
   * Reads the current record of this epoch.
   * @throws `lease_lost`, `remote_failed`
   */
  read(): Promise<RemoteRecord>;
  /**
   * Changes the record if it still belongs to this epoch. If the response to a write is lost, `apply` runs again on the
   * record that it has already changed.
   * @throws `lease_lost`, `remote_failed`
   */
  change(apply: (record: RemoteRecord) => RemoteRecord): Promise<RemoteRecord>;
  /** Stops the renewals and releases the lease if it is still valid. */
  end(): Promise<void>;
}

/** Dependencies of a lease. */
export interface LeaseParts {
  readonly store: ObjectStore;
  readonly clock: Clock;
  /** Returns the number of journal pieces, which each renewal records. */
  readonly journalPieces: () => number;
  /** Returns an epoch that the next one must exceed, in case the record was restored from a backup or removed. */
  readonly told: () => Promise<number>;
  /** Aborted when the lease is lost, which also ends the store's requests. */
  readonly lost: AbortController;
  readonly timing?: LeaseTiming;
}

/** Changed by tests only. */
export interface LeaseTiming {
  readonly leaseMs: number;
  readonly renewMs: number;
}

/**
 * Takes the lease on a remote warehouse.
 * @throws `warehouse_locked` with the holder and the expiry, `remote_failed`, or the signal's reason
 */
export async function takeLease(parts: LeaseParts, holder: Holder, signal: AbortSignal): Promise<Lease> {
  const { store, clock, timing, told } = parts;
  const { leaseMs } = timing ?? TIMING;
  const id = randomUUID();
  for (let attempt = 0; attempt < TAKES_MAX; attempt++) {
    signal.throwIfAborted();
    const takenAt = clock.monotonic();
    const found = await readRemote(store);
    // An earlier attempt succeeded, but its response was lost.
    if (found?.record.claim?.id === id) return keepLease(parts, id, found.record, takenAt);
    if (found !== null && !isFree(found, holder.via, clock.now(), leaseMs)) throw lockedError(store, found.record);
    const record = found?.record ?? firstRecord(clock.now());
    const claim = { id, holder: holder.name, via: holder.via, until: untilOf(clock, leaseMs) };
    // Read after the record: a process that takes the lease meanwhile raises the record's epoch, so this attempt fails.
    const next = { ...record, epoch: Math.max(record.epoch, await told()) + 1, claim };
    if (next.epoch > EPOCH_MAX) {
      const message = `the epoch in ${store.location}${HOME} or latest.json is ${next.epoch - 1}; allowed: below ${EPOCH_MAX}; restore an earlier version of that object`;
      throw new SightlineError('remote_failed', message);
    }
    // Checked once, when the record is created: without conditional writes two workers could both get the lease.
    if (found === null) await checkConditions(store);
    const isWritten =
      found === null
        ? await store.create(HOME, toRemoteBody(next))
        : await store.replace(HOME, toRemoteBody(next), found.version);
    if (isWritten) return keepLease(parts, id, next, takenAt);
    await clock.sleep(clock.random() * PAUSE_MS, signal);
  }
  throw new SightlineError(
    'warehouse_locked',
    `other processes are locking ${store.location} at this moment; try again`,
  );
}

function lockedError({ location }: ObjectStore, { claim }: RemoteRecord): SightlineError {
  const message = `${location} is locked by ${claim?.holder} until ${claim?.until}, or longer if it renews its lease`;
  return new SightlineError('warehouse_locked', message);
}

function untilOf(clock: Clock, leaseMs: number): string {
  return new Date(clock.now() + leaseMs).toISOString();
}

function keepLease(parts: LeaseParts, id: string, found: RemoteRecord, takenAt: number): Lease {
  const { store, clock, journalPieces, lost, timing } = parts;
  const { leaseMs, renewMs } = timing ?? TIMING;
  const { epoch } = found;
  const ended = new AbortController();
  const late = `it was not renewed for ${leaseMs / 1000} seconds`;
  let heldUntil = takenAt + leaseMs;
  const lose = (why: string): SightlineError => {
    const error = new SightlineError('lease_lost', `the lease on ${store.location} (epoch ${epoch}) is lost: ${why}`);
    if (!lost.signal.aborted) lost.abort(error);
    return lost.signal.reason as SightlineError;
  };
  const assertHeld = (): void => {
    lost.signal.throwIfAborted();
    if (clock.monotonic() >= heldUntil) throw lose(late);
  };
  let last: Promise<unknown> = Promise.resolve();
  const readOwn = async (): Promise<ReadRemote> => {
    lost.signal.throwIfAborted();
    const read = await readRemote(store);
    if (read === null) throw lose(`${HOME} is missing`);
    const { claim } = read.record;
    // A record restored from a backup counts the same epochs again, so the id is compared, too.
    const isOurs = read.record.epoch === epoch && (claim === null || claim.id === id);
    if (!isOurs) throw lose(`${claim?.holder ?? 'another process'} took it over`);
    return read;
  };
  const changeOnce = async (apply: (record: RemoteRecord) => RemoteRecord): Promise<RemoteRecord> => {
    for (let attempt = 0; attempt < CHANGES_MAX; attempt++) {
      const read = await readOwn();
      const sentAt = clock.monotonic();
      const applied = apply(read.record);
      const claim = applied.claim === null ? null : { ...applied.claim, id, until: untilOf(clock, leaseMs) };
      const next = { ...applied, claim, journalPieces: journalPieces() };
      if (await store.replace(HOME, toRemoteBody(next), read.version)) {
        heldUntil = sentAt + leaseMs;
        return next;
      }
    }
    throw new SightlineError(
      'remote_failed',
      `${store.location}${HOME} was changed by others during each of ${CHANGES_MAX} attempts to write it`,
    );
  };
  const change = (apply: (record: RemoteRecord) => RemoteRecord): Promise<RemoteRecord> => {
    const mine = last.then(() => changeOnce(apply));
    last = mine.catch(() => undefined);
    return mine;
  };
  const until = (ms: number): Promise<boolean> =>
    clock.sleep(ms, AbortSignal.any([ended.signal, lost.signal])).then(
      () => true,
      () => false,
    );
  const renew = async (): Promise<void> => {
    for (let pause = renewMs; await until(pause);) {
      pause = await change((record) => record).then(
        () => renewMs,
        () => RETRY_MS,
      );
    }
  };
  // Separate from the renewals, because a store that does not respond must not delay the detection of an expired lease.
  const watch = async (): Promise<void> => {
    while (await until(Math.max(0, heldUntil - clock.monotonic()))) {
      if (clock.monotonic() >= heldUntil) lose(late);
    }
  };
  const kept = Promise.all([renew(), watch()]);
  const end = async (): Promise<void> => {
    // If the lease is lost, do not wait for the store: the lease expires by itself.
    if (!lost.signal.aborted) await change((record) => ({ ...record, claim: null })).catch(() => undefined);
    ended.abort();
    await kept;
  };
  const read = async (): Promise<RemoteRecord> => (await readOwn()).record;
  return { epoch, lost: lost.signal, assertHeld, found, read, change, end };
}
