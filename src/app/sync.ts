import type { Clock } from '../base/clock.ts';
import { SightlineError, toSightlineError } from '../base/errors.ts';
import { learnConventions } from '../metrics/learn.ts';
import { layoutOf } from '../snapshot/layout.ts';
import { progressOf } from '../sync/progress.ts';
import { keepProgress } from '../sync/progress-file.ts';
import { openRecords } from '../sync/records.ts';
import { runSync, type SyncOptions, type SyncSummary } from '../sync/run.ts';
import { createTally, type Tally } from '../sync/tally.ts';
import { withAllowance } from '../upstream/allowance.ts';
import type { Budget } from '../upstream/budget.ts';
import { type OpenedBudget, openBudgetAt } from '../upstream/budget-open.ts';
import { type Client, createClient } from '../upstream/client.ts';
import { UpstreamError } from '../upstream/errors.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { withHome } from './home.ts';
import { type Context, catalogue, type Opened, publish, withWarehouse } from './workspace.ts';

/** Told of what a sync does while it runs. */
export type OnProgress = (tally: Tally, budget: Budget) => void;

/** Pages are small: one thread writes them as fast as two, and what is not kept in memory is on disk already. */
export const SYNC_RESOURCES = { memoryLimitMb: 96, threads: 1 } as const;

/** Syncs a workspace, then publishes the analysts' copy. */
export async function syncWorkspace(
  context: Context,
  options: SyncOptions,
  onProgress: OnProgress,
): Promise<SyncSummary> {
  // Whoever has no key is told before anything is opened.
  context.config.upstream();
  for (const name of options.only ?? []) checkResource(name);
  return withHome(context, null, (inside) =>
    withWarehouse(inside, SYNC_RESOURCES, async (opened) => {
      const [summary] = await syncOpened(inside, opened, [options], onProgress);
      await publish(opened.warehouse, opened.layout, opened.copy);
      return summary as SyncSummary;
    }),
  );
}

/**
 * Syncs a workspace whose warehouse is open, once for each of the options, on one connection, budget and, the first of
 * the options having one, allowance; what comes
 * after a run that ended by an error is left out. The analysts' copy is left to the caller.
 */
export async function syncOpened(
  context: Context,
  opened: Opened,
  runs: readonly SyncOptions[],
  onProgress: OnProgress,
): Promise<SyncSummary[]> {
  const { config, clock } = context;
  opened.copy.isCurrent = false;
  const { budget, close } = await openBudget(context);
  const [first] = runs;
  const allowed = first?.allowance === undefined ? budget : withAllowance(budget, first.allowance, clock);
  const client = createClient({ ...config.upstream(), budget: allowed, clock, connections: config.connections });
  try {
    return await syncThrough(context, opened, runs, { client, budget, onProgress });
  } finally {
    await client.close();
    await close();
  }
}

async function syncThrough(
  { config, clock, signal, command }: Context,
  { warehouse, layout, durable }: Opened,
  runs: readonly SyncOptions[],
  { client, budget, onProgress }: { readonly client: Client; readonly budget: Budget; readonly onProgress: OnProgress },
): Promise<SyncSummary[]> {
  const { connections } = config;
  const summaries: SyncSummary[] = [];
  const removesExpired = runs.some(({ acceptExpiry }) => acceptExpiry === true);
  const raw = { folder: layout.raw, limits: config.raw, removesExpired };
  const records = await openRecords({ catalogue, warehouse, clock, raw });
  const startedAt = clock.monotonic();
  let tally: Tally = createTally();
  const told = keepProgress({ folder: config.folder, clock, command }, () =>
    progressOf(tally, budget.state(), clock.monotonic() - startedAt),
  );
  const take = (latest: Tally): void => {
    tally = latest;
    onProgress(latest, budget);
  };
  try {
    const parts = {
      catalogue,
      warehouse: keptElsewhere(records.warehouse, durable),
      client,
      clock,
      clockPolicy: config.clock,
      connections,
      signal,
      onProgress: take,
    };
    for (const options of runs) {
      const summary = await runSync(parts, options);
      const notes = await learn(warehouse, summary, clock);
      const error = withAddress(summary.error, config.upstream().baseUrl);
      const warnings = [...summary.warnings, ...notes, ...records.takeWarnings()];
      summaries.push({ ...summary, warnings, drift: records.takeDrift(), error });
      if (error !== null) break;
    }
  } finally {
    await told.close();
    await records.close();
  }
  // What the end of the records had to say is for the last run.
  const last = summaries.pop();
  return last === undefined ? [] : [...summaries, { ...last, warnings: [...last.warnings, ...records.takeWarnings()] }];
}

// A page is asked for only once the one before would outlive this machine: whoever takes the work over goes on there.
function keptElsewhere(warehouse: Warehouse, durable: () => Promise<void>): Warehouse {
  return {
    ...warehouse,
    commitPage: async (page) => {
      const result = await warehouse.commitPage(page);
      await durable();
      return result;
    },
  };
}

/**
 * The budget of a workspace: one for all of the data folder that use the same key, or for all that share a
 * database. `onTrouble` is told once when that goes away, and when it is back.
 */
export async function openBudget({
  config,
  clock,
  signal,
  onTrouble: say = () => undefined,
}: Pick<Context, 'config' | 'clock' | 'signal' | 'onTrouble'>): Promise<OpenedBudget> {
  const { key, baseUrl } = config.upstream();
  const settings = config.budget();
  const { budgets: folder, earlierBudget: earlier } = layoutOf(config.folder);
  const home = settings.kind === 'postgres' ? settings : { kind: settings.kind, folder, earlier };
  return openBudgetAt(home, { key, baseUrl, share: config.budgetShare, clock, say, signal });
}

// Nobody's sync fails because upstream's numbers are hard to explain.
async function learn(warehouse: Warehouse, summary: SyncSummary, clock: Clock): Promise<SyncSummary['warnings']> {
  if (summary.error !== null) return [];
  const isChanged = Object.values(summary.tables).some((table) => table.inserted + table.updated + table.deleted > 0);
  const note = { chain: 'conventions', code: 'bad_answer' };
  try {
    const { database } = warehouse;
    const unexplained = await learnConventions(database, { now: clock.now(), onlyIfNone: !isChanged });
    if (unexplained.length === 0) return [];
    const names = unexplained.join(', ');
    const message = `upstream's numbers do not tell, so defaults hold for ${names}; see sync.conventions for why`;
    return [{ ...note, message }];
  } catch (thrown) {
    const { code, message } = toSightlineError(thrown);
    return [{ ...note, code, message: `how upstream computes its numbers could not be learned: ${message}` }];
  }
}

// What upstream said may be the fault of the address, so the message shows it.
function withAddress(error: SightlineError | null, baseUrl: string): SightlineError | null {
  if (!(error instanceof UpstreamError) || error.message.includes(new URL(baseUrl).origin)) return error;
  return new SightlineError(error.code, `${error.message}; the base URL is ${baseUrl}`, { cause: error });
}

function checkResource(name: string): void {
  if (catalogue.resources.some((resource) => resource.name === name)) return;
  const known = catalogue.resources.map((resource) => resource.name).join(', ');
  throw new SightlineError('usage', `there is no resource ${JSON.stringify(name)}; allowed: ${known}`);
}
