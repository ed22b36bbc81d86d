import { ageOf, type BudgetRecord, type Moment } from './send-record.ts';

/** Length of upstream's rate window. */
export const WINDOW_MS = 60_000;
/** Tolerance for differences between processes' clocks and for times rounded to milliseconds. */
export const SKEW_MS = 10;
/** Requests per minute until upstream sends its limit, unless the settings have another number. */
const LIMIT_DEFAULT = 120;
/** Maximum duration of a request; the client aborts earlier. */
const REQUEST_MS_MAX = 120_000;
/** A claim of a killed process is held for this time, because upstream may have counted its request until then. */
export const COUNTED_MS_MAX = REQUEST_MS_MAX + WINDOW_MS + 1_000;
/**
 * If no request was answered for HEARD_MS, requests are sent one at a time. A request without an answer blocks the next one for
 * FIRST_ANSWER_MS.
 */
const HEARD_MS = 10 * 60_000;
const FIRST_ANSWER_MS = 10_000;
const FIRST_ANSWER_POLL_MS = 5;
/** Latencies stored, minimum number before they are used, and share of the shortest latency that shortens a hold. */
const LATENCIES_MAX = 100;
const LATENCIES_MIN = 10;
const LATENCY_SHARE = 0.8;
/** Interval between removals of expired entries. */
const PRUNE_MS = 1_000;
/** Holds are not shortened for this time after a 429. */
const CAUTION_MS = 10 * 60_000;

/** Requests of other users of the key that upstream had counted at time `at`. */
interface Foreign {
  readonly count: number;
  readonly at: number;
}

interface Entry {
  /** Time at which the claim was made or last renewed. */
  claimedAt: number;
  /** Null while the request waits or is in flight. */
  endedAt: number | null;
  /** Latency of the answer; 0 if the request failed, because its latency is unknown. */
  latencyMs: number;
}

/** Current state of a key's budget, computed from its log. */
export interface Ledger {
  apply(record: BudgetRecord): void;
  /** Milliseconds until the claim's request may be sent, by the records known now; null if the claim has expired. */
  waitMs(id: string, share: number): number | null;
  /** Milliseconds since the claim was made or renewed. */
  claimAgeMs(id: string): number;
  /** Number of known requests that upstream may have counted when it counted a request sent at `sentAt` (monotonic). */
  countedSince(sentAt: number): number;
  /** Number of requests of other users of the key that are held now. */
  others(): number;
  limit(): number | null;
  state(share: number): { readonly limit: number; readonly capacity: number; readonly left: number };
}

/**
 * Computes the state of a key's budget from its log. All processes compute the same state. Claims are served in log order: a
 * claim is served when fewer than `capacity` earlier claims are held. So the number of held claims whose request was sent never
 * exceeds the capacity: when the last of them in the log was served, all others were earlier in the log and held.
 *
 * Duration of a hold. Upstream counts a request at an unknown time between its sending and its answer. A request A and the
 * request B that reuses its slot must be counted at least 60 seconds apart.
 * - Full hold: holding A until 60 seconds after its answer is safe for all latencies, but leaves the slot unused for as long
 *   as A took.
 * - If all requests take equally long from sending to counting, 60 seconds after A was sent are enough.
 * - If latencies vary and upstream counts when it answers, A is counted at its answer, and B no earlier than the shortest
 *   latency after its sending. Then 60 seconds after A's answer, minus the shortest latency, are enough. If upstream counts on
 *   arrival, 60 seconds after A was sent are enough; a hold is never shorter than that. Counting at any fixed fraction of the
 *   latency lies between these cases.
 * - Endpoints differ, and B may be faster than A. So the shortest latency of all recent answers of all processes is used, and a
 *   single fast answer lengthens all holds at once. Only 80 % of that latency is subtracted, as a safety margin.
 * Not covered: an upstream whose time to count varies while its latency does not, or that becomes faster than all recent
 * answers. It responds with 429, and full holds apply for the next ten minutes.
 *
 * `delayMsMax` is the maximum time in milliseconds between a claim's record and the sending of its request.
 */
