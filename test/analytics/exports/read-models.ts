import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { type ExportFormat, exportFiles } from '../../../src/analytics/exports/metrics-exports.ts';
import { type DimensionName, dimensions } from '../../../src/analytics/model/dimensions.ts';

/** Group columns of a query. */
export interface Grouping {
  readonly by: readonly DimensionName[];
  readonly grain: string | null;
}

/** A dataset with measures as its YAML declares it, as SQL. */
export interface ReadModel {
  readonly dataset: string;
  /** Prefix of the names of its measures. */
  readonly prefix: string;
  /** FROM clause with the joins of the dataset. */
  readonly from: string;
  /** SQL of the measures, by name. */
  readonly measures: ReadonlyMap<string, string>;
  /** Returns the key columns of dimensions. */
  keys(by: readonly DimensionName[]): string[];
  /** Returns the SQL of a column. @throws Error if the YAML declares no such dimension */
  column(name: string): string;
}

type Entry = Readonly<Record<string, never>> & {
  readonly name: string;
  readonly sql: string;
  readonly expr?: string;
  readonly type: string;
};

/** Names of the datasets whose measures have a prefix. */
const PREFIXES: Readonly<Record<string, string>> = { entity_responses: 'entity_', cited_domains: 'domain_' };

/** Returns the datasets with measures of a format, from the parsed YAML. */
export function readModels(format: ExportFormat): ReadModel[] {
  return { metricflow: readMetricflow, cube: readCube, osi: readOsi, superset: readSuperset }[format]();
}

/** Parses a generated file. */
export function parseExport(format: ExportFormat, path: string): Readonly<Record<string, unknown>> {
  return parse(textOf(format, path)) as Readonly<Record<string, unknown>>;
}

function textOf(format: ExportFormat, path: string): string {
  const text = exportFiles(format).get(path);
  if (text === undefined) throw new Error(`${format} has no file ${path}`);
  return text;
}

function modelOf(
  dataset: string,
  from: string,
  measures: ReadonlyMap<string, string>,
  columns: ReadonlyMap<string, string>,
): ReadModel {
  return {
    dataset,
    prefix: PREFIXES[dataset] ?? '',
    from,
    measures,
    keys: (by) =>
      by.flatMap((name) => {
        const key = dimensions.find((dimension) => dimension.name === name)?.key ?? name;
        return name === 'entity' ? ['entity_type', key] : [key];
      }),
    column: (name) => {
      const found = columns.get(name);
      if (found === undefined) throw new Error(`${dataset} has no column ${name}: ${[...columns.keys()]}`);
      return found;
    },
  };
}

function readCube(): ReadModel[] {
  const cubes = parseExport('cube', 'model/cubes/sightline.yml')['cubes'] as (Entry & {
    joins?: Entry[];
    measures?: Entry[];
    dimensions: Entry[];
  })[];
  const named = new Map(cubes.map((cube) => [cube.name, cube]));
  return cubes.flatMap((cube) => {
    const own = (sql: string): string => sql.replaceAll('{CUBE}', cube.name).replace(/\{(\w+)\}\./g, '$1.');
    const all = new Map((cube.measures ?? []).map((measure) => [measure.name, measure]));
    if (all.size === 0) return [];
    const aggregate = ({ type, sql }: Entry): string => {
      if (type === 'number') return sql.replace(/\{(\w+)\}/g, (_, name: string) => aggregate(all.get(name) as Entry));
      return aggregateOf(type, own(sql));
    };
    const joins = (cube.joins ?? []).map(
      ({ name, sql }) => `LEFT JOIN (${named.get(name)?.sql}) ${name} ON ${own(sql)}`,
    );
    const columns = new Map<string, string>();
    for (const each of [cube, ...(cube.joins ?? []).map(({ name }) => named.get(name) as typeof cube)]) {
      for (const { name, sql } of each.dimensions) {
        // A key of a joined cube is null if no row matches.
        if (!columns.has(name) || (each.name === 'prompts' && name === 'prompt_id'))
          columns.set(name, sql.replaceAll('{CUBE}', each.name));
      }
    }
    const measures = new Map([...all.values()].filter(isShown).map((measure) => [measure.name, aggregate(measure)]));
    return [modelOf(cube.name, `(${cube.sql}) ${cube.name} ${joins.join(' ')}`, measures, columns)];
  });
}

