import { shownTime } from '../../../contract/time.ts';
import { listChanges } from '../../../query/metrics/explanations.ts';
import { plural, printData, say } from '../../output/output.ts';
import { operationCommand } from '../../program/operation-command.ts';

export const changes = operationCommand(listChanges, {
  examples: [
    ['sightline changes', 'list the changes of the last 7 days'],
    [
      'sightline changes --since 2026-11-01 --brand acme --kind prompt_lost',
      'list prompts that a brand lost since a day',
    ],
  ],
  show: ({ since, changes: listed, counts }) => {
    for (const { at, brand, sentence } of listed)
      printData(`${shownTime(at)}  ${brand === null ? '' : `${brand}: `}${sentence}`);
    const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
    const more = all === listed.length ? '' : `; ${listed.length} of them are shown`;
    say(`${plural(all, 'change')} since ${shownTime(since)}${more}`);
  },
});
