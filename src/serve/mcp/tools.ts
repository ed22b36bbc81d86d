import type { Tool as ToolDefinition } from '@modelcontextprotocol/server';
import type { Catalogue, Resource } from '../../contract/catalogue.ts';
import { bodySchema, type JsonSchema, parameterSchema } from '../../contract/json-schema.ts';
import { type ServedNames, servedName } from '../../contract/query-parameters.ts';
import { describeParameter, describePathParameter, describeTool, sourceOf, titleOf } from './describe-tool.ts';
import {
  listerOf,
  listsOf,
  OMITTED,
  pathParametersOf,
  type Tool,
  type ToolSet,
  type ToolShape,
  takesName,
} from './tool.ts';

/** Derives the tools. `namesOf` returns the served names of parameters whose name the specification leaves open. */
export function createTools(catalogue: Catalogue, namesOf: (resource: Resource) => ServedNames): ToolSet {
  const tools = new Map<string, Tool>();
  for (const resource of catalogue.resources) {
    if (tools.has(resource.tool)) throw new TypeError(`two tools have the name ${resource.tool}`);
    tools.set(resource.tool, createTool(catalogue, resource, namesOf(resource)));
  }
  return tools;
}

function createTool(catalogue: Catalogue, resource: Resource, names: ServedNames): Tool {
  const inPath = pathParametersOf(resource);
  const inQuery = Object.entries(resource.query).map(([name, parameter]) => ({
    name: servedName(name, parameter, names),
    parameter,
  }));
  const takesSkip = resource.paging === 'single' && listsOf(resource).length > 0;
  const isFree = (name: string): boolean => inQuery.every((served) => served.name !== name);
  const shape = { resource, inPath, inQuery, skipName: takesSkip && isFree('skip') ? 'skip' : null };
  return { ...shape, definition: define(catalogue, shape) };
}

function define(catalogue: Catalogue, shape: ToolShape): ToolDefinition {
  const { resource } = shape;
  const title = titleOf(resource.tool);
  // The library types schemas as mutable JSON values, which readonly declarations are not.
  const definition: unknown = {
    name: resource.tool,
    title,
    description: describeTool(catalogue, shape),
    inputSchema: inputSchema(catalogue, shape),
    outputSchema: outputSchema(catalogue, resource),
    annotations: { title, readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  };
  return definition as ToolDefinition;
}

function inputSchema(catalogue: Catalogue, { resource, inPath, inQuery, skipName }: ToolShape) {
  const properties: Record<string, JsonSchema> = {};
  for (const name of inPath) {
    const lister = listerOf(catalogue, resource, name);
    const description = describePathParameter(lister);
    properties[name] = { type: 'string', ...(takesName(lister) ? {} : { format: 'uuid' }), description };
  }
  for (const { name, parameter } of inQuery) {
    const { format, ...schema } = parameterSchema(parameter);
    const isName = takesName(sourceOf(catalogue, name, parameter));
    const description = describeParameter(catalogue, name, parameter);
    properties[name] = { ...schema, ...(isName || format === undefined ? {} : { format }), description };
  }
  if (skipName !== null) {
    const description =
      'Number of rows to skip. A result that was too long to be complete states the number with which to continue.';
    properties[skipName] = { type: 'integer', minimum: 0, default: 0, description };
  }
  return { type: 'object', properties, required: inPath, additionalProperties: false };
}

// A result must be an object. If the body can also have another form, such as a bare list, the schema describes its
// object form, because other values are wrapped in `data`.
function outputSchema(catalogue: Catalogue, resource: Resource): JsonSchema {
  const body = bodySchema(resource, catalogue.resources);
  const forms = Array.isArray(body['anyOf']) ? (body['anyOf'] as JsonSchema[]) : [body];
  const object = forms.find((form) => form['type'] === 'object') ?? body;
  const omitted = {
    type: 'string',
    description: 'Present only if the result was too long: the omitted part, and how to get it.',
  };
  const properties = { ...(object['properties'] as object | undefined), [OMITTED]: omitted };
  return { ...object, type: 'object', properties };
}
