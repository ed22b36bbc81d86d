import { toYaml, type YamlValue } from '../../base/yaml.ts';
import { DAY, type ExportedColumn, type ExportedDataset, exportedDatasets } from './exported-datasets.ts';
import {
  type Aggregate,
  describeMeasure,
  type ExportedMeasure,
  exportedMeasures,
  header,
  metaOf,
} from './exported-measures.ts';

const FOLDER = 'models/metrics';
/** Prefix of the dbt models. */
const PREFIX = 'sightline_';
const TIME_SPINE = 'sightline_days';
/** Sources of examples/dbt/models/sources.yml, by schema of the replica. */
const SOURCES: Readonly<Record<string, string>> = { mart: 'marts', main: 'sightline' };
/** Name of the day in MetricFlow, which reserves the names of its granularities. */
const DATE = 'date_day';
/** Names of the primary entities of the semantic models, by dataset. An entity identifies the rows of a dataset in joins. */
const ENTITIES: Readonly<Record<string, string>> = {
  brands: 'brand',
  prompts: 'prompt',
  domains: 'brand_domain',
  responses: 'response',
  entity_responses: 'entity_response',
  cited_domains: 'cited_domain',
  traffic: 'traffic_day',
};

/** Returns the models, semantic models and metrics of a dbt project, by path. */
export function metricflowFiles(): Map<string, string> {
  const models = exportedDatasets.map(({ name, sql }): [string, string] => [
    `${FOLDER}/${PREFIX}${name}.sql`,
    `${withSources(sql)}\n`,
  ]);
  return new Map([
    ...models,
    [
      `${FOLDER}/${TIME_SPINE}.sql`,
      `${withSources(`SELECT CAST(${DAY} AS TIMESTAMP) AS ${DATE} FROM mart.dim_date`)}\n`,
    ],
    [
      `${FOLDER}/sightline_metrics.yml`,
      toYaml(
        {
          version: 2,
          models: [...exportedDatasets.map(modelOf), timeSpine()],
          semantic_models: exportedDatasets.map(semanticModel),
          metrics: exportedMeasures.flatMap(metricsOf),
        },
        header,
      ),
    ],
  ]);
}

function withSources(sql: string): string {
  return sql.replace(/\b(mart|main)\.(\w+)/g, (_, schema: string, table: string) => {
    return `{{ source('${SOURCES[schema]}', '${table}') }}`;
  });
}

function modelOf({ name, about, columns }: ExportedDataset): YamlValue {
  return {
    name: `${PREFIX}${name}`,
    description: about,
    columns: columns.map((column) => ({ name: column.name, description: column.about })),
  };
}

function timeSpine(): YamlValue {
  return {
    name: TIME_SPINE,
    description: 'Days of all years with data, for MetricFlow.',
    time_spine: { standard_granularity_column: DATE },
    columns: [{ name: DATE, description: 'The day.', granularity: DAY }],
  };
}

function semanticModel(dataset: ExportedDataset): YamlValue {
  const { name, label, about, columns, key, relations } = dataset;
  const entity = ENTITIES[name] as string;
  const hasDay = columns.some(({ role }) => role === 'time');
  const aggregated = exportedMeasures.filter((measure) => measure.dataset === name);
  return {
    name,
    label,
    description: about,
    model: `ref('${PREFIX}${name}')`,
    ...(hasDay ? { defaults: { agg_time_dimension: DATE } } : {}),
    entities: [
      { name: entity, type: 'primary', expr: keyExpression(key) },
      ...relations.map(({ to, columns: on }) => ({
        name: ENTITIES[to] as string,
        type: 'foreign',
        expr: keyExpression(on),
      })),
    ],
    dimensions: columns.filter(isDimension(dataset)).map((column) => dimensionOf(column, entity)),
    ...(aggregated.length === 0 ? {} : { measures: aggregated.flatMap(aggregatesOf) }),
  };
}

// A join of MetricFlow compares one expression.
function keyExpression(columns: readonly string[]): string {
  const [only = ''] = columns;
  return columns.length === 1 ? only : `concat(${columns.join(", '/', ")})`;
}

/** Returns whether a column is a dimension; keys of joins are entities. */
function isDimension({ key, relations }: ExportedDataset): (column: ExportedColumn) => boolean {
  const keys = [...key, ...relations.flatMap(({ columns }) => columns)];
  return ({ name, role }) => role === 'dimension' || role === 'time' || (role === 'id' && !keys.includes(name));
}

function dimensionOf({ name, label, about, role }: ExportedColumn, entity: string): YamlValue {
  const named = { label, description: about };
  if (role === 'time') {
    return { name: DATE, ...named, type: 'time', expr: name, type_params: { time_granularity: DAY } };
  }
  // Dimensions and entities of a semantic model have different names.
  const taken = name === entity;
  return { name: taken ? `${name}_name` : name, ...named, type: 'categorical', ...(taken ? { expr: name } : {}) };
}

function aggregatesOf(exported: ExportedMeasure): YamlValue[] {
  return partsOf(exported).map(({ name, label, aggregate }) => ({
    name,
    label,
    agg: aggregate.over,
    expr: aggregate.of,
  }));
}

interface Part {
  readonly name: string;
  readonly label: string;
  readonly about: string;
  readonly aggregate: Aggregate;
}

function partsOf({ name, label, about, numerator, denominator, measure }: ExportedMeasure): Part[] {
  if (denominator === null) return [{ name, label, about, aggregate: numerator }];
  const part = (suffix: string, text: string | null, aggregate: Aggregate): Part => {
    return { name: `${name}_${suffix}`, label: `${label}: ${text}`, about: `${label}: ${text}.`, aggregate };
  };
  return [part('numerator', measure.numerator, numerator), part('denominator', measure.denominator, denominator)];
}

function metricsOf(exported: ExportedMeasure): YamlValue[] {
  const { name, label, denominator, measure } = exported;
  const config = { meta: metaOf(measure) };
  const simple = (part: Part, description: string): YamlValue => ({
    name: part.name,
    label: part.label,
    description,
    type: 'simple',
    type_params: { measure: part.name },
    config,
  });
  const parts = partsOf(exported);
  if (denominator === null) return parts.map((part) => simple(part, describeMeasure(exported)));
  return [
    ...parts.map((part) => simple(part, part.about)),
    {
      name,
      label,
      description: describeMeasure(exported),
      type: 'ratio',
      type_params: { numerator: `${name}_numerator`, denominator: `${name}_denominator` },
      config,
    },
  ];
}
