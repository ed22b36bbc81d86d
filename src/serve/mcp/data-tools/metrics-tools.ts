import type { ModelColumn } from '../../../analytics/model/dimensions.ts';
import { dimensions } from '../../../analytics/model/dimensions.ts';
import { GRAINS, isOfTraffic, type Measure, measures, tests } from '../../../analytics/model/measures.ts';
import { dimensionValues } from '../../../query/metrics/dimension-values.ts';
import { runMetrics } from '../../../query/metrics/run-metrics.ts';
import { COMPARISONS } from '../../../query/metrics/scope-request.ts';
import { roundNumber, syncedAtOf } from '../brief-values.ts';
import { chartContent } from '../charts/chart-content.ts';
import type { DataTool } from '../data-tool.ts';
import { pageLink, pageOfDimensions } from '../page-link.ts';
import type { Argument } from '../tool-arguments.ts';

/** Filters of the metrics layer on responses. */
export const FILTERS = ['engine', 'topic', 'tag', 'prompt', 'competitor', 'branded'] as const;

/** Arguments that select brands, days and responses. */
export const scopeArguments = {
  brand: { kind: 'list', about: 'Names or ids; default all.' },
  from: { kind: 'text', about: 'First day; default: 28 days.' },
  to: { kind: 'text', about: 'Last day; default: the last complete one.' },
  where: { kind: 'filters', names: FILTERS, about: 'Names, ids or lists of them.' },
} as const satisfies Readonly<Record<string, Argument>>;

const ROWS = { least: 1, most: 10_000, standard: 200 } as const;

/** Parts of a measure's columns that a result has unless it is exact. Lower and upper bounds become one column. */
const SHOWN = ['', '_n', '_before', '_before_n', '_change', '_p_adjusted', '_significant'] as const;

/** Parts that counts do not have: they are not estimated from a sample, so their changes are not tested. */
const UNTESTED: readonly string[] = ['_n', '_before_n', '_p_adjusted', '_significant'];

/** Computes measures by groups. */
export const queryMetrics: DataTool = {
  name: 'query_metrics',
  title: 'Query metrics',
  about:
    'Measures by groups and periods, for all brands at once, with sample size n, 95 % interval and, if compared, the tested change. Use it for every number, trend, ranking and comparison.',
  scope: 'metrics',
  arguments: {
    metrics: { kind: 'list', isRequired: true, about: 'From `list_metrics`, such as visibility.' },
    group_by: { kind: 'list', choices: dimensions.map(({ name }) => name) },
    grain: { kind: 'text', choices: GRAINS },
    ...scopeArguments,
    compare_to: { kind: 'text', choices: COMPARISONS, about: 'Period of comparison; default none.' },
    order: { kind: 'list', about: 'Columns; `-` before a descending one.' },
    limit: { kind: 'count', ...ROWS },
    exact: { kind: 'flag', about: 'All columns, not rounded.' },
    include_sql: { kind: 'flag' },
    chart: { kind: 'flag', about: 'Adds a PNG.' },
  },
  members: ['about', 'columns', 'rows', 'definitions', 'sql', 'url'],
  run: async (context, values) => {
    const source = await context.source();
    const given = values.parameters(['metrics', 'group_by', 'grain', 'brand', 'from', 'to', 'where', 'order']);
    given.set('compare_to', values.text('compare_to') ?? 'none');
    given.set('limit', String(values.count('limit')));
    const result = await runMetrics(source, given);
    const asked = measures.filter(({ name }) => result.columns.some((column) => column.name === name));
    const { columns, rows } = values.flag('exact') ? namedRows(result) : brief(result, asked);
    const content = {
      about: result.about,
      definitions: Object.fromEntries(asked.map((measure) => [measure.name, definitionOf(measure)])),
      ...(await pageLink(context, given, pageOfDimensions(values.list('group_by'), asked.every(isOfTraffic)))),
      columns,
    };
    return {
      content: values.flag('include_sql') ? { sql: result.sql, ...content } : content,
      // SQL that is cut cannot be run.
      shorter: [{ content, omitted: 'The SQL is left out: allow more with max_tokens.' }],
      list: { name: 'rows', rows },
      total: result.truncated ? null : rows.length,
      asOf: result.asOf,
      isPartial: result.partial,
      completeTo: result.completeTo,
      ...(values.flag('chart') ? await chartContent(source, given, result, context.workspaceName) : {}),
    };
  },
};

/** Lists the measures and dimensions. */
export const listMetrics: DataTool = {
  name: 'list_metrics',
  title: 'List metrics',
  about: 'Measures with formula, unit and better direction, and the dimensions to group by.',
  scope: 'metrics',
  arguments: {},
  members: ['metrics', 'dimensions', 'grains'],
  run: async () => ({
    list: {
      name: 'metrics',
      rows: measures.map((measure) => ({
        name: measure.name,
        ...definitionOf(measure),
        about: measure.about,
        group_by: measure.dimensions.join(', '),
      })),
    },
    content: {
      dimensions: Object.fromEntries(dimensions.map(({ name, about }) => [name, about])),
      grains: GRAINS,
      tests,
    },
  }),
};

/** Lists the values of a dimension. */
export const listDimensionValues: DataTool = {
  name: 'list_dimension_values',
  title: 'List dimension values',
  about: 'Values of a dimension, for filters: names and ids of brands, topics, prompts, competitors, domains.',
  scope: 'metrics',
  arguments: {
    dimension: { kind: 'text', isRequired: true, choices: dimensions.map(({ name }) => name) },
    brand: scopeArguments.brand,
    search: { kind: 'text', about: 'Part of the name.' },
    limit: { kind: 'count', least: 1, most: 10_000, standard: 100 },
  },
  members: ['columns', 'values'],
  run: async ({ source, workspace }, values) => {
    const given = values.parameters(['dimension', 'brand', 'search']);
    given.set('limit', String(values.count('limit')));
    const { columns, rows, total } = await dimensionValues(await source(), given);
    return {
      content: { columns: columns.map(({ name }) => name) },
      list: { name: 'values', rows },
      total,
      asOf: await syncedAtOf(workspace.service),
    };
  },
};

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