function isShown({ name }: { readonly name: string }): boolean {
  return !/_(numerator|denominator)$/.test(name);
}

function aggregateOf(type: string, sql: string): string {
  if (type === 'count_distinct') return `count(DISTINCT ${sql})`;
  if (type !== 'sum' && type !== 'count') throw new Error(`unexpected aggregate ${type}`);
  return `${type}(${sql})`;
}

interface SemanticModel {
  readonly name: string;
  readonly model: string;
  readonly entities: readonly Entry[];
  readonly dimensions: readonly Entry[];
  readonly measures?: readonly { readonly name: string; readonly agg: string; readonly expr: string }[];
}

interface Metric {
  readonly name: string;
  readonly type: string;
  readonly type_params: { readonly measure: string; readonly numerator: string; readonly denominator: string };
}

function readMetricflow(): ReadModel[] {
  const path = 'models/metrics/sightline_metrics.yml';
  const { semantic_models: models, metrics } = parse(textOf('metricflow', path)) as {
    semantic_models: SemanticModel[];
    metrics: Metric[];
  };
  const schemas = schemasOfSources();
  // Columns of a semantic model: entities as entity_NAME, and dimensions.
  const relation = ({ model, name, entities, dimensions: all }: SemanticModel, only: string | null): string => {
    const file = /^ref\('(\w+)'\)$/.exec(model)?.[1];
    const sql = textOf('metricflow', `models/metrics/${file}.sql`).replace(
      /\{\{ source\('(\w+)', '(\w+)'\) \}\}/g,
      (_, source: string, table: string) => `${schemas.get(`${source}.${table}`)}.${table}`,
    );
    const columns = entities
      .filter((each) => only === null || each.name === only)
      .map(({ name: entity, expr }) => `${expr} AS entity_${entity}`);
    const dims = all.map(({ name: dimension, expr }) => `${expr ?? dimension} AS dim_${dimension}`);
    const rows = only === null ? ['*'] : [];
    return `(SELECT ${[...rows, ...columns, ...dims].join(', ')} FROM (${sql})) ${name}`;
  };
  return models.flatMap((model) => {
    const aggregates = new Map(
      (model.measures ?? []).map(({ name, agg, expr }) => [
        name,
        aggregateOf(agg, expr.replace(/\b(response_id)\b/g, `${model.name}.$1`)),
      ]),
    );
    if (aggregates.size === 0) return [];
    const joined = model.entities
      .filter(({ type }) => type === 'foreign')
      .map(({ name }) => {
        const to = models.find(({ entities }) =>
          entities.some((entity) => entity.name === name && entity.type === 'primary'),
        );
        if (to === undefined) throw new Error(`no semantic model has the primary entity ${name}`);
        return {
          name,
          to,
          sql: `LEFT JOIN ${relation(to, name)} ON ${model.name}.entity_${name} = ${to.name}.entity_${name}`,
        };
      });
    const columns = new Map([
      ...joined.flatMap(({ to }) =>
        to.dimensions.map(({ name }): [string, string] => [name, `${to.name}.dim_${name}`]),
      ),
      ...model.dimensions.map(({ name }): [string, string] => [name, `${model.name}.dim_${name}`]),
      ...model.entities.map(({ name, expr }): [string, string] => [expr ?? name, `${model.name}.entity_${name}`]),
      ['day', `${model.name}.dim_date_day`] as const,
      // Tools show the key of a prompt as the entity; a prompt that is not current has no row.
      ...joined
        .filter(({ to }) => to.name === 'prompts')
        .map((): [string, string] => [
          'prompt_id',
          `CASE WHEN prompts.entity_prompt IS NOT NULL THEN ${model.name}.prompt_id END`,
        ]),
    ]);
    const sqlOf = (name: string): string => {
      const metric = metrics.find((each) => each.name === name);
      if (metric === undefined) throw new Error(`no metric ${name}`);
      const { measure, numerator, denominator } = metric.type_params;
      if (metric.type === 'simple') return aggregates.get(measure) as string;
      return `CAST(${sqlOf(numerator)} AS DOUBLE) / CAST(nullif(${sqlOf(denominator)}, 0) AS DOUBLE)`;
    };
    const measured = metrics
      .filter(isShown)
      .filter(({ name, type_params: { measure, numerator } }) => aggregates.has(measure ?? numerator ?? name));
    const from = `${relation(model, null)} ${joined.map(({ sql }) => sql).join(' ')}`;
    return [modelOf(model.name, from, new Map(measured.map(({ name }) => [name, sqlOf(name)])), columns)];
  });
}

