import { EXIT } from '../../../base/errors.ts';
import { shownTime } from '../../../contract/time.ts';
import { SINCE } from '../../../query/metrics/explanation-parameters.ts';
import { sendWithOptions } from '../../metrics-options.ts';
import { plural, printData, printJson, say } from '../../output/output.ts';
import { workspaceOptions } from '../../program/common-options.ts';
import { defineCommand } from '../../program/define-command.ts';
import { text, texts, withDefault } from '../../program/option-kinds.ts';

export const changes = defineCommand({
  options: {
    ...workspaceOptions,
    since: withDefault(text('<time>', 'a day, a time such as 2026-11-20T02:15:00Z, or a number of days'), SINCE),
    brand: texts('<brands...>', 'only these brands: id, name or its beginning'),
    kind: texts('<kinds...>', 'only changes of these kinds, such as prompt_lost or competitor_added'),
  },
  examples: [
    ['sightline changes', 'list the changes of the last 7 days'],
    [
      'sightline changes --since 2026-11-01 --brand acme --kind prompt_lost',
      'list prompts that a brand lost since a day',
    ],
  ],
  run: async ({ since, brand, kind, ...unread }, begin) => {
    const { context: load, json } = begin(unread);
    const { listWorkspaceChanges } = await import('../../../operations/explain.ts');
    const context = await load();
    const history = await sendWithOptions({ since, brand, kind }, (given) => listWorkspaceChanges(context, given));
    if (json) {
      printJson('changes', history);
      return EXIT.done;
    }
    for (const { at, brand, sentence } of history.changes)
      printData(`${shownTime(at)}  ${brand === null ? '' : `${brand}: `}${sentence}`);
    const all = Object.values(history.counts).reduce((sum, count) => sum + count, 0);
    const more = all === history.changes.length ? '' : `; ${history.changes.length} of them are shown`;
    say(`${plural(all, 'change')} since ${shownTime(history.since)}${more}`);
    return EXIT.done;
  },
});
