import { shownDays } from '../../../contract/time.ts';
import { OPPORTUNITY_TITLES } from '../../../metrics/explain/opportunity-kinds.ts';
import { listOpportunities } from '../../../read/metrics/explanations.ts';
import { plural, printData, say } from '../../output/output.ts';
import { wrapped } from '../../output/text-table.ts';
import { operationCommand } from '../../program/operation-command.ts';

export const opportunities = operationCommand(listOpportunities, {
  examples: [
    ['sightline opportunities --brand acme', 'list the opportunities of the last 28 days'],
    ['sightline opportunities --brand acme --limit 50 --json', 'list more of them as JSON'],
  ],
  show: ({ brand, from, to, opportunities: listed, total }) => {
    printData(wrapped(`Opportunities of ${brand}, ${shownDays(from, to)}`));
    // The kind with the first rank comes first.
    for (const kind of new Set(listed.map((one) => one.kind))) {
      const own = listed.filter((one) => one.kind === kind);
      printData(`\n${OPPORTUNITY_TITLES[kind]}`);
      for (const { rank, sentence } of own) printData(wrapped(sentence, `${String(rank).padStart(3)}. `));
    }
    const more = listed.length < total ? `; ${listed.length} of them are shown` : '';
    say(`\n${plural(total, 'item')}, ranked by the number of responses${more}.`);
  },
});
