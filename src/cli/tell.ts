import type { News } from '../app/notify/notify.ts';
import type { Context } from '../app/workspace.ts';
import { toSightlineError } from '../base/errors.ts';
import { say } from './output.ts';

/** Sends notifications about an event to the configured webhooks. Does not throw, so that the command still succeeds. */
export async function tell(
  { config, clock, signal }: Context,
  newsOf: () => Promise<News>,
  log: (sentence: string) => void = say,
): Promise<void> {
  try {
    if (config.notify().length === 0) return;
    const { notify } = await import('../app/notify/notify.ts');
    await notify({ config, clock, signal, log }, await newsOf());
  } catch (thrown) {
    log(`Cannot send notifications: ${toSightlineError(thrown).message}.`);
  }
}
