import { randomUUID } from 'node:crypto';
import PQueue from 'p-queue';
import type { Clock } from '../base/clock.ts';
import { SightlineError, toSightlineError } from '../base/errors.ts';
import { inSpan, inThisSpan } from '../base/trace.ts';
import { type Catalogue, providerOf, type Resource } from '../contract/catalogue.ts';
import { dayOf } from '../contract/time.ts';
import { EARLIEST_DAY, firstReadDay, plausibleSince } from '../plausibility/item-times.ts';
import { checkPlanSize } from '../plausibility/plan-size.ts';
import { type ClockPolicy, createRunClock, FUTURE_MS_MAX } from '../plausibility/run-clock.ts';
import { type Allowance, AllowanceReached } from '../upstream/allowance.ts';
import type { Client } from '../upstream/client.ts';
import { toWorkspaceError } from '../upstream/errors.ts';
import { readQuarantined } from '../warehouse/ledger.ts';
import { type RunRef, type RunStatus, readLastRequests } from '../warehouse/runs.ts';
import {
  type ClosedChain,
  type Member,
  type OpenChain,
  readBegunChains,
  readClosedChains,
  readMembers,
  readOpenChains,
} from '../warehouse/state.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { auditWindow } from './audit.ts';
import type { Chain, DayRange } from './chain.ts';
import { coveredBy, isFresh, type PlanContext, SETTLE_DAYS } from './context.ts';
import type { DriftCounts } from './drift-watch.ts';
import { createFollower } from './follow.ts';
import { createPerformer } from './perform.ts';
import { planBrand, planWorkspace, withDependencies } from './plan.ts';
import { createChainReader } from './read.ts';
import { createTally, type TableTally, type Tally, type Trouble } from './tally.ts';

/** What a run is asked to do. */
export interface SyncOptions {
  /** Resources to read, with what they need; null for all. */
  readonly only: readonly string[] | null;
  /** Days to read, both included; null for the whole history. */
  readonly range: DayRange | null;
  /** Brands to read, by id; null for all. */
  readonly brands: readonly string[] | null;
  /** Reads everything again, whatever is known of it. */
  readonly full?: boolean;
  /** Whether the plan may be far larger than the last one. */
  readonly acceptPlan?: boolean;
  /** Whether all expired raw pages are removed at the end, and not only those of one day. */
  readonly acceptExpiry?: boolean;
  /** Deletes rows that upstream no longer lists, however many they are. */
  readonly acceptDeletions?: boolean;
  /** What the run may use at most; the next one goes on. */
  readonly allowance?: Allowance;
}

/** What a run works with. */
export interface SyncParts {
  readonly catalogue: Catalogue;
  readonly warehouse: Warehouse;
  readonly client: Client;
  readonly clock: Clock;
  /** Default `checked`. */
  readonly clockPolicy?: ClockPolicy;
  /** Chains read side by side. */
  readonly connections: number;
  /** Aborted to stop: pages under way are finished or dropped, nothing is left half-written. */
  readonly signal: AbortSignal;
  /** Called after everything that changes the tally. */
  readonly onProgress?: (tally: Tally) => void;
}

/** What a run did. */
export interface SyncSummary {
  readonly runId: string;
  readonly status: RunStatus;
  readonly requests: number;
  readonly retries: number;
  readonly waitedMs: number;
  readonly tables: Readonly<Record<string, TableTally>>;
  readonly quarantined: number;
  /** Chains that could not be finished; the next run reads them again. */
  readonly failures: readonly Trouble[];
  readonly warnings: readonly Trouble[];
  /** Drift that no run had met before, where answers were watched. */
  readonly drift?: DriftCounts;
  /** Why the run ended with work left, when an allowance was used up; null otherwise. */
  readonly allowance: string | null;
  /** Requests that are left for the next run, as far as they are known. */
  readonly left: number;
  /** What ended the run before its time, or null. */
  readonly error: SightlineError | null;
}

/**
 * Reads everything the options name from upstream into the warehouse, page by page. Does not throw for what upstream
 * or a signal does: the summary's status and error say how the run ended.
 */
