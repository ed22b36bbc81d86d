import { EXIT, SightlineError } from '../../../base/errors.ts';
import type { ChangeExplanation } from '../../../query/metrics/explanations.ts';
import { sendWithOptions } from '../../metrics-options.ts';
import { printData, printJson, say } from '../../output/output.ts';
import { formatRows } from '../../output/row-format.ts';
import { workspaceOptions } from '../../program/common-options.ts';
import { defineCommand } from '../../program/define-command.ts';
import { argument, day, oneOf, text, texts } from '../../program/option-kinds.ts';

/** Members of a dimension that are shown. */
const MEMBERS_SHOWN = 5;

export const explain = defineCommand({
  arguments: {
    metric: argument('<metric>', 'visibility, share_of_voice, position, sentiment or owned_citations'),
  },
  options: {
    ...workspaceOptions,
    brand: text('<brand>', 'the brand (default: the only one)'),
    from: day('first day, YYYY-MM-DD (default: 28 days up to --to)'),
    to: day('last day (default: the last complete day)'),
    compareTo: oneOf('<period>', 'previous: the days before; year: the same days a year earlier (default: previous)', [
      'previous',
      'year',
    ]),
    beforeFrom: day('first day of the earlier period, instead of --compare-to'),
    beforeTo: day('last day of the earlier period'),
    engine: texts('<engines...>', 'only responses of these engines'),
    topic: texts('<topics...>', 'only prompts of these topics: id or name'),
    tag: texts('<tags...>', 'only prompts with one of these tags: id or name'),
    branded: oneOf('<which>', 'only prompts that name the brand, or only prompts that do not', [
      'branded',
      'non-branded',
    ]),
    prompt: text('<prompt>', 'only responses to this prompt: id, text or its beginning'),
    competitor: texts('<competitors...>', 'only responses that mention one of these competitors: id or name'),
  },
  examples: [
    ['sightline explain visibility --brand acme', 'explain the last 28 days'],
    [
      'sightline explain position --brand acme --from 2026-11-01 --to 2026-11-14 --compare-to year',
      'explain a range of days, compared with a year earlier',
    ],
  ],
  run: async ({ metric, compareTo, beforeFrom, beforeTo, ...more }, begin) => {
    const { brand, from, to, engine, topic, tag, branded, prompt, competitor, ...unread } = more;
    const { context: load, json } = begin(unread);
    checkBefore(beforeFrom, beforeTo, compareTo);
    const values = { metric, brand, from, to, compare_to: compareTo, before_from: beforeFrom, before_to: beforeTo };
    const filters = { engine, topic, tag, branded, prompt, competitor };
    const { explainWorkspace } = await import('../../../operations/explain.ts');
    const context = await load();
    const explained = await sendWithOptions({ ...values, ...filters }, (given) => explainWorkspace(context, given));
    if (json) printJson('explain', explained);
    else show(explained);
    return EXIT.done;
  },
});

function checkBefore(from: string | null, to: string | null, compareTo: string | null): void {
  if (from === null && to === null) return;
  if (compareTo !== null) {
    throw new SightlineError('usage', '--compare-to cannot be combined with --before-from and --before-to');
  }
  if (from === null) throw new SightlineError('usage', '--before-to requires --before-from');
  if (to === null) throw new SightlineError('usage', '--before-from requires --before-to');
}

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
