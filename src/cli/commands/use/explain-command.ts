import { type ChangeExplanation, explainMetric } from '../../../query/metrics/explanations.ts';
import { printData, say } from '../../output/output.ts';
import { formatRows } from '../../output/row-format.ts';
import { operationCommand } from '../../program/operation-command.ts';

/** Members of a dimension that are shown. */
const MEMBERS_SHOWN = 5;

export const explain = operationCommand(explainMetric, {
  examples: [
    ['sightline explain visibility --brand acme', 'explain the last 28 days'],
    [
      'sightline explain position --brand acme --from 2026-11-01 --to 2026-11-14 --compare-to year',
      'explain a range of days, compared with a year earlier',
    ],
  ],
  show,
});

function show({
  summary,
  causes,
  dimensions,
  associations,
  associationsWithinChance,
  partial,
  ...periods
}: ChangeExplanation): void {
  const { from, to, beforeFrom, beforeTo } = periods;
  printData(`${from} to ${to}, compared with ${beforeFrom} to ${beforeTo}\n\n${summary}`);
  for (const { rank, sentence, evidence } of causes) {
    printData(`\n${rank}. ${sentence}\n   responses: ${evidence.join(', ') || 'none'}`);
  }
  for (const { dimension, mix, rate, members } of dimensions) {
    const columns = [dimension, 'before', 'after', 'mix effect', 'rate effect', 'verdict'];
    const rows = members
      .slice(0, MEMBERS_SHOWN)
      .map(({ name, before, after, mix: ownMix, rate: ownRate, verdict }) => [
        name,
        ...[before, after, ownMix, ownRate].map((value) => (value === null ? null : Number(value.toFixed(4)))),
        verdict,
      ]);
    const table = { columns: columns.map((name) => ({ name, type: 'VARCHAR' })), rows };
    printData(
      `\nBy ${dimension}: mix effect ${mix.toFixed(4)}, rate effect ${rate.toFixed(4)}\n${formatRows(table, 'table')}`,
    );
  }
  if (associations.length > 0) printData(`\n${associations.map(({ sentence }) => sentence).join('\n')}`);
  if (associationsWithinChance > 0) {
    say(`Competitors and cited domains that changed within chance are not listed: ${associationsWithinChance}.`);
  }
  if (partial) say('Some days of the periods are incomplete.');
}
