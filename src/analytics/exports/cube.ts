import { toYaml, type YamlValue } from '../../base/yaml.ts';
import { type ExportedColumn, type ExportedDataset, exportedDatasets } from './exported-datasets.ts';
import {
  type Aggregate,
  describeMeasure,
  type ExportedMeasure,
  exportedMeasures,
  generatedBy,
  metaOf,
  prefixed,
} from './exported-measures.ts';

/** Reference to the cube itself in its SQL. */
const SELF = '{CUBE}.';
const TYPES: Readonly<Record<string, string>> = {
  BOOLEAN: 'boolean',
  BIGINT: 'number',
  DOUBLE: 'number',
  DATE: 'time',
};
const FORMATS: Readonly<Record<string, string>> = { ratio: 'percent', currency: 'currency' };

/** Returns the data model of Cube, by path: one cube per dataset. */
export function cubeFiles(): Map<string, string> {
  return new Map([['model/cubes/sightline.yml', toYaml({ cubes: exportedDatasets.map(cubeOf) }, generatedBy('cube'))]]);
}

function cubeOf({ name, label, about, sql, key, columns, relations }: ExportedDataset): YamlValue {
  const measures = exportedMeasures.filter((measure) => measure.dataset === name);
  return {
    name,
    title: label,
    description: about,
    sql,
    ...(relations.length === 0
      ? {}
      : {
          joins: relations.map(({ to, columns: on }) => ({
            name: to,
            relationship: 'many_to_one',
            sql: on.map((column) => `${SELF}${column} = {${to}}.${column}`).join(' AND '),
          })),
        }),
    dimensions: columns.filter(({ role }) => role !== 'summand').map((column) => dimensionOf(column, key)),
    ...(measures.length === 0 ? {} : { measures: measures.flatMap(measuresOf) }),
  };
}

function dimensionOf({ name, label, about, type, role }: ExportedColumn, key: readonly string[]): YamlValue {
  // Cube appends casts to times, compares them with instants, and shows keys only if they are public.
  return {
    name,
    title: label,
    description: about,
    sql: role === 'time' ? `timezone('UTC', CAST(${SELF}${name} AS TIMESTAMP))` : `${SELF}${name}`,
    type: TYPES[type] ?? 'string',
    ...(key.includes(name) ? { primary_key: true, public: true } : {}),
  };
}

function measuresOf(exported: ExportedMeasure): YamlValue[] {
  const { name, label, numerator, denominator, measure, dataset } = exported;
  const format = FORMATS[measure.unit];
  const shown = {
    title: label,
    description: describeMeasure(exported),
    ...(format === undefined ? {} : { format }),
    meta: metaOf(measure),
  };
  if (denominator === null) return [{ name, ...aggregated(numerator, dataset), ...shown }];
  const part = (suffix: string, text: string | null, aggregate: Aggregate): YamlValue => ({
    name: `${name}_${suffix}`,
    ...aggregated(aggregate, dataset),
    title: `${label}: ${text}`,
  });
  return [
    part('numerator', measure.numerator, numerator),
    part('denominator', measure.denominator, denominator),
    { name, type: 'number', sql: `1.0 * {${name}_numerator} / NULLIF({${name}_denominator}, 0)`, ...shown },
  ];
}

function aggregated({ over, of }: Aggregate, dataset: string): { readonly type: string; readonly sql: string } {
  return { type: over, sql: prefixed(of, dataset, SELF) };
}
