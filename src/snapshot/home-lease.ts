import { randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { SightlineError } from '../base/errors.ts';
import type { Holder } from './home.ts';
import {
  CLAIM_MS,
  EPOCH_MAX,
  firstRecord,
  HOME,
  type HomeRecord,
  isFree,
  type ReadHome,
  readHome,
  toHomeBody,
} from './home-record.ts';
import type { ObjectStore } from './object-store.ts';
import { checkConditions } from './store-conditions.ts';

/** How often a claim is renewed. */
const RENEW_MS = 5_000;
const TIMING = { claimMs: CLAIM_MS, renewMs: RENEW_MS } as const;
/** Before a renewal that failed is tried again. */
const RETRY_MS = 1_000;
/** How often it is tried to change the record: only an answer that was lost on the way makes a second trial necessary. */
const CHANGES_MAX = 10;
/** Others may be claiming at the same moment. */
const CLAIMS_MAX = 10;
const PAUSE_MS = 300;

/** A claim to a workspace, renewed until it ends. */
export interface Lease {
  readonly epoch: number;
  /** Aborted with `lease_lost`. */
  readonly lost: AbortSignal;
  /** Throws `lease_lost` also where the time is over and nobody could notice yet, as in a process that was stopped for a while. */
  assertHeld(): void;
  /** The record as it was when it was claimed. */
  readonly found: HomeRecord;
  /** The record as it is now, of this epoch. Throws `lease_lost` and `home_failed`. */
  read(): Promise<HomeRecord>;
  /**
   * Changes the record, as long as it is of this epoch. What an answer that was lost has changed already is changed again.
   * Throws `lease_lost` and `home_failed`.
   */
  change(apply: (record: HomeRecord) => HomeRecord): Promise<HomeRecord>;
  /** Ends the renewals, and gives the claim back where it is still held. */
  end(): Promise<void>;
}

/** What a lease works with. */
export interface LeaseParts {
  readonly store: ObjectStore;
  readonly clock: Clock;
  /** What is told with each renewal. */
  readonly journalPieces: () => number;
  /** An epoch that the next is to exceed, as of a record that was put back or removed. */
  readonly told: () => Promise<number>;
  /** Aborted when the claim is lost; the store's requests end with it. */
  readonly lost: AbortController;
  readonly timing?: LeaseTiming;
}

/** Changed by tests only. */
export interface LeaseTiming {
  readonly claimMs: number;
  readonly renewMs: number;
}

/** Claims a workspace, or throws `warehouse_locked` with who has it and until when. */
export async function takeLease(parts: LeaseParts, holder: Holder, signal: AbortSignal): Promise<Lease> {
  const { store, clock, timing, told } = parts;
  const { claimMs } = timing ?? TIMING;
  const id = randomUUID();
  for (let attempt = 0; attempt < CLAIMS_MAX; attempt++) {
    signal.throwIfAborted();
    const claimedAt = clock.monotonic();
    const found = await readHome(store);
    // Of a trial whose answer was lost.
    if (found?.record.claim?.id === id) return keepLease(parts, id, found.record, claimedAt);
    if (found !== null && !isFree(found, holder.via, clock.now(), claimMs)) throw isHeld(store, found.record);
    const record = found?.record ?? firstRecord(clock.now());
    const claim = { id, holder: holder.name, via: holder.via, until: untilOf(clock, claimMs) };
    // Read after the record: who has it by then has raised its epoch as well, and this claim fails.
    const next = { ...record, epoch: Math.max(record.epoch, await told()) + 1, claim };
    if (next.epoch > EPOCH_MAX) {
      const message = `${store.location}${HOME} or latest.json says epoch ${next.epoch - 1}; allowed: below ${EPOCH_MAX}; put an earlier version of that object back`;
      throw new SightlineError('home_failed', message);
    }
    // Once in the life of a home: where conditions are not kept two workers would have it at once.
    if (found === null) await checkConditions(store);
    const isWritten =
      found === null
        ? await store.create(HOME, toHomeBody(next))
        : await store.replace(HOME, toHomeBody(next), found.version);
    if (isWritten) return keepLease(parts, id, next, claimedAt);
    await clock.sleep(clock.random() * PAUSE_MS, signal);
  }
  throw new SightlineError('warehouse_locked', `others are claiming ${store.location} at this moment`);
}

function isHeld({ location }: ObjectStore, { claim }: HomeRecord): SightlineError {
  const message = `${claim?.holder} has checked ${location} out, until ${claim?.until} where it does not renew that`;
  return new SightlineError('warehouse_locked', message);
}

function untilOf(clock: Clock, claimMs: number): string {
  return new Date(clock.now() + claimMs).toISOString();
}

function keepLease(parts: LeaseParts, id: string, found: HomeRecord, claimedAt: number): Lease {
  const { store, clock, journalPieces, lost, timing } = parts;
  const { claimMs, renewMs } = timing ?? TIMING;
  const { epoch } = found;
  const ended = new AbortController();
  const late = `it was not renewed for ${claimMs / 1000} seconds`;
  let heldUntil = claimedAt + claimMs;
  const lose = (why: string): SightlineError => {
    const error = new SightlineError('lease_lost', `the claim to ${store.location} (epoch ${epoch}) is lost: ${why}`);
    if (!lost.signal.aborted) lost.abort(error);
    return lost.signal.reason as SightlineError;
  };
  const assertHeld = (): void => {
    lost.signal.throwIfAborted();
    if (clock.monotonic() >= heldUntil) throw lose(late);
  };
  let turn: Promise<unknown> = Promise.resolve();
  const readOwn = async (): Promise<ReadHome> => {
    lost.signal.throwIfAborted();
    const read = await readHome(store);
    if (read === null) throw lose(`${HOME} is gone`);
    const { claim } = read.record;
    // A record that somebody has put back counts epochs again that were there before.
    const isOurs = read.record.epoch === epoch && (claim === null || claim.id === id);
    if (!isOurs) throw lose(`${claim?.holder ?? 'another'} took it over`);
    return read;
  };
  const changeOnce = async (apply: (record: HomeRecord) => HomeRecord): Promise<HomeRecord> => {
    for (let attempt = 0; attempt < CHANGES_MAX; attempt++) {
      const read = await readOwn();
      const sentAt = clock.monotonic();
      const applied = apply(read.record);
      const claim = applied.claim === null ? null : { ...applied.claim, id, until: untilOf(clock, claimMs) };
      const next = { ...applied, claim, journalPieces: journalPieces() };
      if (await store.replace(HOME, toHomeBody(next), read.version)) {
        heldUntil = sentAt + claimMs;
        return next;
      }
    }
    throw new SightlineError('home_failed', `${store.location}${HOME} was changed ${CHANGES_MAX} times in between`);
  };
  const change = (apply: (record: HomeRecord) => HomeRecord): Promise<HomeRecord> => {
    const mine = turn.then(() => changeOnce(apply));
    turn = mine.catch(() => undefined);
    return mine;
  };
  const until = (ms: number): Promise<boolean> =>
    clock.sleep(ms, AbortSignal.any([ended.signal, lost.signal])).then(
      () => true,
      () => false,
    );
  const renew = async (): Promise<void> => {
    for (let pause = renewMs; await until(pause); ) {
      pause = await change((record) => record).then(
        () => renewMs,
        () => RETRY_MS,
      );
    }
  };
  // Apart from the renewals: a store that does not answer must not keep anybody from knowing that the time is over.
  const watch = async (): Promise<void> => {
    while (await until(Math.max(0, heldUntil - clock.monotonic()))) {
      if (clock.monotonic() >= heldUntil) lose(late);
    }
  };
  const kept = Promise.all([renew(), watch()]);
  const end = async (): Promise<void> => {
    // A store that answers no more is not waited for: the claim runs out by itself.
    if (!lost.signal.aborted) await change((record) => ({ ...record, claim: null })).catch(() => undefined);
    ended.abort();
    await kept;
  };
  const read = async (): Promise<HomeRecord> => (await readOwn()).record;
  return { epoch, lost: lost.signal, assertHeld, found, read, change, end };
}
