import type { Tool as ToolDefinition } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { membersOf } from '../../../contract/operation/operation.ts';
import type { InputMembers } from '../../../contract/operation/read-input.ts';
import { outputSchemaOf } from '../call-data-tool.ts';
import type { DataTool } from '../data-tool.ts';
import { RESULT_TOKENS } from '../endpoints/tool-input.ts';
import { READ_ONLY, WORKSPACE_SCHEMA } from '../endpoints/tools.ts';
import type { Served } from '../served.ts';
import { argumentsSchema } from '../tool-arguments.ts';
import { explainChange, findOpportunities, whatChanged } from './explain-tools.ts';
import { listDimensionValues, listMetrics, queryMetrics } from './metrics-tools.ts';
import { describeTable, listTables, query } from './sql-tools.ts';

/** The tools that are not endpoints, in the order in which they are listed. */
export const dataTools: readonly DataTool[] = [
  queryMetrics,
  listMetrics,
  listDimensionValues,
  explainChange,
  whatChanged,
  findOpportunities,
  query,
  listTables,
  describeTable,
];

/** Default size of the results of data tools, in estimated tokens. */
const DATA_TOKENS = 6_000;

/** Returns the definition of a tool for clients. */
export function definitionOf(tool: DataTool, { workspaces }: Pick<Served, 'workspaces'>): ToolDefinition {
  const schema = argumentsSchema(tool.members);
  // The instructions of the server describe this argument once for all tools, and errors state its bounds.
  const own = { ...(schema['properties'] as object), max_tokens: { type: 'integer' } };
  const inputSchema =
    workspaces === null
      ? { ...schema, properties: own }
      : {
          ...schema,
          properties: { workspace: WORKSPACE_SCHEMA, ...own },
          required: ['workspace', ...((schema['required'] as string[] | undefined) ?? [])],
        };
  // The library types schemas as mutable JSON values, which readonly declarations are not.
  const definition: unknown = {
    name: tool.name,
    title: tool.title,
    description: tool.about,
    inputSchema,
    outputSchema: outputSchemaOf(tool),
    annotations: READ_ONLY,
  };
  return definition as ToolDefinition;
}

const { workspace, ...size } = membersOf(
  z.object({
    workspace: z.string(),
    max_tokens: z.int().min(RESULT_TOKENS.least).max(RESULT_TOKENS.most).default(DATA_TOKENS),
  }),
);

/** Returns the arguments of a tool, including those of all data tools. */
export function argumentsOf(tool: DataTool, { workspaces }: Pick<Served, 'workspaces'>): InputMembers {
  return { ...(workspaces === null || workspace === undefined ? {} : { workspace }), ...tool.members, ...size };
}
