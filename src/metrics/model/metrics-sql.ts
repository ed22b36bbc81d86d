import type { CellRequest } from './answers-sql.ts';
import { cellCtes, emptyBefore, emptyValue, keysOf } from './cells-sql.ts';
import { dimensions, type ModelColumn, periodColumn } from './dimensions.ts';
import type { Measure } from './measures.ts';
import { changes, estimates } from './statistics-sql.ts';

/** A request for measures. */
export interface MetricsRequest extends CellRequest {
  /** Columns that order the rows; none for the default order. */
  readonly order: readonly { readonly column: string; readonly descending: boolean }[];
  /** Maximum number of rows. */
  readonly limit: number;
}

/** Returns the columns of the result of a request. */
export function metricsColumns(
  request: Pick<MetricsRequest, 'measures' | 'groupBy' | 'grain' | 'scope'>,
): ModelColumn[] {
  const { measures, groupBy, grain, scope } = request;
  return [
    ...(grain === null ? [] : [periodColumn]),
    ...dimensions.filter(({ name }) => groupBy.includes(name)).flatMap(({ columns }) => columns),
    ...measures
      .flatMap((measure) => [...valueColumns(measure), ...(scope.before === null ? [] : changeColumns(measure))])
      .map(({ name, type, about }) => ({ name, type, about })),
  ];
}

/** Returns the statement of a request. It returns one row more than the limit if there are more. */
export function metricsSql(request: MetricsRequest): string {
  const { measures, groupBy, grain, scope, limit } = request;
  const keys = keysOf(request);
  const compared = scope.before !== null;
  const ctes = [
    ...cellCtes(request),
    estimates(),
    ...(compared
      ? [
          changes(
            keys,
            measures.some(({ kind }) => kind === 'share'),
          ),
        ]
      : []),
  ];
  const shown = dimensions.filter(({ name }) => groupBy.includes(name));
  const values = measures.flatMap((measure) =>
    [...valueColumns(measure), ...(compared ? changeColumns(measure) : [])].map(({ name, from, type }) => {
      const ofMeasure = `FILTER (measure = '${measure.name}')`;
      const found = `any_value(${from}) ${ofMeasure}`;
      const isZero = SIZES.includes(from) || (measure.kind !== 'count' && OF_QUOTIENT.includes(from));
      const zeroed = isZero ? `coalesce(${found}, 0)` : found;
      const empty = (from === 'value' ? emptyValue : emptyBefore)(measure, request, 't.');
      const isEmpty = measure.kind === 'count' && OF_COUNT.includes(from);
      const filled = isEmpty ? `CASE WHEN count(*) ${ofMeasure} = 0 THEN ${empty} ELSE ${found} END` : zeroed;
      return `CAST(${filled} AS ${type}) AS ${name}`;
    }),
  );
  const from = compared ? 'tested' : 'estimates';
  const names = shown.flatMap(nameJoin);
  const selected = [...(grain === null ? [] : ['t.period']), ...shown.flatMap(nameColumns), ...values];
  const grouped = keys.length === 0 ? '' : `\nGROUP BY ${keys.map((key) => `t.${key}`).join(', ')}`;
  const by = orderBy(
    request,
    shown.flatMap(({ columns }) => columns.map(({ name }) => name)),
  );
  return `WITH ${ctes.join(', ')}
SELECT ${selected.join(',\n  ')}
FROM ${from} t${names.map((join) => `\n${join}`).join('')}${grouped}${by}
LIMIT ${limit + 1}`;
}

/** Columns that are 0 in a group without rows in a period: of any measure, and of a quotient. */
const SIZES: readonly string[] = ['n', 'before_n'];
const OF_QUOTIENT: readonly string[] = ['part', 'whole'];
/** Columns that have `emptyValue` in a group without rows of a count. */
const OF_COUNT: readonly string[] = ['value', 'before_value', 'change'];

type ValueColumn = ModelColumn & { readonly from: string };