export function createLedger(now: () => Moment, delayMsMax = 0): Ledger {
  const claims = createClaims(delayMsMax);
  const foreign = createForeign();
  let latencies: number[] = [];
  let limit: { readonly value: number; readonly at: number } | null = null;
  let gateUntil = Number.NEGATIVE_INFINITY;
  let cautiousUntil = Number.NEGATIVE_INFINITY;
  let heardAt = Number.NEGATIVE_INFINITY;
  let prunedAt = Number.NEGATIVE_INFINITY;

  const time = (): number => now().monotonicMs;
  const limitValue = (): number => limit?.value ?? LIMIT_DEFAULT;
  const usable = (): number => limitValue() - Math.floor(limitValue() / 100);
  const capacity = (share: number): number => Math.max(1, Math.floor(usable() * share));
  const relief = (at: number): number =>
    at < cautiousUntil || latencies.length < LATENCIES_MIN ? 0 : LATENCY_SHARE * Math.min(...latencies);
  const before = (id: string | null, at: number) => claims.before(id, at, relief(at), at - heardAt < HEARD_MS);
  const prune = (at: number): void => {
    if (at - prunedAt < PRUNE_MS) return;
    prunedAt = at;
    claims.prune(at);
    foreign.prune(at);
  };

  return {
    apply: (record) => {
      const moment = now();
      const at = moment.monotonicMs - ageOf(record, moment);
      const { kind, id, value } = record;
      if (kind === 'claim') claims.claim(id, at);
      else if (kind === 'answer') {
        claims.end(id, at, value);
        heardAt = Math.max(heardAt, at);
        latencies = [...latencies.slice(1 - LATENCIES_MAX), value];
      } else if (kind === 'fail') claims.end(id, at, 0);
      else if (kind === 'leave') claims.leave(id);
      else if (kind === 'limit') {
        // A repeated limit has its original time and does not replace a newer one.
        if (limit === null || at >= limit.at) limit = { value, at };
      } else if (kind === 'gate') {
        gateUntil = Math.max(gateUntil, at + value);
        cautiousUntil = Math.max(cautiousUntil, at + CAUTION_MS);
      } else if (kind === 'others') {
        foreign.add(Math.min(value, limitValue()), at, time());
      }
    },
    waitMs: (id, share) => {
      const at = time();
      prune(at);
      if (claims.madeAt(id) === null) return null;
      const { ends, isFirstPending } = before(id, at);
      const others = foreign.active(at);
      return Math.max(
        0,
        gateUntil - at,
        isFirstPending ? FIRST_ANSWER_POLL_MS : 0,
        untilFewer(ends, [], capacity(share), at),
        others.length === 0 ? 0 : untilFewer(ends, others, usable(), at),
      );
    },
    claimAgeMs: (id) => time() - (claims.madeAt(id) ?? Number.NEGATIVE_INFINITY),
    countedSince: (sentAt) => foreign.countedSince(sentAt) + claims.countedSince(sentAt),
    others: () => total(foreign.active(time())),
    limit: () => limit?.value ?? null,
    state: (share) => {
      const at = time();
      prune(at);
      const held = before(null, at).ends.length;
      const left = Math.min(capacity(share) - held, usable() - held - total(foreign.active(at)));
      return { limit: limitValue(), capacity: capacity(share), left: Math.max(0, left) };
    },
  };
}

