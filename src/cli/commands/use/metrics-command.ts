import { join } from 'node:path';
import { chooseName } from '../../../base/choose-name.ts';
import { EXIT, SightlineError } from '../../../base/errors.ts';
import { shownTime } from '../../../contract/time.ts';
import { metricflowFiles } from '../../../metrics/exports/metricflow.ts';
import { describeModel } from '../../../metrics/model/measures.ts';
import { dimensionValues } from '../../../read/metrics/dimension-values.ts';
import { runMetrics } from '../../../read/metrics/run-metrics.ts';
import { changesSentence, metricsText } from '../../output/metrics-text.ts';
import { plural, printData, printJson, say } from '../../output/output.ts';
import { FORMATS, type Format, formatRows, isExactFormat } from '../../output/row-format.ts';
import { screenWidth, wrapped } from '../../output/text-table.ts';
import { workspaceOptions } from '../../program/common-options.ts';
import { defineCommand, defineGroup } from '../../program/define-command.ts';
import { operationCommand } from '../../program/operation-command.ts';
import { argument, flag, oneOf, text } from '../../program/option-kinds.ts';

const list = defineCommand({
  options: workspaceOptions,
  examples: [
    ['sightline metrics list', 'list the measures and dimensions'],
    ['sightline metrics list --json', 'list them with formulas, units and tests as JSON'],
  ],
  run: async (unread, begin) => {
    const { json } = begin(unread);
    const model = describeModel();
    if (json) {
      printJson('metrics list', model);
      return EXIT.done;
    }
    const rows = [
      ...model.measures.map(({ name, unit, about }) => ['measure', name, unit, about]),
      ...model.dimensions.map(({ name, about }) => ['dimension', name, '', about]),
    ];
    printData(formatRows({ columns: columnsOf('kind', 'name', 'unit', 'about'), rows }, 'table'));
    return EXIT.done;
  },
});

const describe = defineCommand({
  arguments: { measure: argument('<measure>', 'name of a measure') },
  options: workspaceOptions,
  examples: [
    ['sightline metrics describe visibility', 'show formula, sample unit, dimensions and test of a measure'],
    ['sightline metrics describe share_of_voice --json', 'show them as JSON'],
  ],
  run: async ({ measure: given, ...unread }, begin) => {
    const { json } = begin(unread);
    const { measures } = describeModel();
    const name = chooseName(
      'measure',
      given,
      measures.map((measure) => measure.name),
    );
    const found = measures.find((measure) => measure.name === name);
    if (found === undefined) throw new SightlineError('internal', `no measure ${name}`);
    if (json) printJson('metrics describe', found);
    else {
      const { test, columns: _, ...facts } = { columns: null, ...found };
      const rows = Object.entries({
        ...facts,
        interval_and_test: test?.about ?? null,
        source: test?.source ?? null,
      }).map(([key, value]) => [key, Array.isArray(value) ? value.join(', ') : (value ?? 'none')]);
      for (const [key, value] of rows) printData(`${String(key).padEnd(18)} ${String(value)}`);
    }
    return EXIT.done;
  },
});

const query = operationCommand(runMetrics, {
  options: {
    format: oneOf('<format>', 'format of the rows (default: table)', FORMATS),
    sql: flag('print the SQL instead of the rows'),
  },
  examples: [
    ['sightline metrics visibility --brand acme --group-by engine', 'visibility of a brand by engine'],
    ['sightline metrics query share_of_voice --brand acme --group-by entity --format csv', 'share of voice as CSV'],
  ],
  check: ({ format, sql }, { json }) => {
    if (sql === true && format !== null) {
      throw new SightlineError('usage', '--sql cannot be combined with --format; it prints text');
    }
    if (!json || (sql !== true && format === null)) return;
    throw new SightlineError(
      'usage',
      '--json cannot be combined with --format and --sql; it prints the complete result',
    );
  },
  show: (result, { format, sql }) => {
    const shown = (format as Format | null) ?? 'table';
    if (sql === true) printData(result.sql);
    else if (shown === 'table') printData(`${wrapped(result.about)}\n\n${metricsText(result, screenWidth())}`);
    else printData(formatRows(result, shown), { isExact: isExactFormat(shown) });
    const state = result.partial ? 'some days are incomplete' : 'complete';
    const asOf = result.asOf === null ? 'unknown' : shownTime(result.asOf);
    const rows = result.truncated
      ? [`More than ${plural(result.rows.length, 'row')}; raise --limit or narrow the request.`]
      : result.rows.length === 0
        ? ['No rows.']
        : [];
    const sentences = [
      ...(shown === 'table' ? [changesSentence(result) ?? []] : [result.about]),
      result.notCompared ?? [],
      rows,
      `Data as of ${asOf}: ${state}.`,
      shown === 'table' && sql !== true ? 'All columns in full precision: --format csv.' : [],
    ].flat();
    say(`${shown === 'table' ? '\n' : ''}${wrapped(sentences.join(' '))}`);
  },
});

const values = operationCommand(dimensionValues, {
  examples: [
    ['sightline metrics values topic --brand acme', 'list the topics of a brand with their ids'],
    ['sightline metrics values domain --search review --limit 20', 'search the cited domains'],
  ],
  show: (found) => {
    printData(formatRows(found, 'table'));
    const more = found.rows.length < found.total ? `; ${found.rows.length} of them are shown` : '';
    say(`${plural(found.total, 'value')}${more}`);
  },
});

const write = defineCommand({
  options: {
    ...workspaceOptions,
    output: text('<folder>', 'folder of the dbt project in which the files are written (default: -, standard output)'),
  },
  examples: [
    ['sightline metrics export --output dbt', 'write dbt models, semantic models and metrics'],
    ['sightline metrics export', 'print them'],
  ],
  run: async ({ output, ...unread }, begin) => {
    const { context: load, json } = begin(unread);
    const folder = output === '-' ? null : output;
    const files = [...metricflowFiles()];
    if (folder !== null) {
      const { checkOutputFile, saveText } = await import('../../../operations/query.ts');
      const { config } = await load();
      for (const [path] of files) await checkOutputFile(config, join(folder, path), '--output');
      for (const [path, content] of files) await saveText(join(folder, path), content);
      say(`Wrote ${plural(files.length, 'file')} to ${folder}.`);
    }
    if (json) {
      const shown = files.map(([path, content]) => ({ path, text: folder === null ? content : null }));
      printJson('metrics export', { folder, files: shown });
    } else if (folder === null) {
      // A line with the path, as a comment of the file's language.
      const texts = files.map(([path, content]) => `${path.endsWith('.sql') ? '--' : '#'} ${path}\n${content}`);
      printData(texts.join('\n'));
    }
    return EXIT.done;
  },
});

export const metrics = defineGroup(
  {
    list: { about: 'list measures and dimensions', add: list },
    describe: { about: 'describe a measure', add: describe },
    values: { about: 'list the values of a dimension', add: values },
    query: { about: 'compute measures with intervals and tested changes', add: query },
    export: { about: 'write measures and dimensions as definitions for MetricFlow', add: write },
  },
  'query',
);

function columnsOf(...names: readonly string[]): { name: string; type: string }[] {
  return names.map((name) => ({ name, type: 'VARCHAR' }));
}
