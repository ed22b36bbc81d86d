import { toYaml, type YamlValue } from '../../base/yaml.ts';
import { type ExportedColumn, type ExportedDataset, exportedDatasets } from './exported-datasets.ts';
import {
  describeMeasure,
  type ExportedMeasure,
  exportedMeasures,
  generatedBy,
  measureSql,
  metaOf,
} from './exported-measures.ts';

/** Version of the specification. */
const VERSION = '0.2.0.dev0';
const TYPES: Readonly<Record<string, string>> = {
  VARCHAR: 'String',
  // The specification has no type for ids.
  UUID: 'String',
  DATE: 'Date',
  BIGINT: 'Integer',
  DOUBLE: 'Float',
  BOOLEAN: 'Boolean',
};

/** Returns the semantic model in the Open Semantic Interchange format, by path. */
export function osiFiles(): Map<string, string> {
  const model = {
    name: 'sightline',
    description: 'Visibility of brands in responses of AI engines, from the replica of a sightline workspace.',
    ai_context: {
      instructions:
        'Datasets are queries on the DuckDB file analytics.duckdb. Do not average ratios: each metric divides sums. Metrics whose names begin with entity require a grouping by entity_responses.entity_id.',
    },
    datasets: exportedDatasets.map(datasetOf),
    relationships: exportedDatasets.flatMap(relationshipsOf),
    metrics: exportedMeasures.map(metricOf),
  };
  return new Map([['sightline.yaml', toYaml({ version: VERSION, semantic_model: [model] }, generatedBy('osi'))]]);
}

function datasetOf({ name, label, about, sql, key, columns }: ExportedDataset): YamlValue {
  return {
    name,
    source: sql,
    primary_key: key,
    description: about,
    ai_context: { synonyms: [label] },
    fields: columns.map(fieldOf),
  };
}

function fieldOf({ name, label, about, type, role }: ExportedColumn): YamlValue {
  return {
    name,
    expression: expressionOf(name),
    ...(role === 'summand' ? {} : { dimension: { is_time: role === 'time' } }),
    label,
    description: about,
    ...(TYPES[type] === undefined ? {} : { datatype: TYPES[type] }),
  };
}

function relationshipsOf({ name, relations }: ExportedDataset): YamlValue[] {
  return relations.map(({ to, columns }) => ({
    name: `${name}_to_${to}`,
    from: name,
    to,
    from_columns: columns,
    to_columns: columns,
  }));
}

function metricOf(exported: ExportedMeasure): YamlValue {
  const { name, label, dataset, denominator, measure } = exported;
  return {
    name,
    expression: expressionOf(measureSql(exported, `${dataset}.`)),
    description: describeMeasure(exported),
    datatype: denominator === null && measure.unit !== 'currency' ? 'Integer' : 'Float',
    ai_context: { synonyms: [label] },
    custom_extensions: [{ vendor_name: 'SIGHTLINE', data: JSON.stringify(metaOf(measure)) }],
  };
}

function expressionOf(sql: string): YamlValue {
  return { dialects: [{ dialect: 'ANSI_SQL', expression: sql }] };
}