function schemasOfSources(): Map<string, string> {
  const text = readFileSync(join(import.meta.dirname, '../../../examples/dbt/models/sources.yml'), 'utf8');
  const { sources } = parse(text) as { sources: { name: string; schema: string; tables: { name: string }[] }[] };
  return new Map(
    sources.flatMap(({ name, schema, tables }) => tables.map((table) => [`${name}.${table.name}`, schema])),
  );
}

interface Dialects {
  readonly expression: { readonly dialects: readonly { readonly dialect: string; readonly expression: string }[] };
}
interface OsiModel {
  readonly datasets: readonly {
    readonly name: string;
    readonly source: string;
    readonly fields: readonly ({ readonly name: string } & Dialects)[];
  }[];
  readonly relationships: readonly {
    readonly from: string;
    readonly to: string;
    readonly from_columns: string[];
    readonly to_columns: string[];
  }[];
  readonly metrics: readonly ({ readonly name: string } & Dialects)[];
}

function readOsi(): ReadModel[] {
  const {
    semantic_model: [model],
  } = parse(textOf('osi', 'sightline.yaml')) as { semantic_model: [OsiModel] };
  const expressionOf = ({ expression }: Dialects): string => String(expression.dialects[0]?.expression);
  return model.datasets.flatMap(({ name, source, fields }) => {
    const measures = model.metrics.filter((metric) => new RegExp(`\\b${name}\\.`).test(expressionOf(metric)));
    if (measures.length === 0) return [];
    const joined = model.relationships.filter(({ from }) => from === name);
    const joins = joined.map(({ to, from_columns: ours, to_columns: theirs }) => {
      const on = ours.map((column, index) => `${name}.${column} = ${to}.${theirs[index]}`).join(' AND ');
      return `LEFT JOIN (${model.datasets.find((dataset) => dataset.name === to)?.source}) ${to} ON ${on}`;
    });
    const columns = new Map([
      ...joined.flatMap(({ to }) => {
        const target = model.datasets.find((dataset) => dataset.name === to);
        return (target?.fields ?? []).map((field): [string, string] => [field.name, `${to}.${expressionOf(field)}`]);
      }),
      ...fields.map((field): [string, string] => [field.name, `${name}.${expressionOf(field)}`]),
      ...joined.filter(({ to }) => to === 'prompts').map((): [string, string] => ['prompt_id', 'prompts.prompt_id']),
    ]);
    const from = `(${source}) ${name} ${joins.join(' ')}`;
    return [modelOf(name, from, new Map(measures.map((metric) => [metric.name, expressionOf(metric)])), columns)];
  });
}

function readSuperset(): ReadModel[] {
  const paths = [...exportFiles('superset').keys()].filter((path) => path.startsWith('datasets/'));
  return paths.map((path) => {
    const dataset = parse(textOf('superset', path)) as {
      table_name: string;
      sql: string;
      columns: { column_name: string }[];
      metrics: { metric_name: string; expression: string }[];
    };
    const columns = new Map(dataset.columns.map(({ column_name: name }): [string, string] => [name, name]));
    // The text of a prompt is null if the prompt is not current.
    if (columns.has('prompt')) columns.set('prompt_id', 'CASE WHEN prompt IS NOT NULL THEN prompt_id END');
    const measures = new Map(dataset.metrics.map(({ metric_name: name, expression }) => [name, expression]));
    return modelOf(dataset.table_name.replace('sightline_', ''), `(${dataset.sql}) found`, measures, columns);
  });
}
