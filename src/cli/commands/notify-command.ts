import { systemClock } from '../../base/clock.ts';
import { EXIT } from '../../base/errors.ts';
import { keyOf, nobodyToTell, notifyTest } from '../../operations/notify/notify.ts';
import { readTold } from '../../operations/notify/notify-state.ts';
import { commandContext, type WorkspaceFlags } from '../context.ts';
import { plural, printData, say } from '../output/output.ts';

/** Flags of `notify`. */
export interface NotifyFlags extends WorkspaceFlags {
  readonly test?: boolean;
}

/** Runs `sightline notify` and returns its exit code: 1 if a receiver did not accept the test message. */
export async function notifyCommand(flags: NotifyFlags, signal: AbortSignal): Promise<number> {
  const context = commandContext('notify', flags, signal);
  if (context.config.notify().length === 0) throw nobodyToTell(context.config.name);
  if (flags.test !== true) return list(context, flags.json === true);
  const tested = await notifyTest({ ...context, log: say });
  if (flags.json === true) printData(JSON.stringify(tested));
  for (const { urlVariable, format, isDelivered, said } of tested) {
    say(`${urlVariable} (${format}): ${isDelivered ? 'delivered' : 'not delivered'}: the receiver ${said}`);
  }
  return tested.every(({ isDelivered }) => isDelivered) ? EXIT.done : EXIT.failed;
}

async function list({ config }: ReturnType<typeof commandContext>, json: boolean): Promise<number> {
  const { outages, waiting } = await readTold(config.folder, systemClock.now());
  const targets = config.notify().map((target) => {
    const { urlVariable, format, events, staleHours, secret } = target;
    const waits = waiting.filter((message) => message.target === keyOf(target)).length;
    return { urlVariable, format, events, staleHours, isSigned: secret !== null, waiting: waits };
  });
  const troubles = Object.entries(outages).map(([what, { since }]) => ({ what, since }));
  if (json) printData(JSON.stringify({ targets, troubles }));
  for (const { urlVariable, format, events, isSigned, waiting: waits } of targets) {
    const signed = isSigned ? 'signed' : 'not signed';
    say(`${urlVariable} (${format}, ${signed}): ${events.join(', ')}; ${plural(waits, 'message')} waiting`);
  }
  for (const { what, since } of troubles) say(`${what} has failed since ${since}`);
  if (!json) say('Send a test message with `sightline notify --test`.');
  return EXIT.done;
}
