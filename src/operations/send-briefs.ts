import type { Brief } from '../analytics/explain/brief-result.ts';
import { briefBrand } from '../query/metrics/brief-brand.ts';
import type { Context } from '../session/workspace.ts';
import { notifyOfBriefs } from './notify/notify-of.ts';
import { runOnReplica } from './run-on-replica.ts';

/**
 * Sends a brief of the last 28 days of each brand to the receivers of the event `brief`. Returns the briefs, in the order of the brands.
 * If no receiver has the event, it returns an empty list.
 *
 * @throws `no_data` before the first sync
 */
export async function sendBriefs(context: Context): Promise<readonly Brief[]> {
  if (!context.config.notify().some(({ events }) => events.includes('brief'))) return [];
  const briefs = await runOnReplica(
    context,
    async (source) => {
      const found: Brief[] = [];
      for (const brand of source.replica.brands.keys())
        found.push(await briefBrand(source, new URLSearchParams({ brand })));
      return found;
    },
    new URLSearchParams(),
  );
  await notifyOfBriefs(context, briefs);
  return briefs;
}
