import { toSightlineError } from '../base/errors.ts';
import { readManifest } from '../snapshot/manifest.ts';
import { checkConditions } from '../snapshot/store-conditions.ts';
import { POINTER, type ReadPointer, readPointer } from '../snapshot/store-pointer.ts';
import type { Finding, Patient } from './doctor-finding.ts';
import { withStore } from './place.ts';
import { checkPublishable } from './publish.ts';

/** A pointer may be ahead of this machine's clock by so much before that is told. */
const AHEAD_MS = 5 * 60_000;

/**
 * Whether what publishing beyond the folder needs can be done there: read the pointer, and write, only where nothing is in the
 * way, an object that is removed again. And whether the pointer leads where it should.
 */
export async function checkPublishing({ context, layout, isOffline }: Patient): Promise<Finding[]> {
  const { publish } = context.config;
  if (publish.kind === 'folder') return [{ status: 'ok', message: 'snapshots are published in the folder alone' }];
  const place = publish.kind === 'iceberg' ? publish.place : publish;
  if (isOffline && place.kind === 's3')
    return [{ status: 'ok', message: `s3://${place.bucket} is not asked, with --offline` }];
  try {
    await checkPublishable(context);
    const findings = await withStore(context, async (store): Promise<Finding[]> => {
      const found = await readPointer(store);
      await checkConditions(store);
      const here = await readManifest(layout.latest);
      return [judge(store.location, found, here, context.clock.now())];
    });
    return findings ?? [];
  } catch (thrown) {
    const { code, message } = toSightlineError(thrown);
    if (code !== 'publish_failed') throw thrown;
    const advice = 'Until that is put right exports end with 1, and the folder alone has the newest snapshot.';
    return [{ status: 'failure', message, advice }];
  }
}

function judge(
  location: string,
  found: ReadPointer | null,
  here: { readonly id: string; readonly createdAt: string } | null,
  now: number,
): Finding {
  const can = `${location} can be read and written to, each write on its condition`;
  if (found === null) {
    const message = `${can}; nothing is published there yet`;
    return here === null
      ? { status: 'ok', message }
      : { status: 'warning', message, advice: 'Run `sightline export`.' };
  }
  const { id, createdAt } = found.pointer;
  const at = Date.parse(createdAt);
  if (at > now + AHEAD_MS) {
    const message = `${location}${POINTER} leads to ${id}, which this machine's clock has not reached`;
    const advice =
      'Set the clock of the machine that is wrong. Until that time is over no snapshot from here becomes the latest.';
    return { status: 'warning', message, advice };
  }
  if (here !== null && Date.parse(here.createdAt) > at) {
    const message = `${can}; it leads to ${id}, and the folder has ${here.id}`;
    return { status: 'warning', message, advice: 'Run `sightline export`, which publishes to both.' };
  }
  return { status: 'ok', message: `${can}; it leads to ${id}` };
}