export function runSync(parts: SyncParts, options: SyncOptions): Promise<SyncSummary> {
  return inSpan('sync', { 'sightline.full': options.full === true }, async (span) => {
    const summary = await runOnce(parts, options);
    const { runId, status, requests, retries, waitedMs, quarantined, error } = summary;
    span.set({ 'sightline.run': runId, 'sightline.status': status, 'sightline.requests': requests });
    span.set({ 'sightline.retries': retries, 'sightline.waited_ms': waitedMs, 'sightline.quarantined': quarantined });
    if (error !== null) span.fail(error);
    return summary;
  });
}

async function runOnce(parts: SyncParts, options: SyncOptions): Promise<SyncSummary> {
  const { warehouse, clock } = parts;
  const runId = randomUUID();
  const run = await warehouse.beginRun({ runId, options: identityOf(options), now: clock.now() });
  const tally = createTally();
  const stop = new AbortController();
  const signal = AbortSignal.any([parts.signal, stop.signal]);
  let error: SightlineError | null = null;
  try {
    await readAll({ ...parts, signal }, options, run, tally, (fatal) => stop.abort(fatal));
  } catch (thrown) {
    // Where nothing more may be asked before the chains begin, the run ends as it does among them.
    if (thrown instanceof AllowanceReached) tally.ranOut(thrown.message);
    else error = parts.signal.aborted ? null : toSightlineError(stop.signal.aborted ? stop.signal.reason : thrown);
  }
  if (parts.signal.aborted)
    error = new SightlineError('interrupted', 'the sync was stopped; the next one goes on from here');
  const status = statusOf(error, tally);
  const tables = Object.fromEntries(tally.tables);
  const { requests, retries, waitedMs, quarantined, failures, warnings, allowance } = tally;
  const reason = error?.message ?? failures[0]?.message ?? allowance;
  const isDoubtful = status === 'failed' || failures.length > 0;
  const totals = { status, requests, retries, waitedMs, quarantined, tables, error: reason, isDoubtful };
  await warehouse.endRun(run, totals, clock.now()).catch((thrown: unknown) => {
    error ??= toSightlineError(thrown);
  });
  const left = [...tally.resources.values()].reduce((sum, { done, expected }) => sum + Math.max(0, expected - done), 0);
  const troubles = { quarantined, failures, warnings, allowance, left: status === 'complete' ? 0 : left };
  return { runId, status, requests, retries, waitedMs, tables, ...troubles, error };
}

// A run continues one that was asked for the same, whatever either was allowed.
function identityOf({ only, range, brands, full }: SyncOptions): string {
  return JSON.stringify({ only, range, brands, ...(full === true ? { full } : {}) });
}

function statusOf(error: SightlineError | null, tally: Tally): RunStatus {
  if (error !== null) return error.code === 'interrupted' ? 'interrupted' : 'failed';
  return tally.failures.length > 0 || tally.allowance !== null ? 'partial' : 'complete';
}

