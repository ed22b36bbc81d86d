import { toSightlineError } from '../base/errors.ts';
import type { News } from '../operations/notify/notify.ts';
import type { Context } from '../session/workspace.ts';
import { say } from './output/output.ts';

/** Sends notifications about an event to the configured webhooks. Does not throw, so that the command still succeeds. */
export async function tell(
  { config, clock, signal }: Context,
  newsOf: () => Promise<News>,
  log: (sentence: string) => void = say,
): Promise<void> {
  try {
    if (config.notify().length === 0) return;
    const { notify } = await import('../operations/notify/notify.ts');
    await notify({ config, clock, signal, log }, await newsOf());
  } catch (thrown) {
    log(`Cannot send notifications: ${toSightlineError(thrown).message}.`);
  }
}
