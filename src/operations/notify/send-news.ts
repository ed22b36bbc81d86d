import { toSightlineError } from '../../base/errors.ts';
import type { Context } from '../../session/workspace.ts';
import type { News } from './notify.ts';

/**
 * Sends notifications about an event to the configured webhooks. Passes problems to `onTrouble` and does not throw, so that the
 * operation that they report still succeeds.
 */
export async function sendNews(
  { config, clock, signal, onTrouble = () => undefined }: Context,
  newsOf: () => Promise<News>,
): Promise<void> {
  try {
    if (config.notify().length === 0) return;
    const { notify } = await import('./notify.ts');
    await notify({ config, clock, signal, log: onTrouble }, await newsOf());
  } catch (thrown) {
    onTrouble(`Cannot send notifications: ${toSightlineError(thrown).message}.`);
  }
}
