import type { Brief } from '../metrics/explain/brief-result.ts';
import { briefBrand } from '../read/metrics/brief-brand.ts';
import type { Context } from '../workspace/workspace.ts';
import { writeBriefPicture } from './notify/brief-picture.ts';
import { notifyOfBriefs } from './notify/notify-of.ts';
import { runOnReplica } from './run-on-replica.ts';

/**
 * Sends a brief of the last 28 days of each brand to the receivers of the event `brief`. Returns the briefs, in the order of the brands.
 * If no receiver has the event, it returns an empty list.
 *
 * @throws `no_data` before the first sync
 */
export async function sendBriefs(context: Context): Promise<readonly Brief[]> {
  const { config } = context;
  const receivers = config.notify().filter(({ events }) => events.includes('brief'));
  if (receivers.length === 0) return [];
  const hasPictures = receivers.some(({ mail }) => mail !== null);
  const briefs = await runOnReplica(
    context,
    async (source) => {
      const found: Brief[] = [];
      for (const brand of source.replica.brands.keys()) {
        const brief = await briefBrand(source, new URLSearchParams({ brand }));
        found.push(brief);
        // A brief without its picture is better than none.
        if (hasPictures) await writeBriefPicture(source, brief, config.folder).catch(() => undefined);
      }
      return found;
    },
    new URLSearchParams(),
  );
  await notifyOfBriefs(context, briefs);
  return briefs;
}
