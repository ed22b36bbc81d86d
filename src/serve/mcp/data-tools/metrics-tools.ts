import { z } from 'zod';
import { splitList } from '../../../contract/operation/read-input.ts';
import { dimensions, type ModelColumn } from '../../../metrics/model/dimensions.ts';
import { GRAINS, isOfTraffic, type Measure, measures, tests } from '../../../metrics/model/measures.ts';
import { dimensionValues } from '../../../read/metrics/dimension-values.ts';
import { runMetrics } from '../../../read/metrics/run-metrics.ts';
import { roundNumber, syncedAtOf } from '../brief-values.ts';
import { chartContent } from '../charts/chart-content.ts';
import { pageLink, pageOfDimensions } from '../page-link.ts';
import { defineTool, operationTool } from '../tool.ts';

/** Parts of a measure's columns that a result has unless it is exact. Lower and upper bounds become one column. */
const SHOWN = ['', '_n', '_before', '_before_n', '_change', '_p_adjusted', '_significant'] as const;

/** Parts that counts do not have: they are not estimated from a sample, so their changes are not tested. */
const UNTESTED: readonly string[] = ['_n', '_before_n', '_p_adjusted', '_significant'];

/** Computes measures by groups. */
export const queryMetrics = operationTool(runMetrics, {
  results: ['about', 'columns', 'rows', 'definitions', 'sql', 'url'],
  own: z.object({
    exact: z.boolean().optional().describe('All columns, not rounded.'),
    include_sql: z.boolean().optional(),
    chart: z.boolean().optional().describe('Adds a PNG.'),
  }),
  standards: { compare_to: 'none', limit: 200 },
  brief: async ({ context, source, result, given, own }) => {
    const asked = measures.filter(({ name }) => result.columns.some((column) => column.name === name));
    const { columns, rows } = own.exact === true ? namedRows(result) : brief(result, asked);
    const view = pageOfDimensions(splitList(given.getAll('group_by')), asked.every(isOfTraffic));
    const content = {
      about: [result.about, result.notCompared ?? []].flat().join(' '),
      definitions: Object.fromEntries(asked.map((measure) => [measure.name, definitionOf(measure)])),
      ...(await pageLink(context, given, view)),
      columns,
      rows,
    };
    return {
      content,
      // SQL that is cut cannot be run.
      ...(own.include_sql === true
        ? {
            content: { sql: result.sql, ...content },
            shorter: [{ content, omitted: 'The SQL is left out: allow more with max_tokens.' }],
          }
        : {}),
      lists: ['rows'],
      total: result.truncated ? null : rows.length,
      ...(own.chart === true ? await chartContent(source, given, result, context.workspaceName) : {}),
    };
  },
});

/** Lists the measures and dimensions. */
export const listMetrics = defineTool({
  name: 'list_metrics',
  title: 'List metrics',
  about: 'Measures with formula, unit and better direction, and the dimensions to group by.',
  scope: 'metrics',
  input: z.object({}),
  results: ['metrics', 'dimensions', 'grains'],
  run: async () => ({
    content: {
      dimensions: Object.fromEntries(dimensions.map(({ name, about }) => [name, about])),
      grains: GRAINS,
      tests,
      metrics: measures.map((measure) => ({
        name: measure.name,
        ...definitionOf(measure),
        about: measure.about,
        group_by: measure.dimensions.join(', '),
      })),
    },
    lists: ['metrics'],
  }),
});

/** Lists the values of a dimension. */
export const listDimensionValues = operationTool(dimensionValues, {
  results: ['columns', 'values'],
  own: z.object({}),
  brief: async ({ context, result: { columns, rows, total } }) => ({
    content: { columns: columns.map(({ name }) => name), values: rows },
    lists: ['values'],
    total,
    asOf: await syncedAtOf(context.workspace.service),
  }),
});

// `n` is the plural of the sample unit, such as `responses`.
function definitionOf({ formula, unit, direction, sampleUnit, kind }: Measure): Readonly<Record<string, string>> {
  const interval = { count: 'none', share: 'Wilson', ratio: 'ratio estimate' }[kind];
  const better = direction === null ? {} : { better: direction };
  return { formula, unit, ...better, n: `${sampleUnit}s`, interval };
}

interface Rows {
  readonly columns: readonly unknown[];
  readonly rows: readonly (readonly unknown[])[];
}

function namedRows({ columns, rows }: { readonly columns: readonly ModelColumn[]; readonly rows: Rows['rows'] }): Rows {
  return { columns: columns.map(({ name }) => name), rows };
}

// Names replace ids, except ids of prompts, whose texts are long. The bounds of an interval become one column with a pair.
function brief(
  { columns, rows }: { readonly columns: readonly ModelColumn[]; readonly rows: Rows['rows'] },
  asked: readonly Measure[],
): Rows {
  const names = columns.map(({ name }) => name);
  const place = (name: string): number => names.indexOf(name);
  const isOfMeasure = (name: string): boolean =>
    asked.some((one) => name === one.name || name.startsWith(`${one.name}_`));
  const groups = names.filter((name) => !isOfMeasure(name));
  const named = groups.filter((name) => !(HIDDEN_IDS[name] ?? []).some((of) => names.includes(of)));
  // Two topics can have the same name.
  const distinct = new Set(rows.map((row) => JSON.stringify(named.map((name) => row[place(name)]))));
  const keys = distinct.size === rows.length ? named : groups;
  const cells: { readonly name: string; readonly read: (row: readonly unknown[]) => unknown }[] = keys.map((name) => ({
    name,
    read: (row) => row[place(name)],
  }));
  for (const { name, kind } of asked) {
    for (const part of SHOWN) {
      const column = `${name}${part}`;
      if (place(column) >= 0 && !(kind === 'count' && UNTESTED.includes(part)))
        cells.push({ name: column, read: (row) => roundNumber(row[place(column)]) });
      for (const bounds of [
        part === '' && kind !== 'count' ? name : null,
        part === '_change' && kind !== 'count' ? column : null,
      ]) {
        if (bounds === null || place(`${bounds}_lower`) < 0) continue;
        const read = (row: readonly unknown[]): unknown =>
          pairOf(row[place(`${bounds}_lower`)], row[place(`${bounds}_upper`)]);
        cells.push({ name: `${bounds}_interval`, read });
      }
    }
  }
  return { columns: cells.map(({ name }) => name), rows: rows.map((row) => cells.map(({ read }) => read(row))) };
}

/** Columns with ids that are left out if the result has their names, and the names tell all rows apart. */
const HIDDEN_IDS: Readonly<Record<string, readonly string[]>> = {
  brand_id: ['brand'],
  topic_id: ['topic'],
  tag_id: ['tag'],
  competitor_id: ['entity'],
};

function pairOf(lower: unknown, upper: unknown): unknown {
  return lower === null && upper === null ? null : [roundNumber(lower), roundNumber(upper)];
}
