import { EXIT } from '../../../base/errors.ts';
import { OPPORTUNITIES_LISTED, OPPORTUNITIES_MAX } from '../../../query/metrics/explanation-parameters.ts';
import { sendWithOptions } from '../../metrics-options.ts';
import { plural, printData, printJson, say } from '../../output/output.ts';
import { workspaceOptions } from '../../program/common-options.ts';
import { defineCommand } from '../../program/define-command.ts';
import { day, integer, text, withDefault } from '../../program/option-kinds.ts';

export const opportunities = defineCommand({
  options: {
    ...workspaceOptions,
    brand: text('<brand>', 'the brand (default: the only one)'),
    from: day('first day, YYYY-MM-DD (default: 28 days up to --to)'),
    to: day('last day (default: the last complete day)'),
    limit: withDefault(
      integer('<number>', 'maximum number of opportunities', 1, OPPORTUNITIES_MAX),
      String(OPPORTUNITIES_LISTED),
    ),
  },
  examples: [
    ['sightline opportunities --brand acme', 'list the opportunities of the last 28 days'],
    ['sightline opportunities --brand acme --limit 50 --json', 'list more of them as JSON'],
  ],
  run: async ({ brand, from, to, limit, ...unread }, begin) => {
    const { context: load, json } = begin(unread);
    const { listWorkspaceOpportunities } = await import('../../../operations/explain.ts');
    const context = await load();
    const values = { brand, from, to, limit };
    const found = await sendWithOptions(values, (given) => listWorkspaceOpportunities(context, given));
    if (json) {
      printJson('opportunities', found);
      return EXIT.done;
    }
    for (const { rank, sentence } of found.opportunities) printData(`${rank}. ${sentence}`);
    const { length } = found.opportunities;
    const more = length < found.total ? `; ${length} of them are shown` : '';
    say(`${plural(found.total, 'item')} from ${found.from} to ${found.to}${more}`);
    return EXIT.done;
  },
});