async function readAll(
  parts: SyncParts,
  options: SyncOptions,
  run: RunRef & { continues: boolean },
  tally: Tally,
  stop: (fatal: unknown) => void,
): Promise<void> {
  const { catalogue, warehouse, signal } = parts;
  const { database } = warehouse;
  const passId = run.continues ? run.passId : null;
  const queue = new PQueue({ concurrency: parts.connections });
  const clock = createRunClock(parts.clock, parts.clockPolicy);
  const quarantined = await readQuarantined(database);
  const reader = createChainReader({ ...parts, clock }, run, tally, quarantined);

  // The list of brands goes first and alone: it shows whether upstream can be reached and what day it is there.
  const provider = providerOf(catalogue, 'brand');
  const nothing = createContext(parts, options, {
    now: clock.now(),
    passId: null,
    chains: [],
    open: [],
    begun: new Set(),
  });
  const [opening] = planWorkspace(catalogue, { ...nothing, wanted: new Set([provider.name]) }) as [Chain];
  tally.planned([opening]);
  const { date } = await reader.read(opening, nothing).catch((thrown: unknown) => {
    throw toWorkspaceError(thrown);
  });
  await removeImplausible(warehouse, date, tally);
  const names = await reader.learnNames();
  // The agreed clock, as in the checkpoints.
  const context: PlanContext = { ...(await readContext(parts, options, passId, date)), names };
  const checkPlan = await createPlanCheck(parts, options, context);

  const perform = createPerformer({ ...parts, clock }, reader, tally, context);
  const follower = createFollower({ catalogue, database }, context);
  const enqueue = (chain: Chain, task: () => Promise<void>): void => {
    const run = async (): Promise<void> => {
      if (!signal.aborted && tally.allowance === null) await task();
    };
    // The queue begins it within whatever ended before it.
    queue.add(inThisSpan(run), { priority: chain.priority }).catch(stop);
  };
  const add = (chains: readonly Chain[]): void => {
    const wanted = chains.filter((chain) => !wasReadJustNow(chain, context));
    checkPlan(wanted);
    tally.planned(wanted);
    parts.onProgress?.(tally);
    for (const chain of chains) {
      enqueue(chain, async () => {
        const wasRead = wanted.includes(chain) ? await perform(chain) : true;
        parts.onProgress?.(tally);
        add(await follower.after(chain, wasRead));
      });
    }
  };
  const drain = async (): Promise<void> => {
    await queue.onIdle();
    signal.throwIfAborted();
  };

  const listed = await readBrands(parts);
  const brands = listed.map((brand) => ({ ...brand, since: plausibleSince(brand.since, context.today) }));
  await noteSince(warehouse, run, { provider, listed, believed: brands, tally, at: date });
  const chosen = chooseBrands(brands, options.brands);
  follower.brands(chosen);
  add(planWorkspace(catalogue, context).filter((chain) => chain.id !== opening.id));
  add(await follower.after(opening, true));
  for (const brand of chosen) add(planBrand(catalogue, brand, context));
  signal.addEventListener('abort', () => queue.clear(), { once: true });
  await drain();

  // What was under way when the run began is closed by now: these chains begin at their first page.
  const performAnew = createPerformer({ ...parts, clock }, reader, tally, { ...context, open: [] });
  const readAnew = async (chains: readonly Chain[]): Promise<void> => {
    tally.planned(chains);
    for (const chain of chains) {
      enqueue(chain, async () => {
        await performAnew(chain);
        parts.onProgress?.(tally);
      });
    }
    await drain();
  };
  const { maxRequests = null } = options.allowance ?? {};
  const { runId } = run;
  const { lackingDays } = reader;
  for (const window of follower.windows()) {
    await auditWindow({ catalogue, database, runId, tally, context, maxRequests, lackingDays, read: readAnew }, window);
  }
}

/** What is known of earlier runs at the time `now`. `passId` is the pass that is continued, if any. */
export async function readContext(
  parts: Pick<SyncParts, 'catalogue' | 'warehouse' | 'connections'>,
  options: SyncOptions,
  passId: string | null,
  now: number,
): Promise<PlanContext> {
  const { database } = parts.warehouse;
  const closed = await readClosedChains(database, { passId, ...lastingChains(parts.catalogue) });
  // Reads of days that do not exist, or made in the future, prove nothing; a run removes them, a mere plan leaves them.
  const [first, today] = [firstReadDay(dayOf(now)), dayOf(now)];
  const chains = closed.filter(
    ({ from, to, closedAt }) =>
      closedAt <= now + FUTURE_MS_MAX && (from === null || from >= first) && (to === null || to <= today),
  );
  const open = passId === null ? [] : await readOpenChains(database, passId);
  return createContext(parts, options, { now, passId, chains, open, begun: await readBegunChains(database) });
}

interface Known {
  readonly now: number;
  readonly passId: string | null;
  readonly chains: readonly ClosedChain[];
  readonly open: readonly OpenChain[];
  readonly begun: ReadonlySet<string>;
}

function createContext(
  { catalogue, connections }: Pick<SyncParts, 'catalogue' | 'connections'>,
  { range, full, only, acceptDeletions }: SyncOptions,
  { now, passId, chains, open, begun }: Known,
): PlanContext {
  return {
    range,
    full: full === true,
    acceptDeletions: acceptDeletions === true,
    settleDays: SETTLE_DAYS,
    wanted: withDependencies(catalogue, only),
    connections,
    now,
    today: dayOf(now),
    names: new Map(),
    covered: coveredBy(chains),
    closed: chains.filter((chain) => chain.passId === passId),
    read: new Set(chains.flatMap((chain) => (chain.passId === passId ? [] : (chain.brandId ?? [])))),
    open,
    begun,
  };
}

