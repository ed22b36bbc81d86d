import type { Tool as ToolDefinition } from '@modelcontextprotocol/server';
import type { Conventions } from '../../analytics/calibration/conventions.ts';
import { isRecord } from '../../base/json.ts';
import type { Catalogue, Resource } from '../../contract/catalogue.ts';
import { bodySchema, type JsonSchema, parameterSchema } from '../../contract/json-schema.ts';
import { type ServedNames, servedName } from '../../contract/query-parameters.ts';
import { describeParameter, describePathParameter, describeTool, sourceOf, titleOf } from './describe-tool.ts';
import { describeNumbers } from './numbers-text.ts';
import { NOTE, noteSchema } from './result-note.ts';
import { orTable } from './table-form.ts';
import {
  listerOf,
  listsOf,
  OWN_ARGUMENTS,
  type OwnArgument,
  pathParametersOf,
  type Tool,
  type ToolSet,
  type ToolShape,
  takesName,
} from './tool.ts';
import { RESULT_TOKENS } from './tool-input.ts';

/** Greatest number of workspaces that the schema of each tool lists. */
const NAMES_LISTED_MAX = 10;

/** Name of the tool that lists the workspaces. */
const LIST_WORKSPACES = 'list_workspaces';

const READ_ONLY = { readOnlyHint: true, destructiveHint: false, openWorldHint: false };

/** What tools are derived from, besides the catalogue. */
export interface ToolParts {
  /** Returns the served names of parameters whose name the specification leaves open. */
  readonly namesOf: (resource: Resource) => ServedNames;
  /** How numbers are written; null if it is not known. */
  readonly conventions: Conventions | null;
  /** Names of the workspaces if each call has to name one, otherwise null. */
  readonly workspaces: readonly string[] | null;
}

/** Derives the tools. */
export function createTools(catalogue: Catalogue, parts: ToolParts): ToolSet {
  const tools = new Map<string, Tool>();
  for (const resource of catalogue.resources) {
    if (tools.has(resource.tool)) throw new TypeError(`two tools have the name ${resource.tool}`);
    tools.set(resource.tool, createTool(catalogue, resource, parts));
  }
  return tools;
}

function createTool(catalogue: Catalogue, resource: Resource, parts: ToolParts): Tool {
  const inPath = pathParametersOf(resource);
  const names = parts.namesOf(resource);
  const inQuery = Object.entries(resource.query).map(([name, parameter]) => ({
    name: servedName(name, parameter, names),
    parameter,
  }));
  const hasList = listsOf(resource).length > 0;
  const has: Readonly<Record<OwnArgument, boolean>> = {
    skip: resource.paging === 'single' && hasList,
    // A single value is never long.
    maxTokens: resource.change.kind !== 'value',
    plain: hasList,
    workspace: parts.workspaces !== null,
  };
  const isFree = (name: string): boolean => inQuery.every((served) => served.name !== name);
  const shape = { resource, inPath, inQuery, own: OWN_ARGUMENTS.filter((name) => has[name] && isFree(name)) };
  return { ...shape, definition: define(catalogue, shape, parts) };
}

function define(catalogue: Catalogue, shape: ToolShape, { conventions, workspaces }: ToolParts): ToolDefinition {
  const { resource } = shape;
  const title = titleOf(resource.tool);
  const numbers = conventions === null ? [] : describeNumbers(catalogue, resource, conventions);
  // The library types schemas as mutable JSON values, which readonly declarations are not.
  const definition: unknown = {
    name: resource.tool,
    title,
    description: describeTool(catalogue, shape, numbers),
    inputSchema: inputSchema(catalogue, shape, workspaces),
    outputSchema: outputSchema(catalogue, resource),
    annotations: READ_ONLY,
  };
  return definition as ToolDefinition;
}

function inputSchema(catalogue: Catalogue, shape: ToolShape, workspaces: readonly string[] | null): JsonSchema {
  const { resource, inPath, inQuery, own } = shape;
  const properties: Record<string, JsonSchema> = {};
  if (own.includes('workspace')) properties['workspace'] = workspaceSchema(workspaces ?? []);
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
  for (const name of own) if (name !== 'workspace') properties[name] = ownSchemas[name];
  const required = [...(own.includes('workspace') ? ['workspace'] : []), ...inPath];
  return { type: 'object', properties, required, additionalProperties: false };
}

const ownSchemas: Readonly<Record<Exclude<OwnArgument, 'workspace'>, JsonSchema>> = {
  skip: { type: 'integer', minimum: 0, description: 'Rows to skip.' },
  maxTokens: {
    type: 'integer',
    minimum: RESULT_TOKENS.least,
    maximum: RESULT_TOKENS.most,
    description: `Size of the result; default ${RESULT_TOKENS.standard}.`,
  },
  plain: { type: 'boolean', description: 'Rows as objects.' },
};

function workspaceSchema(names: readonly string[]): JsonSchema {
  if (names.length <= NAMES_LISTED_MAX) return { type: 'string', enum: names, description: 'The workspace.' };
  return { type: 'string', description: `A name listed by \`${LIST_WORKSPACES}\`.` };
}

/** The definition of the tool that lists the workspaces. */
export const listWorkspaces = {
  name: LIST_WORKSPACES,
  title: 'List workspaces',
  description: 'Names of the workspaces, of which every other tool needs one as `workspace`.',
  inputSchema: { type: 'object' as const, properties: {}, additionalProperties: false },
  outputSchema: {
    type: 'object' as const,
    properties: { workspaces: { type: 'array', items: { type: 'string' } } },
    required: ['workspaces'],
  },
  annotations: READ_ONLY,
};

// A result must be an object. If the body can also have another form, such as a bare list, the schema describes its
// object form, because other values are wrapped in `data`. The fields are explained by sightline://tool/{name}.
function outputSchema(catalogue: Catalogue, resource: Resource): JsonSchema {
  const body = shortened(bodySchema(resource, catalogue.resources)) as JsonSchema;
  const forms = Array.isArray(body['anyOf']) ? (body['anyOf'] as JsonSchema[]) : [body];
  const object = forms.find((form) => form['type'] === 'object') ?? body;
  const properties: Record<string, unknown> = { ...(object['properties'] as object | undefined) };
  for (const list of listsOf(resource)) properties[list] = orTable(properties[list] as JsonSchema);
  properties[NOTE] = noteSchema;
  const required = [...((object['required'] as string[] | undefined) ?? []), NOTE];
  return { ...object, type: 'object', properties, required };
}

// Removes descriptions, formats, and types that allow null, which are most of a schema and which values show anyway.
function shortened(schema: unknown, isNames = false): unknown {
  if (Array.isArray(schema)) return schema.map((part) => shortened(part));
  if (!isRecord(schema)) return schema;
  const isScalar = !('properties' in schema || 'items' in schema);
  const isKept = (name: string, value: unknown): boolean => {
    if (isNames || isRecord(value)) return true;
    return !['description', 'format'].includes(name) && !(name === 'type' && isScalar && isNullable(value));
  };
  const parts = Object.entries(schema).flatMap(([name, value]) => {
    const isInner = !isNames && (name === 'properties' || name === '$defs');
    return isKept(name, value) ? [[name, shortened(value, isInner)]] : [];
  });
  return Object.fromEntries(parts);
}

function isNullable(type: unknown): boolean {
  return Array.isArray(type) && type.includes('null');
}
