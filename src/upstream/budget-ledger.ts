import { ageOf, type BudgetRecord, type Moment } from './budget-record.ts';

/** Length of upstream's rate window. */
export const WINDOW_MS = 60_000;
/** Added where a moment was measured here and acted on there, and for moments kept in whole milliseconds. */
export const SKEW_MS = 10;
/** Limit while upstream has not said another. */
const LIMIT_DEFAULT = 120;
/** Longest that a request may be under way; the client gives it up before. */
const REQUEST_MS_MAX = 120_000;
/** What becomes of a claim whose process was killed: its request may have been under way, and counted, until then. */
export const COUNTED_MS_MAX = REQUEST_MS_MAX + WINDOW_MS + 1_000;
/** While nothing has been answered for so long, requests go one at a time; one that hangs holds back the next so long. */
const HEARD_MS = 10 * 60_000;
const FIRST_ANSWER_MS = 10_000;
const FIRST_ANSWER_POLL_MS = 5;
/** Answers whose latencies are remembered, how many tell enough, and how much of the least is relied on. */
const LATENCIES_MAX = 100;
const LATENCIES_MIN = 10;
const LATENCY_SHARE = 0.8;
/** Time between two looks for what can be forgotten. */
const PRUNE_MS = 1_000;
/** How long nothing is relied on after a 429. */
const CAUTION_MS = 10 * 60_000;

/** Requests of other users of the key that upstream was seen to have counted at one moment. */
interface Foreign {
  readonly count: number;
  readonly at: number;
}

interface Entry {
  /** When the claim was made or last renewed. */
  claimedAt: number;
  /** Null while the request waits or is under way. */
  endedAt: number | null;
  /** How long the answer took; 0 where none ended it, of which nothing is known. */
  latencyMs: number;
}

/** What the records of a key's log amount to, at this moment. */
export interface Ledger {
  apply(record: BudgetRecord): void;
  /** Milliseconds until the claim's request may be sent, for all that is known now; null when the claim is forgotten. */
  waitMs(id: string, share: number): number | null;
  /** Milliseconds since the claim was made or renewed. */
  claimAgeMs(id: string): number;
  /** Requests of everybody that upstream may have counted when it counted one that was sent at `sentAt` (monotonic). */
  countedSince(sentAt: number): number;
  /** Requests of other users of the key that are held now. */
  others(): number;
  limit(): number | null;
  state(share: number): { readonly limit: number; readonly capacity: number; readonly left: number };
}

/**
 * Adds up a key's log. Every process that reads the log gets the same sums, and the order of claims is the order of
 * service: a claim is served when fewer than the allowance of those before it are held. So at no moment are more than
 * the allowance held whose requests were sent: of those, take the last in the log; all others stood before it, and
 * were held, when it was served.
 *
 * How long one is held. Upstream counts a request at some moment between its being sent and its being answered, and
 * which is not said; a request A and the one B that takes its place must be counted 60 seconds apart.
 * - Held until 60 seconds after A's answer, they are, whatever the latencies; that is the full hold. It leaves the place
 *   unused for as long as A took.
 * - When all requests take equally long from being sent to being counted, 60 seconds after A was sent are enough.
 * - When latency varies and upstream counts as it answers, A counts when it is answered and B no sooner than the
 *   shortest latency after it is sent: 60 seconds after A's answer, less the shortest latency, are enough. When it
 *   counts before it works, what follows does not matter, and 60 seconds after A was sent are enough; it is held for
 *   no less in any case. Counting at any fixed part of the way lies between.
 * - Endpoints differ, and B may be quicker than A: so it is the shortest of all recent answers, of all processes, that
 *   is subtracted, and one quick answer makes every hold longer at once. Of that shortest, a fifth is left as a margin.
 * What is not covered is an upstream whose way to the count varies while its latency does not, or one that becomes
 * quicker than everything before; then a 429 comes, and full holds for ten minutes after it.
 *
 * `delayMsMax` is the longest that may lie between a claim's record and the sending of its request.
 */
