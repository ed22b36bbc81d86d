import { randomUUID } from 'node:crypto';
import PQueue from 'p-queue';
import type { Clock } from '../base/clock.ts';
import { SightlineError, toSightlineError } from '../base/errors.ts';
import { type Catalogue, providerOf } from '../contract/catalogue.ts';
import { dayOf } from '../contract/time.ts';
import type { Client } from '../upstream/client.ts';
import type { RunRef, RunStatus } from '../warehouse/runs.ts';
import { type Member, readBegunChains, readClosedChains, readMembers, readOpenChains } from '../warehouse/state.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Chain, DayRange } from './chain.ts';
import { createFollower } from './follow.ts';
import { createPerformer } from './perform.ts';
import { type PlanContext, planBrand, planWorkspace, withDependencies } from './plan.ts';
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
}

/** What a run works with. */
export interface SyncParts {
  readonly catalogue: Catalogue;
  readonly warehouse: Warehouse;
  readonly client: Client;
  readonly clock: Clock;
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
  /** What ended the run before its time, or null. */
  readonly error: SightlineError | null;
}

/**
 * Reads everything the options name from upstream into the warehouse, page by page. Does not throw for what upstream
 * or a signal does: the summary's status and error say how the run ended.
 */
export async function runSync(parts: SyncParts, options: SyncOptions): Promise<SyncSummary> {
  const { warehouse, clock } = parts;
  const runId = randomUUID();
  const run = await warehouse.beginRun({ runId, options: JSON.stringify(options), now: clock.now() });
  const tally = createTally();
  const stop = new AbortController();
  const signal = AbortSignal.any([parts.signal, stop.signal]);
  let error: SightlineError | null = null;
  try {
    await readAll({ ...parts, signal }, options, run, tally, (fatal) => stop.abort(fatal));
  } catch (thrown) {
    error = parts.signal.aborted ? null : toSightlineError(stop.signal.aborted ? stop.signal.reason : thrown);
  }
  if (parts.signal.aborted)
    error = new SightlineError('interrupted', 'the sync was stopped; the next one goes on from here');
  const status = statusOf(error, tally);
  const tables = Object.fromEntries(tally.tables);
  const { requests, retries, waitedMs, quarantined, failures, warnings } = tally;
  const reason = error?.message ?? failures[0]?.message ?? null;
  const totals = { status, requests, retries, waitedMs, quarantined, tables, error: reason };
  await warehouse.endRun(run, totals, clock.now()).catch((thrown: unknown) => {
    error ??= toSightlineError(thrown);
  });
  return { runId, status, requests, retries, waitedMs, tables, quarantined, failures, warnings, error };
}

function statusOf(error: SightlineError | null, tally: Tally): RunStatus {
  if (error !== null) return error.code === 'interrupted' ? 'interrupted' : 'failed';
  return tally.failures.length > 0 ? 'partial' : 'complete';
}

async function readAll(
  parts: SyncParts,
  options: SyncOptions,
  run: RunRef & { continues: boolean },
  tally: Tally,
  stop: (fatal: unknown) => void,
): Promise<void> {
  const { catalogue, warehouse, clock, signal } = parts;
  const queue = new PQueue({ concurrency: parts.connections });
  const reader = createChainReader(parts, run, tally);
  const base = {
    range: options.range,
    wanted: withDependencies(catalogue, options.only),
    connections: parts.connections,
    now: clock.now(),
    closed: run.continues ? await readClosedChains(warehouse.database, run.passId) : [],
    open: run.continues ? await readOpenChains(warehouse.database, run.passId) : [],
    begun: await readBegunChains(warehouse.database),
  };

  // The list of brands goes first and alone: it shows whether upstream can be reached and what day it is there.
  const provider = providerOf(catalogue, 'brand');
  const first = { ...base, today: dayOf(clock.now()), names: new Map<string, Record<string, string>>() };
  const [opening] = planWorkspace(catalogue, { ...first, wanted: new Set([provider.name]) }) as [Chain];
  tally.planned([opening]);
  const { date } = await reader.read(opening, first);
  const names = await reader.learnNames();
  // Upstream's clock, as in the checkpoints: ours may be wrong.
  const context: PlanContext = { ...first, now: date, today: dayOf(date), names };

  const perform = createPerformer(parts, reader, tally, context);
  const follower = createFollower(parts, context);
  const add = (chains: readonly Chain[]): void => {
    tally.planned(chains);
    parts.onProgress?.(tally);
    for (const chain of chains) {
      const task = async (): Promise<void> => {
        if (signal.aborted) return;
        const wasRead = await perform(chain);
        parts.onProgress?.(tally);
        add(await follower.after(chain, wasRead));
      };
      queue.add(task, { priority: chain.priority }).catch(stop);
    }
  };

  const brands = await readMembers(warehouse.database, provider, null, {
    id: provider.provides?.id as string,
    since: provider.provides?.since as string,
  });
  const chosen = chooseBrands(brands, options.brands);
  follower.brands(chosen);
  add(planWorkspace(catalogue, context).filter((chain) => chain.id !== opening.id));
  add(await follower.after(opening, true));
  for (const brand of chosen) add(planBrand(catalogue, brand, context));
  signal.addEventListener('abort', () => queue.clear(), { once: true });
  await queue.onIdle();
  signal.throwIfAborted();
}

function chooseBrands(brands: readonly Member[], wanted: readonly string[] | null): readonly Member[] {
  if (wanted === null) return brands;
  for (const id of wanted) {
    if (!brands.some((brand) => brand.id === id.toLowerCase())) {
      const known = brands.map((brand) => brand.id).join(', ') || 'none';
      throw new SightlineError('usage', `the workspace has no brand ${id}; it has: ${known}`);
    }
  }
  return brands.filter((brand) => wanted.some((id) => id.toLowerCase() === brand.id));
}
