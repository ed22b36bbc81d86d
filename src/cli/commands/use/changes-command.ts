import { shownDay, shownTime } from '../../../contract/time.ts';
import { listChanges } from '../../../read/metrics/explanations.ts';
import { plural, printData, say } from '../../output/output.ts';
import { wrapped } from '../../output/text-table.ts';
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
    let day = '';
    for (const { at, brand, sentence } of listed) {
      if (at.slice(0, 10) !== day) printData(`${day === '' ? '' : '\n'}${shownDay(at.slice(0, 10))}`);
      day = at.slice(0, 10);
      printData(wrapped(`${brand === null ? '' : `${brand}: `}${sentence}`, `  ${at.slice(11, 16)}  `));
    }
    const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
    const more = all === listed.length ? '' : `; ${listed.length} of them are shown`;
    say(`${plural(all, 'change')} since ${shownTime(since)}${more}`);
  },
});
