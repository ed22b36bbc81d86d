import { shownDays } from '../../../contract/time.ts';
import { textOf as metricText } from '../../../metrics/explain/explained-metrics.ts';
import { type ChangeExplanation, explainMetric } from '../../../read/metrics/explanations.ts';
import { printData, say } from '../../output/output.ts';
import { screenWidth, textTable, wrapped } from '../../output/text-table.ts';
import { operationCommand } from '../../program/operation-command.ts';

/** Members of a dimension that are shown. */
const MEMBERS_SHOWN = 5;
/** Responses of a cause that are shown; `--json` has all. */
const EVIDENCE_SHOWN = 2;

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

function show({ brand, summary, causes, dimensions, associations, ...more }: ChangeExplanation): void {
  const { metric, from, to, beforeFrom, beforeTo, associationsWithinChance, partial } = more;
  const { label } = metricText(metric);
  const periods = `${shownDays(from, to)}, compared with ${shownDays(beforeFrom, beforeTo)}`;
  printData(wrapped(`${label.charAt(0).toUpperCase()}${label.slice(1)} of ${brand}, ${periods}`));
  printData(`\n${wrapped(summary)}`);
  for (const { rank, sentence, evidence } of causes) {
    printData(`\n${wrapped(sentence, `${rank}. `)}`);
    const [some, rest] = [evidence.slice(0, EVIDENCE_SHOWN), evidence.length - EVIDENCE_SHOWN];
    if (some.length > 0)
      printData(wrapped(`${some.join(' ')}${rest > 0 ? ` and ${rest} more` : ''}`, '   Responses: '));
  }
  for (const dimension of dimensions) printData(`\n${dimensionText(metric, dimension)}`);
  if (associations.length > 0) printData(`\n${associations.map(({ sentence }) => wrapped(sentence, '- ')).join('\n')}`);
  const remarks = [
    dimensions.length === 0 ? [] : '▲ better, ▼ worse, ≈ within chance.',
    associationsWithinChance === 0
      ? []
      : `Competitors and cited domains that changed within chance are not listed: ${associationsWithinChance}.`,
    partial ? 'Some days of the periods are incomplete.' : [],
  ].flat();
  if (remarks.length > 0) say(`\n${wrapped(remarks.join(' '))}`);
}

// The members with the largest effects first.
function dimensionText(
  metric: ChangeExplanation['metric'],
  dimension: ChangeExplanation['dimensions'][number],
): string {
  const { shown, shownChange, isHigherBetter } = metricText(metric);
  const signed = (change: number): string => {
    const size = shownChange(change);
    return Number.parseFloat(size) === 0 ? size : `${change < 0 ? '-' : '+'}${size}`;
  };
  const value = (given: number | null): string => (given === null ? '-' : shown(given));
  const { members, mix, rate } = dimension;
  const ranked = members.toSorted((a, b) => Math.abs(b.effect) - Math.abs(a.effect)).slice(0, MEMBERS_SHOWN);
  const rows = ranked.map(({ name, before, after, change, effect, verdict }) => {
    const mark = (change ?? 0) > 0 === isHigherBetter ? '▲' : '▼';
    const marked = (by: number): string =>
      verdict === 'significant' ? `${mark} ${shownChange(by)}` : `≈ ${signed(by)}`;
    return [name, value(before), value(after), change === null ? '-' : marked(change), signed(effect)];
  });
  const columns = ['before', 'after', 'change', 'effect on total'].map((name) => ({ name, isNumber: true }));
  const head = `By ${dimension.dimension}: ${signed(rate)} from their values, ${signed(mix)} from their shares of the responses.`;
  const rest = members.length - ranked.length;
  const more = rest > 0 ? `\n${rest} more` : '';
  return `${wrapped(head)}\n${textTable([{ name: dimension.dimension }, ...columns], rows, screenWidth())}${more}`;
}