// Rows that an earlier version stored, or a run whose clock was ahead.
async function removeImplausible(warehouse: Warehouse, now: number, tally: Tally): Promise<void> {
  const rows = await warehouse.removeImplausible(now);
  if (rows === 0) return;
  const message = `${rows} ${rows === 1 ? 'row' : 'rows'} with implausible times, or of days to come, marked as deleted`;
  tally.warned({ chain: 'warehouse', code: 'implausible_value', message });
}

// A brand exists whatever its creation says; only its age is not believed.
async function noteSince(
  warehouse: Warehouse,
  run: RunRef,
  {
    provider,
    listed,
    believed,
    tally,
    at,
  }: { provider: Resource; listed: readonly Member[]; believed: readonly Member[]; tally: Tally; at: number },
): Promise<void> {
  const wrong = listed.filter(({ since }, index) => since !== believed[index]?.since);
  const path = `data[].${provider.provides?.since ?? ''}`;
  const allowed = `within ${EARLIEST_DAY} to the day after today`;
  for (const { id, since } of wrong) {
    const message = `${path} of ${id} is ${since}; allowed: ${allowed}. Its history is read as if it were not known`;
    tally.warned({ chain: provider.name, code: 'implausible_value', message });
  }
  const values = wrong.map(({ since }) => ({ path, allowed, value: since }));
  if (values.length > 0) await warehouse.noteImplausible(run, provider.name, values, at);
}

// Counts the requests planned for brands that an earlier pass has read, and refuses far more than the last run took. What
// was asked for in so many words, a range or everything, is not refused.
async function createPlanCheck(
  { warehouse }: SyncParts,
  options: SyncOptions,
  { read }: PlanContext,
): Promise<(chains: readonly Chain[]) => void> {
  const isFree = options.acceptPlan === true || options.full === true || options.range !== null;
  const last = isFree
    ? null
    : await warehouse.database.exclusive(({ query }) => readLastRequests(query, identityOf(options)));
  let planned = 0;
  return (chains) => {
    for (const { brandId, expected } of chains) if (brandId !== null && read.has(brandId)) planned += expected;
    checkPlanSize(planned, last);
  };
}

// Windows and walks are planned by all that was ever read of them, totals of a day by whether they were; of the others
// only what was read lately tells anything.
function lastingChains(catalogue: Catalogue): { lasting: string[]; daily: string[] } {
  const named = (matters: (change: Resource['change']) => boolean): string[] =>
    catalogue.resources.filter(({ change }) => matters(change)).map(({ name }) => name);
  return {
    lasting: named(({ kind }) => kind === 'window' || kind === 'walk'),
    daily: named((change) => change.kind === 'report' && change.span === 'history' && change.eachDay === true),
  };
}

/** The brands that are listed now. */
export function readBrands({ catalogue, warehouse }: Pick<SyncParts, 'catalogue' | 'warehouse'>): Promise<Member[]> {
  const provider = providerOf(catalogue, 'brand');
  const { id, since } = provider.provides as NonNullable<typeof provider.provides>;
  return readMembers(warehouse.database, provider, null, { id, since });
}

// What the run that this one continues has read just now is not asked for again, but what follows from it is.
function wasReadJustNow(chain: Chain, context: PlanContext): boolean {
  const closed = context.closed.find((candidate) => candidate.id === chain.id);
  return closed !== undefined && isFresh(chain, closed.closedAt, context);
}

/** The brands that a run is about; throws `usage` for one that is not there. */
export function chooseBrands(brands: readonly Member[], wanted: readonly string[] | null): readonly Member[] {
  if (wanted === null) return brands;
  for (const id of wanted) {
    if (!brands.some((brand) => brand.id === id.toLowerCase())) {
      const known = brands.map((brand) => brand.id).join(', ') || 'none';
      throw new SightlineError('usage', `the workspace has no brand ${id}; it has: ${known}`);
    }
  }
  return brands.filter((brand) => wanted.some((id) => id.toLowerCase() === brand.id));
}
