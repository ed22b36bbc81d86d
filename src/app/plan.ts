import { providerOf } from '../contract/catalogue.ts';
import { planSync, type SyncPlan } from '../sync/price.ts';
import type { SyncOptions, SyncSummary } from '../sync/run.ts';
import { openBudget, SYNC_RESOURCES, syncOpened } from './sync.ts';
import { type Context, catalogue, publish, withWarehouse } from './workspace.ts';

/** A sync with its price. */
export interface PricedPlan extends SyncPlan {
  /** Requests that looking cost. */
  readonly asked: number;
  /** Requests a minute that the budget allows, and what the sync takes at that, in minutes. */
  readonly perMinute: number;
  readonly minutes: number;
  /** When it would be done if it began now, epoch milliseconds. */
  readonly doneAt: number;
  /** What went wrong while looking, or null. */
  readonly error: SyncSummary['error'];
}

/**
 * Says what a sync would ask for now. Unless `offline`, upstream's lists and its own counts are read first, which is a
 * few requests a brand and makes the price exact for everything that is counted.
 */
export async function priceWorkspace(context: Context, options: SyncOptions, offline: boolean): Promise<PricedPlan> {
  const { config, clock, signal } = context;
  const parts = { catalogue, clock, connections: config.connections, signal };
  return withWarehouse(context, SYNC_RESOURCES, async (opened) => {
    const { warehouse, layout, copy } = opened;
    const counts = [providerOf(catalogue, 'brand').name, ...censuses()];
    const looked = offline
      ? undefined
      : (
          await syncOpened(context, opened, [{ ...options, range: null, full: false, only: counts }], () => undefined)
        )[0];
    if (looked !== undefined) await publish(warehouse, layout, copy);
    signal.throwIfAborted();
    const plan = await planSync({ ...parts, warehouse }, options);
    const { budget, close } = await openBudget(context);
    const { capacity, left } = budget.state();
    await close();
    // What is left of this minute may be used at once.
    const minutes = Math.max(0, plan.requests - left) / capacity;
    const doneAt = clock.now() + minutes * 60_000;
    return {
      ...plan,
      asked: looked?.requests ?? 0,
      perMinute: capacity,
      minutes,
      doneAt,
      error: looked?.error ?? null,
    };
  });
}

function censuses(): string[] {
  return catalogue.resources.flatMap(({ change }) =>
    change.kind === 'window' && change.census !== undefined ? [change.census.resource] : [],
  );
}