export function createLedger(now: () => Moment, delayMsMax = 0): Ledger {
  const unendedMs = COUNTED_MS_MAX + delayMsMax;
  // The claim's record is on its way as long, and so is that of its answer.
  const firstAnswerMs = FIRST_ANSWER_MS + 2 * delayMsMax;
  // In the order of the log, as a Map keeps it.
  const entries = new Map<string, Entry>();
  // At most one element per response, and never more requests than the limit.
  let foreign: Foreign[] = [];
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
  const heldUntil = (entry: Entry, reliefMs: number): number => {
    if (entry.endedAt === null) return entry.claimedAt + unendedMs;
    return entry.endedAt + WINDOW_MS + SKEW_MS - Math.min(reliefMs, entry.latencyMs);
  };

  // An entry that is held no more is of use as long as a request may be under way that was sent while it was.
  const prune = (at: number): void => {
    if (at - prunedAt < PRUNE_MS) return;
    prunedAt = at;
    for (const [id, { claimedAt, endedAt }] of entries) {
      const forgottenAt = endedAt === null ? claimedAt + unendedMs : endedAt + WINDOW_MS + SKEW_MS + REQUEST_MS_MAX;
      if (forgottenAt <= at) entries.delete(id);
    }
    foreign = foreign.filter((seen) => seen.at + WINDOW_MS + REQUEST_MS_MAX > at);
  };
  const activeOthers = (at: number): Foreign[] => foreign.filter((seen) => seen.at + WINDOW_MS > at);

  // When those before the claim will be let go, and whether one of them may yet bring the first answer.
  const before = (id: string | null, at: number): { ends: number[]; isFirstPending: boolean } => {
    const reliefMs = relief(at);
    const isHeard = at - heardAt < HEARD_MS;
    const ends: number[] = [];
    let isFirstPending = false;
    for (const [other, entry] of entries) {
      if (other === id) break;
      const end = heldUntil(entry, reliefMs);
      if (end <= at) continue;
      // What is under way is held for about a minute yet, whenever it ends.
      ends.push(entry.endedAt === null ? at + WINDOW_MS : end);
      if (entry.endedAt === null && !isHeard && at - entry.claimedAt < firstAnswerMs) isFirstPending = true;
    }
    return { ends, isFirstPending };
  };

  const end = (id: string, at: number, latencyMs: number): void => {
    const entry = entries.get(id);
    if (entry === undefined) entries.set(id, { claimedAt: at, endedAt: at, latencyMs });
    else Object.assign(entry, { endedAt: at, latencyMs });
  };

  return {
    apply: (record) => {
      const moment = now();
      const at = moment.monotonicMs - ageOf(record, moment);
      const { kind, id, value } = record;
      if (kind === 'claim') {
        const known = entries.get(id);
        if (known === undefined) entries.set(id, { claimedAt: at, endedAt: null, latencyMs: 0 });
        else known.claimedAt = Math.max(known.claimedAt, at);
      } else if (kind === 'answer') {
        end(id, at, value);
        heardAt = Math.max(heardAt, at);
        latencies = [...latencies.slice(1 - LATENCIES_MAX), value];
      } else if (kind === 'fail') end(id, at, 0);
      else if (kind === 'leave') entries.delete(id);
      else if (kind === 'limit') {
        // One that is told again for those who come later changes nothing that was learned since.
        if (limit === null || at >= limit.at) limit = { value, at };
      } else if (kind === 'gate') {
        gateUntil = Math.max(gateUntil, at + value);
        cautiousUntil = Math.max(cautiousUntil, at + CAUTION_MS);
      } else if (kind === 'others') {
        // Two processes may see the same requests at the same time: what counts is how many there are.
        const fresh = Math.min(value, limitValue()) - total(activeOthers(time()));
        if (fresh > 0) foreign.push({ count: fresh, at });
      }
    },
    waitMs: (id, share) => {
      const at = time();
      prune(at);
      if (!entries.has(id)) return null;
      const { ends, isFirstPending } = before(id, at);
      const others = activeOthers(at);
      return Math.max(
        0,
        gateUntil - at,
        isFirstPending ? FIRST_ANSWER_POLL_MS : 0,
        untilFewer(ends, [], capacity(share), at),
        others.length === 0 ? 0 : untilFewer(ends, others, usable(), at),
      );
    },
    claimAgeMs: (id) => time() - (entries.get(id)?.claimedAt ?? Number.NEGATIVE_INFINITY),
    countedSince: (sentAt) => {
      let count = total(foreign.filter((seen) => seen.at + WINDOW_MS > sentAt));
      for (const { endedAt } of entries.values()) {
        if (endedAt === null || endedAt + WINDOW_MS + SKEW_MS > sentAt) count += 1;
      }
      return count;
    },
    others: () => total(activeOthers(time())),
    limit: () => limit?.value ?? null,
    state: (share) => {
      const at = time();
      prune(at);
      const held = before(null, at).ends.length;
      const left = Math.min(capacity(share) - held, usable() - held - total(activeOthers(at)));
      return { limit: limitValue(), capacity: capacity(share), left: Math.max(0, left) };
    },
  };
}

function total(foreign: readonly Foreign[]): number {
  return foreign.reduce((sum, { count }) => sum + count, 0);
}

// Milliseconds until fewer than `bound` requests are held: those that end at `ends`, and those of other users.
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
