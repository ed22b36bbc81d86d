import type { News } from '../app/notify/notify.ts';
import type { Context } from '../app/workspace.ts';
import { toSightlineError } from '../base/errors.ts';
import { say } from './output.ts';

/** Tells whoever the settings name of what has happened, where they name somebody. Does not throw: it is no part of the work. */
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
    log(`Nobody could be told: ${toSightlineError(thrown).message}.`);
  }
}
