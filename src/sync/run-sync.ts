import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Clock } from '../base/clock.ts';
import type { ResourceSelection } from '../base/config/config.ts';
import { SightlineError, toSightlineError } from '../base/errors.ts';
import { inSpan } from '../base/trace.ts';
import { type Catalogue, brandListOf } from '../contract/catalogue.ts';
import { amount, number, tableCounts, type ValueOf } from '../contract/operation/json-parts.ts';
import { createPlanSizeCheck } from '../contract/plausibility/plan-size.ts';
import { type ClockPolicy, createRunClock } from '../contract/plausibility/run-clock.ts';
import { calibrateConventions } from '../metrics/calibration/calibrate.ts';
import { AllowanceReached } from '../upstream/allowance.ts';
import type { Client } from '../upstream/client.ts';
import { toWorkspaceError } from '../upstream/errors.ts';
import { utcDays } from '../warehouse/ledger/echoed-days.ts';
import { readQuarantined } from '../warehouse/ledger/ledger.ts';
import { BACKFILL_REQUESTS_MAX } from '../warehouse/ledger/reported-totals.ts';
import {
  type RunOrigin,
  type RunRef,
  type RunStatus,
  type RunTotals,
  readLastRequests,
} from '../warehouse/ledger/runs.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { createEndpointAdapter } from './adapt-endpoint.ts';
import { type AskUpstream, createAskUpstream } from './ask-upstream.ts';
import { backfillTotals } from './backfill-totals.ts';
import type { PageDestinations } from './commit-page.ts';
import { driftCounts } from './drift-watch.ts';
import { lookAhead } from './plan/outlook.ts';
import { isFresh, type PlanContext, PRIORITY } from './plan/plan-context.ts';
import { createNextPlanner } from './plan/plan-next.ts';
import { planBrand, planWorkspace } from './plan/plan-slices.ts';
import { createRowReaders } from './read-page.ts';
import { createSliceReader, type SliceReader } from './read-slice.ts';
import { createRequestLog } from './request-log.ts';
import { createResponseDates } from './response-dates.ts';
import { chooseBrands, readPlausibleBrands, warnOfMissing } from './run-brands.ts';
import { createContext, readContext } from './run-context.ts';
import { createSliceRunner } from './run-slice.ts';
import { createRequestLimit, createSelection, type RequestLimit } from './select-endpoints.ts';
import { createSliceQueue, type SliceQueue } from './slice-queue.ts';
import type { Slice } from './slice.ts';
import type { SyncOptions } from './sync-options.ts';
import { createSyncStats, type SyncStats, trouble } from './sync-stats.ts';
import { readDocument } from './upstream-document.ts';
import { createFormWriter } from './upstream-forms.ts';

const BY_COMMAND: RunOrigin = { kind: 'sync', trigger: 'command' };

/** Dependencies of a run. */
export interface SyncParts extends PageDestinations {
  readonly catalogue: Catalogue;
  readonly client: Client;
  readonly clock: Clock;
  /** Default: `checked`. */
  readonly clockPolicy?: ClockPolicy;
  /** Path of the base URL, which upstream's OpenAPI document may repeat; default: none. */
  readonly basePath?: string;
  /** Endpoints to read; default: all. */
  readonly selection?: ResourceSelection;
  /** Slices read in parallel. */
  readonly connections: number;
  /** Aborted to stop the run; pages in flight are finished or dropped, and every commit is complete. */
  readonly signal: AbortSignal;
  /** Recorded with the run; default: a sync started by a command. */
  readonly origin?: RunOrigin;
  /** Called after every change of the sync stats. */
  readonly onProgress?: (stats: SyncStats) => void;
  /** Called when all lists are read, when all windows are read, and when only the background is left. */
  readonly onMilestone?: () => void;
  /** Called when a complete sync has read everything, to ask upstream single questions. */
  readonly onRead?: (ask: AskUpstream, stats: SyncStats) => Promise<void>;
}

/** Result of a run without the error that ended it early. */
export const syncResult = z.object({
  runId: z.string(),
  status: z.enum(['complete', 'partial', 'failed', 'interrupted']),
  requests: number,
  retries: number,
  waitedMs: amount,
  tables: tableCounts,
  quarantined: number,
  failures: z.array(trouble).describe('unfinished slices; the next run reads them again'),
  warnings: z.array(trouble),
  drift: driftCounts.optional().describe('drift that no earlier run has found; absent if drift was not watched'),
  allowance: z.string().nullable().describe('why the run ended early if a limit was reached'),
  left: number.describe('known requests left for the next run'),
});

