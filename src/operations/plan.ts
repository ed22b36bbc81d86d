import { providerOf } from '../contract/catalogue.ts';
import { type Context, catalogue, type Opened, publish, withWarehouse } from '../session/workspace.ts';
import { planSync, type SyncPlan } from '../sync/plan/estimate.ts';
import type { SyncOptions, SyncSummary } from '../sync/run-sync.ts';
import { chooseBrandIds, readBrandNames } from './choose-brands.ts';
import { openBudget, resolveBrands, SYNC_RESOURCES, syncOpened } from './sync.ts';

/** The plan of a sync with its estimated duration. */
export interface PricedPlan extends SyncPlan {
  /** Requests sent to refresh the lists and day counts before planning. */
  readonly asked: number;
  /** `perMinute`: requests per minute that the budget allows. `minutes`: duration of the sync at that rate. */
  readonly perMinute: number;
  readonly minutes: number;
  /** When the sync would end if it started now, in epoch milliseconds. */
  readonly doneAt: number;
  /** Error of the refresh; null if it succeeded. */
  readonly error: SyncSummary['error'];
}

/**
 * Plans a sync and estimates its requests. Unless `offline`, first refreshes upstream's lists and day counts. That takes a few
 * requests per brand and makes the estimate exact for every resource with day counts.
 */
export async function priceWorkspace(context: Context, options: SyncOptions, offline: boolean): Promise<PricedPlan> {
  const { config, clock, signal } = context;
  const parts = { catalogue, clock, connections: config.connections, signal };
  return withWarehouse(context, SYNC_RESOURCES, async (opened) => {
    const { warehouse, layout, copy } = opened;
    const counts = [providerOf(catalogue, 'brand').name, ...dayCounts()];
    const brands = offline
      ? await chooseStored(opened, options.brands)
      : await resolveBrands(context, opened, options.brands);
    const refreshed = offline
      ? undefined
      : (
          await syncOpened(
            context,
            opened,
            'look',
            [{ ...options, brands, range: null, full: false, only: counts }],
            () => undefined,
          )
        )[0];
    if (refreshed !== undefined) await publish(warehouse, layout, copy);
    signal.throwIfAborted();
    const plan = await planSync({ ...parts, warehouse }, { ...options, brands });
    const { budget, close } = await openBudget(context);
    const { capacity, left } = budget.state();
    await close();
    // The requests left in the current minute can be sent at once.
    const minutes = Math.max(0, plan.requests - left) / capacity;
    const doneAt = clock.now() + minutes * 60_000;
    return {
      ...plan,
      asked: refreshed?.requests ?? 0,
      perMinute: capacity,
      minutes,
      doneAt,
      error: refreshed?.error ?? null,
    };
  });
}

async function chooseStored({ warehouse }: Opened, wanted: readonly string[] | null): Promise<string[] | null> {
  return chooseBrandIds(await warehouse.database.exclusive(({ query }) => readBrandNames(query)), wanted);
}

function dayCounts(): string[] {
  return catalogue.resources.flatMap(({ change }) =>
    change.kind === 'window' && change.census !== undefined ? [change.census.resource] : [],
  );
}
