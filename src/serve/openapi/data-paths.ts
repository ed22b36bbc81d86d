import type { JsonSchema, Refer } from '../../contract/json-schema.ts';
import { MEDIA_TYPES } from '../http/content/negotiation.ts';
import { DATA_PATHS } from '../http/page-paths.ts';
import { explanationOperations } from './explanation-paths.ts';
import { fileHeaders, type Json } from './header-objects.ts';
import { ifNoneMatch } from './resource-operation.ts';
import { json, object, pathParameter, queryParameter, type ServerOperation, text } from './server-operation.ts';

/** The tag of these operations. */
export const DATA_TAG = { name: 'data', description: 'Measures, declared queries, and explanations of changes.' };

/** Returns the operations of the metrics layer and of the declared queries by path. */
export function dataOperations(refer: Refer): Record<string, ServerOperation> {
  const column = refer('DataColumn', columnSchema);
  const table = refer('DataTable', tableSchema(column));
  const { json: _, ...rowTypes } = MEDIA_TYPES;
  const rows = Object.fromEntries(
    Object.values(rowTypes).map((type) => [type, { schema: { type: 'string', format: 'binary' } }]),
  );
  const answered = (example: unknown, schema = table): Json => ({
    200: { ...json('The rows.', headers, schema, example), 'x-media-types': rows },
    304: { description: "The client's table is still current.", headers },
  });
  const listed = (description: string, schema: JsonSchema, example: unknown): Json => ({
    200: json(description, headers, schema, example),
    304: { description: "The client's list is still current.", headers },
  });
  return {
    [DATA_PATHS.metrics]: {
      operationId: 'query_metrics',
      summary: 'Measures by groups, with intervals and tested changes',
      description: `Computes measures from the stored responses. ${DATA_PATHS.model} lists measures and dimensions.`,
      parameters: [...metricsParameters, ...scopeParameters, ...orderParameters, ifNoneMatch],
      responses: answered(exampleTable('metrics', 'visibility', 'DOUBLE', [0.396])),
      kind: { reads: true },
    },
    [DATA_PATHS.model]: {
      operationId: 'describe_metrics',
      summary: 'Measures and dimensions',
      description:
        'The measures with their definitions, units and tests, and the dimensions by which they can be grouped.',
      parameters: [ifNoneMatch],
      responses: listed('The model.', refer('MetricsModel', modelSchema), {
        measures: [],
        dimensions: [],
        upstream: {},
      }),
      kind: {},
    },
    [DATA_PATHS.values]: {
      operationId: 'list_dimension_values',
      summary: 'Values of a dimension',
      description: 'Lists the current values of a dimension by name, with their ids.',
      parameters: [...valuesParameters, ifNoneMatch],
      responses: answered(exampleValues, refer('DimensionValues', valuesSchema(column))),
      kind: { reads: true },
    },
    ...explanationOperations({ refer, scope: scopeParameters, answered: listed }),
    [DATA_PATHS.queries]: {
      operationId: 'list_queries',
      summary: 'Declared queries',
      description: 'The declared queries with their parameters and columns.',
      parameters: [ifNoneMatch],
      responses: listed('The queries.', { type: 'array', items: refer('DeclaredQuery', querySchema(column)) }, []),
      kind: {},
    },
    [DATA_PATHS.query]: {
      operationId: 'run_query',
      summary: 'Rows of a declared query',
      description: `Runs a declared query. Its own parameters, which ${DATA_PATHS.queries} lists, are query parameters too.`,
      parameters: [pathParameter('name', 'Name of the query.', 'filters'), ...scopeParameters, ifNoneMatch],
      responses: answered(exampleTable('filters', 'name', 'VARCHAR', ['chatgpt'])),
      kind: { reads: true, hasId: true },
    },
  };
}

// Requests of pages have a limit of their own, which responses do not report.
const headers = fileHeaders(null);

const day = { type: 'string', format: 'date' };

const metricsParameters: readonly Json[] = [
  { ...queryParameter('metrics', 'Names of measures, separated by commas.', 'visibility,position'), required: true },
  queryParameter('group_by', 'Names of dimensions, separated by commas.', 'engine'),
  queryParameter('grain', 'Length of the periods; without it, one row covers the range.', 'week', {
    enum: ['day', 'week', 'month'],
  }),
];

const scopeParameters: readonly Json[] = [
  queryParameter('brand', 'Ids or names of brands, separated by commas; default: all that the key may read.', 'Acme'),
  queryParameter('from', 'First day (UTC); default: 28 days up to `to`.', '2026-03-01', day),
  queryParameter('to', 'Last day (UTC), included; default: the last complete day.', '2026-03-14', day),
  queryParameter('engine', 'Engine slugs, separated by commas.', 'chatgpt'),
  queryParameter('topic', 'Ids or names of topics, separated by commas.', 'Alternatives'),
  queryParameter('tag', 'Ids or names of tags, separated by commas.', 'priority'),
  queryParameter(
    'branded',
    'Only prompts that name the brand (`branded` or `true`), or do not (`non-branded` or `false`).',
    'branded',
    {
      enum: ['branded', 'non-branded', 'true', 'false'],
    },
  ),
  queryParameter('prompt', 'Id or text of a prompt.', 'Which one is best?'),
  queryParameter(
    'competitor',
    'Only responses that mention these competitors: ids or names, separated by commas.',
    'Rival',
  ),
  queryParameter('compare_to', 'Period of comparison; default: the preceding period.', 'year', {
    enum: ['previous', 'year', 'none'],
  }),
];