/** Result of a run. `error` ended it early; null if none did. */
export type SyncSummary = ValueOf<typeof syncResult> & { readonly error: SightlineError | null };

/**
 * Reads everything the options select from upstream into the warehouse, page by page. Errors of upstream and an aborted
 * signal do not throw; the summary's status and error describe them.
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
  const runId = randomUUID();
  const run = await beginRun(parts, runId, identityOf(options));
  const stats = createSyncStats();
  const stop = new AbortController();
  const signal = AbortSignal.any([parts.signal, stop.signal]);
  let error: SightlineError | null = null;
  try {
    await readAll({ ...parts, signal }, options, run, stats, (fatal) => stop.abort(fatal));
  } catch (thrown) {
    // An allowance used up before the slices start ends the run like one used up later.
    if (thrown instanceof AllowanceReached) stats.ranOut(thrown.message);
    else error = parts.signal.aborted ? null : toSightlineError(stop.signal.aborted ? stop.signal.reason : thrown);
  }
  if (parts.signal.aborted)
    error = new SightlineError('interrupted', 'the sync was stopped; the next sync resumes here');
  const status = statusOf(error, stats);
  const tables = Object.fromEntries(stats.tables);
  const { requests, retries, waitedMs, quarantined, failures, warnings, allowance } = stats;
  const reason = error?.message ?? failures[0]?.message ?? allowance;
  const isDoubtful = status === 'failed' || failures.length > 0;
  const totals = { status, requests, retries, waitedMs, quarantined, tables, error: reason, isDoubtful };
  await endRun(parts, run, totals).catch((thrown: unknown) => {
    error ??= toSightlineError(thrown);
  });
  stats.forecast(0);
  const left = [...stats.resources.values()].reduce((sum, { done, expected }) => sum + Math.max(0, expected - done), 0);
  const troubles = { quarantined, failures, warnings, allowance, left: status === 'complete' ? 0 : left };
  return { runId, status, requests, retries, waitedMs, tables, ...troubles, error };
}

async function beginRun({ warehouse, archive, clock, origin = BY_COMMAND }: SyncParts, runId: string, options: string) {
  const date = clock.now();
  const run = await warehouse.beginRun({ runId, options, now: date, origin });
  await archive?.append({ kind: 'begin', runId, passId: run.passId, options, origin, date });
  return run;
}

async function endRun({ warehouse, archive, drift, clock }: SyncParts, run: RunRef, totals: RunTotals): Promise<void> {
  const { runId, passId } = run;
  const date = clock.now();
  await warehouse.endRun(run, totals, date);
  await drift?.endRun(runId, totals.status === 'complete', date);
  await archive?.append({ kind: 'end', runId, passId, totals: { ...totals }, date });
}

// A run resumes the last one with the same options; limits and confirmations do not count.
function identityOf({ only, range, brands, full }: SyncOptions): string {
  return JSON.stringify({ only, range, brands, ...(full === true ? { full } : {}) });
}

function statusOf(error: SightlineError | null, stats: SyncStats): RunStatus {
  if (error !== null) return error.code === 'interrupted' ? 'interrupted' : 'failed';
  return stats.failures.length > 0 || stats.allowance !== null ? 'partial' : 'complete';
}

async function readAll(
  parts: SyncParts,
  options: SyncOptions,
  run: RunRef & { continues: boolean },
  stats: SyncStats,
  stop: (fatal: unknown) => void,
): Promise<void> {
  const { catalogue, warehouse } = parts;
  const { database } = warehouse;
  const limit = createRequestLimit(catalogue, parts.selection?.requests, stats);
  const { reader, opening, context, ask } = await openRun(parts, { options, run, stats, limit });
  const checkPlan = createPlanSizeCheck(await lastRequests(parts, options), context.read);
  const perform = createSliceRunner(parts, reader, stats, context);
  const follower = createNextPlanner({ catalogue, database }, context);
  const queue = createSliceQueue(parts, stats, stop);
  const listed = await readPlausibleBrands(parts, run, stats, context);
  const brands = chooseBrands(listed, options.brands);
  warnOfMissing(catalogue, listed, options.brands, stats);
  // A plan and a sync predict the same. The prediction of a first sync improves with the first responses on which other requests
  // depend, and again with older ones: they show how long the history is.
  const predict = async (): Promise<void> => {
    if (context.probe || parts.onProgress === undefined) return;
    stats.forecast((await lookAhead({ catalogue, database, signal: parts.signal }, brands, context)).requests);
  };
  if (context.read.size === 0) queue.onLevel([PRIORITY.history, PRIORITY.older], predict);
  queue.onLevel([PRIORITY.list, PRIORITY.window], () => parts.onMilestone?.());
  const add = (slices: readonly Slice[]): void => {
    const isRead = (slice: Slice): boolean => wasReadJustNow(slice, context);
    const admitted = limit.ordered(slices, context.covered).filter((slice) => isRead(slice) || limit.admits(slice));
    const wanted = admitted.filter((slice) => !isRead(slice));
    // Undeclared endpoints have a limit of their own.
    checkPlan(wanted.filter(({ resource }) => catalogue.get(resource).generic !== true));
    stats.planned(wanted);
    parts.onProgress?.(stats);
    for (const slice of admitted) {
      queue.add(slice, async () => {
        const wasRead = wanted.includes(slice) ? await perform(slice) : true;
        parts.onProgress?.(stats);
        add(await follower.after(slice, wasRead));
      });
    }
  };
  follower.brands(brands);
  await predict();
  const following = await follower.after(opening, true);
  add(planWorkspace(catalogue, context).filter((slice) => slice.id !== opening.id));
  add(following);
  for (const brand of brands) add(planBrand(catalogue, brand, context));
  await queue.drain();
  limit.close();
  stats.forecast(0);

  // All slices left open by earlier runs are closed now, so these slices start at their first page.
  const performAnew = createSliceRunner(parts, reader, stats, { ...context, open: [] });
  const readAnew = (slices: readonly Slice[]): Promise<boolean> => readSlices(parts, queue, stats, slices, performAnew);
  const { maxRequests = null } = options.allowance ?? {};
  const { runId } = run;
  const { lackingDays } = reader;
  const calibrate = createCalibration(database, catalogue, context.now);
  const audit = { catalogue, database, runId, stats, context, lackingDays, read: readAnew, calibrate };
  const { auditWindows, rereadDays } = await import('./audit.ts');
  const audited = await auditWindows(audit, follower.windows());
  // Everything else is complete now.
  parts.onMilestone?.();
  if (context.probe || context.range !== null || stats.allowance !== null) return;
  const requestsMax = Math.min(
    BACKFILL_REQUESTS_MAX,
    maxRequests === null ? BACKFILL_REQUESTS_MAX : maxRequests - stats.requests,
  );
  await backfillTotals({ catalogue, database, context, requestsMax, read: readAnew }, brands);
  await rereadDays(audit, audited, maxRequests === null ? null : maxRequests - stats.requests);
  if (options.only === null && options.brands === null) await parts.onRead?.(ask, stats);
}

// Reads more slices and returns whether all of them were read.
async function readSlices(
  { onProgress }: SyncParts,
  queue: SliceQueue,
  stats: SyncStats,
  slices: readonly Slice[],
  perform: (slice: Slice) => Promise<boolean>,
): Promise<boolean> {
  let areRead = true;
  stats.planned(slices);
  for (const slice of slices) {
    queue.add(slice, async () => {
      areRead = (await perform(slice)) && areRead;
      onProgress?.(stats);
    });
  }
  await queue.drain();
  return areRead;
}

interface OpenedRun {
  readonly options: SyncOptions;
  readonly run: RunRef & { continues: boolean };
  readonly stats: SyncStats;
  readonly limit: RequestLimit;
}

// Reads the list of brands first: it shows whether upstream is reachable, and sets the run's time.
async function openRun(
  parts: SyncParts,
  { options, run, stats, limit }: OpenedRun,
): Promise<{ reader: SliceReader; opening: Slice; context: PlanContext; ask: AskUpstream }> {
  const { catalogue, warehouse } = parts;
  const clock = createRunClock(parts.clock, parts.clockPolicy);
  const quarantined = await readQuarantined(warehouse.database);
  const log = createRequestLog(parts, run, stats);
  const noteForms = createFormWriter(parts);
  const dateOf = createResponseDates({ ...parts, clock }, run, stats, log);
  const rowReader = createRowReaders(catalogue, parts.warehouse);
  const selects = createSelection(parts.selection);
  const max = parts.selection?.endpoints;
  const onBeyond = (count: number): void => {
    const message = `${count} undeclared endpoints of upstream's document are not mirrored: resources.endpoints is ${max}; choose with resources.include`;
    stats.warned({ slice: 'openapi', code: 'plan_too_large', message });
  };
  const adapter = createEndpointAdapter({ ...parts, selects, max, onBeyond });
  const reader = createSliceReader({
    ...parts,
    clock,
    run,
    stats,
    log,
    dateOf,
    noteForms,
    rowReader,
    quarantined,
    adapter,
    limit,
  });

  const known = { now: clock.now(), daysOf: utcDays, passId: null, slices: [], open: [], begun: new Set<string>() };
  const nothing = createContext(parts, options, known);
  const onRejected = (paths: readonly string[]): void => {
    const message = `cannot mirror the undeclared endpoints ${paths.slice(0, 5).join(', ')}: their tables contradict others`;
    stats.warned({ slice: 'openapi', code: 'bad_answer', message });
  };
  const onTooLarge = (reason: string): void => {
    const message = `new undeclared endpoints are not mirrored, because upstream's document was not read: ${reason}`;
    stats.warned({ slice: 'openapi', code: 'bad_answer', message });
  };
  const isRecorded = options.only === null && options.probe !== true;
  const document = { ...parts, adapter, onRejected, onTooLarge, runId: run.runId, isRecorded };
  const read = (now: number) => readDocument({ ...document, now }, log, noteForms);
  const first = brandListOf(catalogue);
  const [opening] = planWorkspace(catalogue, { ...nothing, wanted: new Set([first.name]) }) as [Slice];
  stats.planned([opening]);
  const { date } = await reader.read(opening, nothing).catch((thrown: unknown) => {
    throw toWorkspaceError(thrown);
  });
  await removeImplausible(warehouse, date, stats);
  const names = await read(date);
  // Use the run's agreed time, as the checkpoints do.
  const passId = run.continues ? run.passId : null;
  const ask = createAskUpstream({ ...parts, names, log, now: clock.now, purpose: 'probe' });
  const context = await readContext(parts, options, passId, date);
  // An endpoint that upstream has removed, or that can no longer be read, is not requested; its rows stay.
  const wanted = new Set([...context.wanted].filter((name) => adapter.isAvailable(name)));
  return { reader, opening, context: { ...context, wanted, names }, ask };
}

// Removes rows that a run with a wrong clock stored.
async function removeImplausible(warehouse: Warehouse, now: number, stats: SyncStats): Promise<void> {
  const rows = await warehouse.removeImplausible(now);
  if (rows === 0) return;
  const message = `${rows} ${rows === 1 ? 'row' : 'rows'} with implausible times or future days marked as deleted`;
  stats.warned({ slice: 'warehouse', code: 'implausible_value', message });
}

// Requests of the last run with the same options. Null for a full read, an explicit range or an accepted plan, which have no limit.
async function lastRequests({ warehouse }: SyncParts, options: SyncOptions): Promise<number | null> {
  if (options.acceptPlan === true || options.full === true || options.range !== null) return null;
  return warehouse.database.exclusive(({ query }) => readLastRequests(query, identityOf(options)));
}

// Skips slices that the resumed run has just read; slices that depend on them are still planned.
function wasReadJustNow(slice: Slice, context: PlanContext): boolean {
  // Totals are subtracted from each other only if they were read at about the same time.
  if (slice.includesNext && slice.from !== slice.to) return false;
  const closed = context.closed.find((candidate) => candidate.id === slice.id);
  return closed !== undefined && isFresh(slice, closed.closedAt, context);
}

// The calibration after the run reports errors, so they are ignored here.
function createCalibration(database: Warehouse['database'], catalogue: Catalogue, now: number): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= calibrateConventions(database, { catalogue, now }).then(
      () => undefined,
      () => undefined,
    );
    return done;
  };
}
