import { EXIT } from '../../../base/errors.ts';
import { shownTime } from '../../../contract/time.ts';
import type { ListedTargets } from '../../../operations/notify/notify.ts';
import { plural, printJson, say } from '../../output/output.ts';
import { terminal } from '../../output/terminal.ts';
import { workspaceOptions } from '../../program/common-options.ts';
import { defineCommand } from '../../program/define-command.ts';
import { flag } from '../../program/option-kinds.ts';

export const notify = defineCommand({
  options: { ...workspaceOptions, test: flag("send a test message and print each receiver's response") },
  examples: [
    ['sightline notify', 'list the webhooks'],
    ['sightline notify --test', 'send each a test message'],
  ],
  run: async ({ test, ...unread }, begin) => {
    const { json, ...call } = begin(unread);
    const { listTargets, NOTIFY_EXAMPLE, notifyTest } = await import('../../../operations/notify/notify.ts');
    const context = await call.context();
    if (!test) {
      const listed = await listTargets(context.config, terminal().clock.now());
      describe(listed, json);
      if (listed.targets.length === 0) say(`No webhooks. Add one in sightline.config.json: ${NOTIFY_EXAMPLE}.`);
      else if (!json) say('Send a test message with `sightline notify --test`.');
      return EXIT.done;
    }
    const tested = await notifyTest({ ...context, log: say });
    if (json) printJson('notify --test', tested);
    for (const { urlVariable, format, isDelivered, said } of tested) {
      say(`${urlVariable} (${format}): ${isDelivered ? 'delivered' : 'not delivered'}: the receiver ${said}`);
    }
    return tested.every(({ isDelivered }) => isDelivered) ? EXIT.done : EXIT.failed;
  },
});

function describe({ targets, troubles }: ListedTargets, json: boolean): void {
  if (json) printJson('notify', { targets, troubles });
  for (const { urlVariable, format, events, isSigned, waiting } of targets) {
    const signed = isSigned ? 'signed' : 'not signed';
    say(`${urlVariable} (${format}, ${signed}): ${events.join(', ')}; ${plural(waiting, 'message')} waiting`);
  }
  for (const { what, since } of troubles) say(`${what} has failed since ${shownTime(since)}`);
}
