import { listOpportunities } from '../../../query/metrics/explanations.ts';
import { plural, printData, say } from '../../output/output.ts';
import { operationCommand } from '../../program/operation-command.ts';

export const opportunities = operationCommand(listOpportunities, {
  examples: [
    ['sightline opportunities --brand acme', 'list the opportunities of the last 28 days'],
    ['sightline opportunities --brand acme --limit 50 --json', 'list more of them as JSON'],
  ],
  show: ({ from, to, opportunities: listed, total }) => {
    for (const { rank, sentence } of listed) printData(`${rank}. ${sentence}`);
    const more = listed.length < total ? `; ${listed.length} of them are shown` : '';
    say(`${plural(total, 'item')} from ${from} to ${to}${more}`);
  },
});