// The claims of all processes and their requests.
function createClaims(delayMsMax: number) {
  const unendedMs = COUNTED_MS_MAX + delayMsMax;
  // The records of the claim and of its answer may each be delayed.
  const firstAnswerMs = FIRST_ANSWER_MS + 2 * delayMsMax;
  // A Map keeps insertion order, which is the order of the log.
  const entries = new Map<string, Entry>();
  const heldUntil = (entry: Entry, reliefMs: number): number => {
    if (entry.endedAt === null) return entry.claimedAt + unendedMs;
    return entry.endedAt + WINDOW_MS + SKEW_MS - Math.min(reliefMs, entry.latencyMs);
  };
  return {
    claim: (id: string, at: number): void => {
      const known = entries.get(id);
      if (known === undefined) entries.set(id, { claimedAt: at, endedAt: null, latencyMs: 0 });
      else known.claimedAt = Math.max(known.claimedAt, at);
    },
    end: (id: string, at: number, latencyMs: number): void => {
      const entry = entries.get(id);
      if (entry === undefined) entries.set(id, { claimedAt: at, endedAt: at, latencyMs });
      else Object.assign(entry, { endedAt: at, latencyMs });
    },
    leave: (id: string): void => {
      entries.delete(id);
    },
    /** Time at which a claim was made or renewed; null if it is unknown or has expired. */
    madeAt: (id: string): number | null => entries.get(id)?.claimedAt ?? null,
    /** Ends of the holds of all claims before `id`, and whether one of them may still bring the first answer. */
    before: (id: string | null, at: number, reliefMs: number, isHeard: boolean) => {
      const ends: number[] = [];
      let isFirstPending = false;
      for (const [other, entry] of entries) {
        if (other === id) break;
        const end = heldUntil(entry, reliefMs);
        if (end <= at) continue;
        // A request in flight will be held for about another minute after its answer.
        ends.push(entry.endedAt === null ? at + WINDOW_MS : end);
        if (entry.endedAt === null && !isHeard && at - entry.claimedAt < firstAnswerMs) isFirstPending = true;
      }
      return { ends, isFirstPending };
    },
    countedSince: (sentAt: number): number =>
      [...entries.values()].filter(({ endedAt }) => endedAt === null || endedAt + WINDOW_MS + SKEW_MS > sentAt).length,
    // Keep an expired entry while a request that was sent during its hold may still be in flight: `countedSince` needs it.
    prune: (at: number): void => {
      for (const [id, { claimedAt, endedAt }] of entries) {
        const forgottenAt = endedAt === null ? claimedAt + unendedMs : endedAt + WINDOW_MS + SKEW_MS + REQUEST_MS_MAX;
        if (forgottenAt <= at) entries.delete(id);
      }
    },
  };
}

// The requests of other users of the key: at most one element per response, and never more requests than the limit.
function createForeign() {
  let seen: Foreign[] = [];
  const active = (at: number): Foreign[] => seen.filter((one) => one.at + WINDOW_MS > at);
  return {
    active,
    // Two processes may report the same foreign requests: add only the excess over the known ones.
    add: (count: number, at: number, now: number): void => {
      const fresh = count - total(active(now));
      if (fresh > 0) seen.push({ count: fresh, at });
    },
    countedSince: (sentAt: number): number => total(seen.filter((one) => one.at + WINDOW_MS > sentAt)),
    prune: (at: number): void => {
      seen = seen.filter((one) => one.at + WINDOW_MS + REQUEST_MS_MAX > at);
    },
  };
}

function total(foreign: readonly Foreign[]): number {
  return foreign.reduce((sum, { count }) => sum + count, 0);
}

// Milliseconds until fewer than `bound` requests are held. `ends` are the ends of own holds; `others` are foreign requests.
function untilFewer(ends: readonly number[], others: readonly Foreign[], bound: number, now: number): number {
  let excess = ends.length + total(others) - bound + 1;
  if (excess <= 0) return 0;
  const held = [
    ...ends.map((end) => ({ count: 1, end })),
    ...others.map(({ count, at }) => ({ count, end: at + WINDOW_MS })),
  ];
  held.sort((a, b) => a.end - b.end);
  for (const { count, end } of held) {
    excess -= count;
    if (excess <= 0) return Math.max(1, end - now);
  }
  return 1;
}
