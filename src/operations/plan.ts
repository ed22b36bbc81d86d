import { z } from 'zod';
import { amount, number, time, type ValueOf } from '../contract/operation/json-parts.ts';
import { dayOf } from '../contract/time.ts';
import { hasCompleteDays, questionsToAsk } from '../metrics/calibration/questions.ts';
import { planSync, type SyncPlan, syncPlan } from '../sync/plan/estimate.ts';
import { leadsOn, withDependencies } from '../sync/plan/plan-slices.ts';
import type { SyncSummary } from '../sync/run-sync.ts';
import type { SyncOptions } from '../sync/sync-options.ts';
import { readBrandList } from '../warehouse/brand-list.ts';
import { catalogueOf } from '../workspace/catalogues.ts';
import { type Context, type Opened, publish, withWarehouse } from '../workspace/workspace.ts';
import { chooseBrandIds } from './choose-brands.ts';
import { chooseResources } from './choose-resources.ts';
import { openBudget, resolveBrands, SYNC_RESOURCES, syncOpened } from './sync.ts';

/** The plan of a sync with its estimated duration. */
export const pricedPlan = syncPlan.extend({
  asked: number.describe('requests that planning took'),
  probes: z
    .array(
      z.object({
        resource: z.string(),
        brandId: z.string(),
        query: z.record(z.string(), z.string()).describe('parameters by their declared names'),
        reason: z.string(),
      }),
    )
    .describe(
      'questions of calibration, which are among `requests` and which a sync asks if it changes data: at most `calibration.probes`, once and again after a contradiction; empty before the first sync',
    ),
  perMinute: amount.describe('requests per minute that the budget allows'),
  minutes: amount.describe('duration of the sync at that rate'),
  doneAt: time.describe('when the sync would end if it started now'),
});

/** The plan of a sync with its estimated duration. `error` is that of the refresh; null if it succeeded. */
export type PricedPlan = ValueOf<typeof pricedPlan> & Pick<SyncSummary, 'error'>;

/**
 * Plans a sync and estimates its requests. Unless `offline`, first refreshes the lists, reports and day counts on which other requests
 * depend. That takes a few requests per brand and leaves a range only for lists that were never read and totals of days.
 */
export async function priceWorkspace(context: Context, options: SyncOptions, offline: boolean): Promise<PricedPlan> {
  const { config, clock, signal } = context;
  const catalogue = catalogueOf(config);
  const only = chooseResources(catalogue, options.only);
  const parts = { catalogue, clock, connections: config.connections, selection: config.resources, signal };
  return withWarehouse(context, SYNC_RESOURCES, async (opened) => {
    const { warehouse, layout, copy } = opened;
    // The refresh changes reports whose responses are not stored yet.
    const asking = { catalogue, now: clock.now(), max: config.probes };
    const probes = await warehouse.database.exclusive(({ query }) => questionsToAsk(query, asking));
    const brands = offline
      ? await chooseStored(opened, options.brands)
      : await resolveBrands(context, opened, options.brands);
    const wanted = withDependencies(catalogue, only);
    const leading = catalogue.resources
      .filter((resource) => wanted.has(resource.name) && leadsOn(catalogue, resource))
      .map(({ name }) => name);
    const refreshed = offline
      ? undefined
      : (
          await syncOpened(
            context,
            opened,
            'plan',
            [{ ...options, brands, range: null, full: false, only: leading, probe: true }],
            () => undefined,
          )
        )[0];
    if (refreshed !== undefined) await publish(warehouse, layout, copy);
    signal.throwIfAborted();
    const slices = await planSync(
      { ...parts, warehouse },
      { rereads: config.rereadRequests, ...options, only, brands },
    );
    // Only a sync of everything asks questions, and the first one as many as it may, if there are days to ask about.
    const isWhole = options.only === null && options.brands === null && options.range === null;
    const mayAsk = async (): Promise<boolean> =>
      offline || warehouse.database.exclusive(({ query }) => hasCompleteDays(query, catalogue, dayOf(clock.now())));
    const first = probes === null && isWhole && (await mayAsk()) ? config.probes : 0;
    const plan = withQuestions(slices, isWhole ? (probes?.length ?? first) : 0);
    const { budget, close } = await openBudget(context);
    const { capacity, left } = budget.state();
    await close();
    // The requests left in the current minute can be sent at once.
    const minutes = Math.max(0, plan.requests - left) / capacity;
    const doneAt = new Date(clock.now() + minutes * 60_000).toISOString();
    return {
      ...plan,
      asked: refreshed?.requests ?? 0,
      probes: [...(probes ?? [])],
      perMinute: capacity,
      minutes,
      doneAt,
      error: refreshed?.error ?? null,
    };
  });
}

// A sync that changes nothing asks no question.
function withQuestions(plan: SyncPlan, questions: number): SyncPlan {
  if (questions === 0) return plan;
  const { requests, most, resources } = plan;
  const reasons = [{ reason: 'questions about how upstream computes its numbers', requests: questions }];
  return {
    ...plan,
    requests: requests + questions,
    most: most === null ? null : most + questions,
    resources: [...resources, { name: 'calibration', requests: questions, reasons }],
  };
}

async function chooseStored({ warehouse }: Opened, wanted: readonly string[] | null): Promise<string[] | null> {
  return chooseBrandIds(
    await warehouse.database.exclusive(({ query }) => readBrandList(query, warehouse.catalogue)),
    wanted,
  );
}
