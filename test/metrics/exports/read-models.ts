import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { metricflowFiles } from '../../../src/metrics/exports/metricflow.ts';
import { type DimensionName, dimensions } from '../../../src/metrics/model/dimensions.ts';

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
  readonly expr?: string;
  readonly type: string;
};

/** Names of the datasets whose measures have a prefix. */
const PREFIXES: Readonly<Record<string, string>> = { entity_responses: 'entity_', cited_domains: 'domain_' };

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

/** Returns the datasets with measures, from the parsed YAML. */
export function readModels(): ReadModel[] {
  const { semantic_models: models, metrics } = readYaml();
  const schemas = schemasOfSources();
  // Columns of a semantic model: entities as entity_NAME, and dimensions.
  const relation = ({ model, name, entities, dimensions: all }: SemanticModel, only: string | null): string => {
    const sql = sqlOfFile(fileOf(model), schemas);
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

/** Returns the SELECT and the primary key of each semantic model. */
export function readKeys(): { readonly name: string; readonly sql: string; readonly key: string }[] {
  const schemas = schemasOfSources();
  return readYaml().semantic_models.map(({ name, model, entities }) => {
    const key = entities.find(({ type }) => type === 'primary')?.expr;
    return { name, sql: sqlOfFile(fileOf(model), schemas), key: String(key) };
  });
}

function readYaml(): { readonly semantic_models: SemanticModel[]; readonly metrics: Metric[] } {
  return parse(textOf('models/metrics/sightline_metrics.yml'));
}

function textOf(path: string): string {
  const text = metricflowFiles().get(path);
  if (text === undefined) throw new Error(`no file ${path}`);
  return text;
}

function fileOf(model: string): string {
  return `models/metrics/${/^ref\('(\w+)'\)$/.exec(model)?.[1]}.sql`;
}

function sqlOfFile(path: string, schemas: ReadonlyMap<string, string>): string {
  return textOf(path).replace(
    /\{\{ source\('(\w+)', '(\w+)'\) \}\}/g,
    (_, source: string, table: string) => `${schemas.get(`${source}.${table}`)}.${table}`,
  );
}

function schemasOfSources(): Map<string, string> {
  const text = readFileSync(join(import.meta.dirname, '../../../examples/dbt/models/sources.yml'), 'utf8');
  const { sources } = parse(text) as { sources: { name: string; schema: string; tables: { name: string }[] }[] };
  return new Map(
    sources.flatMap(({ name, schema, tables }) => tables.map((table) => [`${name}.${table.name}`, schema])),
  );
}
