import { createHash } from 'node:crypto';
import { toYaml, type YamlValue } from '../../base/yaml.ts';
import { DAY, type ExportedColumn, type ExportedDataset, exportedDatasets } from './exported-datasets.ts';
import {
  datasetOf,
  describeMeasure,
  type ExportedMeasure,
  exportedMeasures,
  generatedBy,
  measureSql,
  metaOf,
} from './exported-measures.ts';

/** Version of the files of an import. */
const VERSION = '1.0.0';
const DATABASE = 'sightline';
/** Time of the metadata, which an import requires; constant, because the files are compared. */
const TIMESTAMP = '2026-01-01T00:00:00+00:00';
const FORMATS: Readonly<Record<string, string>> = { ratio: '.1%', count: ',d', currency: ',.2f' };

/** Returns the files of an import of datasets into Superset, by path: one virtual dataset per dataset with measures. */
export function supersetFiles(): Map<string, string> {
  const facts = exportedDatasets.filter(({ name }) => exportedMeasures.some(({ dataset }) => dataset === name));
  return new Map([
    ['metadata.yaml', toYaml({ version: VERSION, type: 'SqlaTable', timestamp: TIMESTAMP }, generatedBy('superset'))],
    [`databases/${DATABASE}.yaml`, toYaml(databaseOf())],
    ...facts.map((dataset): [string, string] => [
      `datasets/${DATABASE}/sightline_${dataset.name}.yaml`,
      toYaml(supersetDataset(dataset)),
    ]),
  ]);
}

function databaseOf(): YamlValue {
  return {
    database_name: DATABASE,
    // Four slashes: an absolute path.
    sqlalchemy_uri: 'duckdb:////path/to/data/default/analytics.duckdb',
    expose_in_sqllab: true,
    allow_ctas: false,
    allow_cvas: false,
    allow_dml: false,
    extra: { engine_params: { connect_args: { read_only: true } } },
    uuid: uuidOf(DATABASE),
    version: VERSION,
  };
}

function supersetDataset(dataset: ExportedDataset): YamlValue {
  const { name, about } = dataset;
  return {
    table_name: `sightline_${name}`,
    main_dttm_col: DAY,
    description: about,
    schema: 'mart',
    sql: joinedSql(dataset),
    filter_select_enabled: true,
    uuid: uuidOf(`${DATABASE}/${name}`),
    columns: joinedColumns(dataset).map(columnOf),
    metrics: exportedMeasures.filter((measure) => measure.dataset === name).map(metricOf),
    version: VERSION,
    database_uuid: uuidOf(DATABASE),
  };
}

// Superset does not join datasets, so the query of a dataset contains the joins.
function joinedSql(dataset: ExportedDataset): string {
  const joins = dataset.relations.map(({ to, columns }) => {
    const on = columns.map((column) => `${to}.${column} = facts.${column}`).join(' AND ');
    return `LEFT JOIN (\n${datasetOf(to).sql}\n) ${to} ON ${on}`;
  });
  const columns = namesOf(dataset).map(({ from, column }) => `${from}.${column.name}`);
  return `SELECT ${columns.join(', ')}\nFROM (\n${dataset.sql}\n) facts\n${joins.join('\n')}`;
}

function joinedColumns(dataset: ExportedDataset): ExportedColumn[] {
  return namesOf(dataset).map(({ column }) => column);
}

function namesOf(dataset: ExportedDataset): { readonly from: string; readonly column: ExportedColumn }[] {
  return [
    ...dataset.columns.map((column) => ({ from: 'facts', column })),
    ...dataset.relations.flatMap(({ to, columns }) =>
      datasetOf(to)
        .columns.filter(({ name }) => !columns.includes(name))
        .map((column) => ({ from: to, column })),
    ),
  ];
}

function columnOf({ name, label, about, type, role }: ExportedColumn): YamlValue {
  return {
    column_name: name,
    verbose_name: label,
    is_dttm: role === 'time',
    is_active: true,
    type,
    groupby: role !== 'summand',
    filterable: true,
    description: about,
  };
}

function metricOf(exported: ExportedMeasure): YamlValue {
  const { name, label, measure } = exported;
  return {
    metric_name: name,
    verbose_name: label,
    expression: measureSql(exported),
    description: describeMeasure(exported),
    d3format: FORMATS[measure.unit] ?? '.2f',
    extra: metaOf(measure),
  };
}

// An import replaces the datasets with the same ids, so they depend on the names only.
function uuidOf(name: string): string {
  const hex = createHash('sha256').update(`sightline/superset/${name}`).digest('hex');
  const variant = '89ab'[Number.parseInt(hex.charAt(16), 16) % 4];
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}
