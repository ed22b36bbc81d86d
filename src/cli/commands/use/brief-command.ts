import { shownDays } from '../../../contract/time.ts';
import type { Finding } from '../../../metrics/explain/brief-result.ts';
import { briefBrand } from '../../../read/metrics/brief-brand.ts';
import { plural, printData, say } from '../../output/output.ts';
import { wrapped } from '../../output/text-table.ts';
import { operationCommand } from '../../program/operation-command.ts';

const MARKS: Readonly<Record<Finding['tone'], string>> = {
  good: '▲ ',
  bad: '▼ ',
  'to do': '→ ',
};

export const brief = operationCommand(briefBrand, {
  examples: [
    ['sightline brief --brand acme', 'what happened in the last 28 days'],
    ['sightline brief --brand acme --from 2026-11-16 --to 2026-11-22', 'what happened in a week'],
  ],
  show: ({ brand, headline, findings, from, to, beforeFrom, beforeTo, responses, partial }) => {
    const periods = `${shownDays(from, to)}, compared with ${shownDays(beforeFrom, beforeTo)}`;
    printData(wrapped(`${brand}, ${periods}: ${plural(responses, 'response')}`));
    printData(`\n${wrapped(headline)}`);
    for (const { tone, sentence, detail } of findings) {
      printData(`\n${wrapped(sentence, MARKS[tone])}`);
      if (detail !== null) printData(wrapped(detail, '  '));
    }
    if (findings.length > 0) say(`\n▲ better, ▼ worse, → to do.`);
    if (partial) say('Some days of the periods are incomplete.');
  },
});
