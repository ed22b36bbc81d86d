import { z } from 'zod';
import { describedModel } from '../../analytics/model/measures.ts';
import type { JsonSchema, Refer } from '../../contract/json-schema.ts';
import { membersOf, type Operation, toJsonSchema } from '../../contract/operation/operation.ts';
import type { InputMember, InputMembers } from '../../contract/operation/read-input.ts';
import { dataOperations, hasRowsIn } from '../../query/metrics/data-operations.ts';
import { describedQuery } from '../../query/metrics/run-declared.ts';
import { scopeInput } from '../../query/metrics/scope-request.ts';
import { type MetricsSource, tableResult } from '../../query/metrics/table-result.ts';
import { MEDIA_TYPES } from '../http/content/negotiation.ts';
import { DATA_PATHS } from '../http/page-paths.ts';
import { exampleOf } from './examples.ts';
import { fileHeaders, type Json } from './header-objects.ts';
import { ifNoneMatch } from './resource-operation.ts';
import { json, pathParameter, type ServerOperation } from './server-operation.ts';

/** The tag of these operations. */
export const DATA_TAG = { name: 'data', description: 'Measures, declared queries, and explanations of changes.' };

// Requests of pages have a limit of their own, which responses do not report.
const headers = fileHeaders(null);

/** Returns the operations of the metrics layer and of the declared queries by path. */
export function dataOperationsByPath(refer: Refer): Record<string, ServerOperation> {
  const answered = (id: string, output: z.ZodType, hasRows = false): Json => {
    const schema = toJsonSchema(output);
    const name = `${id.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())}Result`;
    const content = json('The result.', headers, refer(name, schema), exampleOf(schema, ''));
    return {
      200: hasRows ? { ...content, 'x-media-types': rowTypes } : content,
      304: { description: "The client's result is still current.", headers },
    };
  };
  const derived = (operation: Operation<MetricsSource>): ServerOperation => ({
    operationId: operation.name,
    summary: operation.title,
    description: operation.about,
    parameters: [...parametersOf(operation.members), ifNoneMatch],
    responses: answered(operation.name, operation.output, hasRowsIn(operation)),
    kind: { reads: true },
  });
  return {
    ...Object.fromEntries(dataOperations.map((operation) => [operation.path, derived(operation)])),
    [DATA_PATHS.model]: {
      operationId: 'list_metrics',
      summary: 'List metrics',
      description: 'Measures with formula, unit and better direction, and the dimensions to group by.',
      parameters: [ifNoneMatch],
      responses: answered('list_metrics', servedModel),
      kind: {},
    },
    [DATA_PATHS.queries]: {
      operationId: 'list_queries',
      summary: 'List declared queries',
      description: 'The declared queries with their parameters and columns.',
      parameters: [ifNoneMatch],
      responses: answered('list_queries', z.array(describedQuery)),
      kind: {},
    },
    [DATA_PATHS.query]: {
      operationId: 'run_query',
      summary: 'Run a declared query',
      description: `Runs a declared query. Its own parameters, which ${DATA_PATHS.queries} lists, are query parameters too.`,
      parameters: [
        pathParameter('name', 'Name of the query.', 'filters'),
        ...parametersOf(membersOf(z.object(scopeInput))),
        ifNoneMatch,
      ],
      responses: answered('run_query', tableResult, true),
      kind: { reads: true, hasId: true },
    },
  };
}

const { json: _, ...rowFormats } = MEDIA_TYPES;
const rowTypes = Object.fromEntries(
  Object.values(rowFormats).map((type) => [type, { schema: { type: 'string', format: 'binary' } }]),
);

const servedModel = describedModel.extend({
  upstream: z
    .record(z.string(), z.string())
    .describe('for measures that upstream defines in another way: the difference, as calibration has found it'),
});

function parametersOf(members: InputMembers): Json[] {
  return Object.entries(members).map(([name, { description, isRequired = false, isFilter: _, ...schema }]) => ({
    name,
    in: 'query',
    required: isRequired,
    ...(description === undefined ? {} : { description }),
    schema,
    // Values of a list are separated by commas.
    ...(schema.type === 'array' ? { explode: false } : {}),
    example: exampleOfMember(name, schema),
  }));
}

function exampleOfMember(name: string, schema: InputMember): unknown {
  return schema.default ?? exampleOf(schema as unknown as JsonSchema, name);
}
