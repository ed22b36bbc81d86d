import { z } from 'zod';
import type { JsonSchema } from '../../contract/json-schema.ts';
import { membersOf } from '../../contract/operation/operation.ts';
import type { InputMember, InputMembers } from '../../contract/operation/read-input.ts';
import { describedModel } from '../../metrics/model/measures.ts';
import { dataOperations, hasRowsIn } from '../../read/metrics/data-operations.ts';
import { describedQuery } from '../../read/metrics/run-declared.ts';
import { scopeInput } from '../../read/metrics/scope-request.ts';
import { tableResult } from '../../read/metrics/table-result.ts';
import { DATA_PATHS } from '../http/page-paths.ts';
import { listMetrics } from '../mcp/data-tools/metrics-tools.ts';
import { exampleOf } from './examples.ts';
import type { Json } from './header-objects.ts';
import { pathParameter, type ServerOperation } from './server-operation.ts';

/** The tag of these operations. */
export const DATA_TAG = { name: 'data', description: 'Measures, declared queries, and explanations of changes.' };

/**
 * Returns the operations of the metrics layer and of the declared queries by path. Requests of pages have a limit of their own, which
 * responses do not report.
 */
export function dataOperationsByPath(): Record<string, ServerOperation> {
  return {
    ...Object.fromEntries(
      dataOperations.map((operation): [string, ServerOperation] => {
        const { path, name, title, about, members, output } = operation;
        const parameters = parametersOf(members);
        const hasRows = hasRowsIn(operation);
        return [path, { name, title, about, parameters, output, hasRows, hasTag: true, reads: true }];
      }),
    ),
    [DATA_PATHS.model]: {
      name: listMetrics.name,
      title: listMetrics.title,
      about: listMetrics.about,
      output: servedModel,
      hasTag: true,
    },
    [DATA_PATHS.queries]: {
      name: 'list_queries',
      title: 'List declared queries',
      about: 'The declared queries with their parameters and columns.',
      output: z.array(describedQuery),
      hasTag: true,
    },
    [DATA_PATHS.query]: {
      name: 'run_query',
      title: 'Run a declared query',
      about: `Runs a declared query. Its own parameters, which ${DATA_PATHS.queries} lists, are query parameters too.`,
      parameters: [
        pathParameter('name', 'Name of the query.', 'filters'),
        ...parametersOf(membersOf(z.object(scopeInput))),
      ],
      output: tableResult,
      hasRows: true,
      hasTag: true,
      reads: true,
      hasId: true,
    },
  };
}

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