const orderParameters: readonly Json[] = [
  queryParameter('order', 'Columns, separated by commas; `-` before a descending one.', '-visibility'),
  queryParameter('limit', 'Most rows.', 100, { type: 'integer', minimum: 1, maximum: 10_000 }),
];

const valuesParameters: readonly Json[] = [
  { ...queryParameter('dimension', `Name of a dimension; see ${DATA_PATHS.model}.`, 'topic'), required: true },
  ...scopeParameters.slice(0, 1),
  queryParameter('search', 'Only values with a name that contains this text, in any letter case.', 'alter'),
  queryParameter('limit', 'Most values; default: 100.', 20, { type: 'integer', minimum: 1, maximum: 10_000 }),
];

const named = {
  name: { ...text, description: 'Name.' },
  about: { ...text, description: 'Meaning.' },
};

const columnSchema = object(
  { ...named, type: { ...text, description: 'SQL type of DuckDB.' } },
  'A column of a table.',
  ['name', 'type'],
);

function tableSchema(column: JsonSchema): JsonSchema {
  const time = { type: ['string', 'null'], format: 'date-time' };
  const lastDay = { type: ['string', 'null'], format: 'date' };
  return object(
    {
      ...named,
      columns: { type: 'array', description: 'The columns.', items: column },
      rows: {
        type: 'array',
        description: 'Values in the order of the columns: days as YYYY-MM-DD, times in UTC, JSON as values.',
        items: { type: 'array', items: {} },
      },
      sql: { ...text, description: 'SQL that returns the same rows from the replica.' },
      asOf: { ...time, description: 'When the data were last read from upstream; null if never.' },
      completeTo: { ...lastDay, description: 'Last day up to which responses were read completely; null if unknown.' },
      partial: { type: 'boolean', description: 'Whether days of the range were not read completely.' },
      from: { ...lastDay, description: 'First day.' },
      to: { ...lastDay, description: 'Last day, included.' },
      truncated: { type: 'boolean', description: 'Whether more rows exist.' },
    },
    'A table.',
  );
}

function valuesSchema(column: JsonSchema): JsonSchema {
  return object(
    {
      dimension: { ...text, description: 'Name of the dimension.' },
      columns: { type: 'array', description: 'The columns; the last one is the name.', items: column },
      rows: { type: 'array', description: 'Values in the order of the columns.', items: { type: 'array', items: {} } },
      total: { type: 'integer', description: 'Number of values that match, also those beyond the limit.' },
    },
    'Values of a dimension.',
  );
}

const exampleValues = {
  dimension: 'engine',
  columns: [
    { name: 'engine', type: 'VARCHAR', about: 'Engine slug.' },
    { name: 'name', type: 'VARCHAR', about: 'Display name.' },
  ],
  rows: [['chatgpt', 'ChatGPT']],
  total: 1,
};

function querySchema(column: JsonSchema): JsonSchema {
  const parameters = object(
    {
      ...named,
      type: { ...text, description: 'SQL type.' },
      standard: {
        type: ['string', 'null'],
        description: 'Value if the parameter is not given; absent if it is required.',
      },
      oneOf: { type: ['array', 'null'], description: 'Allowed values; null for any of the type.', items: text },
    },
    'A parameter.',
    ['name', 'about', 'type'],
  );
  return object(
    {
      ...named,
      parameters: { type: 'array', description: 'Its own parameters.', items: parameters },
      columns: { type: 'array', description: 'Its columns.', items: column },
    },
    'A declared query.',
  );
}

const entries = { type: 'array', items: object(named, 'An entry.') };

const modelSchema = object(
  {
    measures: { ...entries, description: 'The measures.' },
    dimensions: { ...entries, description: 'The dimensions.' },
    upstream: {
      type: 'object',
      description: 'For measures that upstream defines in another way: the difference, as calibration has found it.',
      additionalProperties: { type: 'string' },
    },
  },
  'The measures and dimensions.',
);

function exampleTable(name: string, column: string, type: string, row: readonly unknown[]): unknown {
  return {
    name,
    about: 'An example.',
    columns: [{ name: column, type, about: 'An example.' }],
    rows: [row],
    sql: 'SELECT 1',
    asOf: '2026-03-15T02:15:00.000Z',
    completeTo: '2026-03-14',
    partial: false,
    from: '2026-02-15',
    to: '2026-03-14',
    truncated: false,
  };
}