function valueColumns({ name, label, about, kind, unit, numerator, denominator }: Measure): ValueColumn[] {
  const type = kind === 'count' && unit !== 'currency' ? 'BIGINT' : 'DOUBLE';
  return [
    { name, type, from: 'value', about },
    { name: `${name}_n`, type: 'BIGINT', from: 'n', about: `Sample units of ${label}.` },
    { name: `${name}_numerator`, type, from: kind === 'count' ? 'value' : 'part', about: `${label}: ${numerator}.` },
    {
      name: `${name}_denominator`,
      type,
      from: 'whole',
      about: denominator === null ? 'Null, because it is a count.' : `${label}: ${denominator}.`,
    },
    {
      name: `${name}_lower`,
      type: 'DOUBLE',
      from: 'lower',
      about: `Lower bound of ${label}, level 0.95; null without an interval.`,
    },
    {
      name: `${name}_upper`,
      type: 'DOUBLE',
      from: 'upper',
      about: `Upper bound of ${label}, level 0.95; null without an interval.`,
    },
  ];
}

function changeColumns({ name, label, kind, unit }: Measure): ValueColumn[] {
  const type = kind === 'count' && unit !== 'currency' ? 'BIGINT' : 'DOUBLE';
  return [
    { name: `${name}_before`, type, from: 'before_value', about: `${label} in the comparison period.` },
    {
      name: `${name}_before_n`,
      type: 'BIGINT',
      from: 'before_n',
      about: `Sample units of ${label} in the comparison period.`,
    },
    { name: `${name}_change`, type, from: 'change', about: `${label} less that of the comparison period.` },
    {
      name: `${name}_change_lower`,
      type: 'DOUBLE',
      from: 'change_lower',
      about: 'Lower bound of the change, level 0.95.',
    },
    {
      name: `${name}_change_upper`,
      type: 'DOUBLE',
      from: 'change_upper',
      about: 'Upper bound of the change, level 0.95.',
    },
    {
      name: `${name}_p`,
      type: 'DOUBLE',
      from: 'p',
      about: 'Two-sided p value of the change; null if it cannot be tested.',
    },
    {
      name: `${name}_p_adjusted`,
      type: 'DOUBLE',
      from: 'p_adjusted',
      about:
        'The p value, corrected for the rows of the result (Benjamini and Hochberg), those of competitors apart from those of brands.',
    },
    {
      name: `${name}_significant`,
      type: 'BOOLEAN',
      from: 'significant',
      about:
        'Whether the corrected p value is at most 0.05 and the interval of the change excludes zero; null if it cannot be tested.',
    },
  ];
}

function nameJoin({ name, groupBy }: (typeof dimensions)[number]): string[] {
  if (name === 'brand') return ['LEFT JOIN mart.dim_brand brand_names ON brand_names.brand_id = t.brand_id'];
  if (name === 'prompt')
    return [
      'LEFT JOIN (SELECT id, min(text) AS name FROM main.prompts GROUP BY id) prompt_names ON prompt_names.id = t.prompt_id',
    ];
  if (name === 'entity')
    return ['JOIN entities e ON e.brand_id = t.brand_id AND e.competitor_id IS NOT DISTINCT FROM t.competitor_id'];
  if (name === 'topic' || name === 'tag') {
    return [
      `LEFT JOIN (SELECT group_id, min(name) AS name FROM mart.dim_prompt_group WHERE group_by = '${groupBy}' GROUP BY group_id) ${name}_names ON ${name}_names.group_id = t.${name}_id`,
    ];
  }
  return [];
}

function nameColumns({ name, key }: (typeof dimensions)[number]): string[] {
  switch (name) {
    case 'brand':
    case 'prompt':
    case 'topic':
    case 'tag':
      return [`t.${key}`, `any_value(${name}_names.name) AS ${name}`];
    case 'entity':
      return ['any_value(e.entity_type) AS entity_type', 't.competitor_id', 'any_value(e.entity) AS entity'];
    default:
      return [`t.${key}`];
  }
}

// Series in the order of time, other rows by the first measure. The group columns make the order unique.
function orderBy({ order, measures, grain }: MetricsRequest, columns: readonly string[]): string {
  const [first] = measures;
  const standard = grain === null && columns.length > 0 && first !== undefined ? [`${first.name} DESC NULLS LAST`] : [];
  const asked = order.map(({ column, descending }) => `${column} ${descending ? 'DESC' : 'ASC'} NULLS LAST`);
  const all = [...(asked.length > 0 ? asked : standard), ...(grain === null ? [] : ['period']), ...columns];
  return all.length === 0 ? '' : `\nORDER BY ${all.join(', ')}`;
}
