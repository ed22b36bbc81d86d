import type { Tool as ToolDefinition } from '@modelcontextprotocol/server';
import type { Conventions } from '../../../analytics/calibration/conventions.ts';
import { isRecord } from '../../../base/json.ts';
import { type Catalogue, idKindOf, listerOf, type Resource } from '../../../contract/catalogue.ts';
import type { ServerTool } from '../../../contract/generic/server-tools.ts';
import { bodySchema, type JsonSchema, parameterSchema } from '../../../contract/json-schema.ts';
import type { Parameter } from '../../../contract/parameters.ts';
import { type ServedNames, servedName } from '../../../contract/query-parameters.ts';
import { NOTE } from '../result-note.ts';
import { describePathParameter, describeTool, sourceOf, titleOf } from './describe-tool.ts';
import { describeNumbers } from './numbers-text.ts';
import {
  listsOf,
  OWN_ARGUMENTS,
  type OwnArgument,
  pathParametersOf,
  type Tool,
  type ToolSet,
  type ToolShape,
  takesName,
} from './tool.ts';

/** Kinds of parameters without a description, because the description of the tool explains them. */
const UNDESCRIBED: readonly Parameter['kind'][] = ['limit', 'cursor'];

/** An argument that at least this many tools have is described once, in the instructions of the server. */
const COMMON_FROM = 4;

/** Returns the arguments that several tools have with the same meaning, by name. */
export function commonArguments({ resources }: Catalogue): ReadonlyMap<string, string> {
  const uses = new Map<string, number>();
  const all = resources.flatMap(({ query }) => Object.entries(query));
  for (const [name, { about }] of all) uses.set(`${name} ${about}`, (uses.get(`${name} ${about}`) ?? 0) + 1);
  const common = all.filter(([name, { about, kind }]) => {
    return !UNDESCRIBED.includes(kind) && (uses.get(`${name} ${about}`) ?? 0) >= COMMON_FROM;
  });
  return new Map(common.map(([name, { about }]) => [name, about]));
}

/** A read-only tool cannot be destructive, so the other hints are not needed. */
export const READ_ONLY = { readOnlyHint: true } as const;

/** Inputs from which tools are derived, besides the catalogue. */
export interface ToolParts {
  /** Returns the served names of parameters whose name the specification does not define. */
  readonly namesOf: (resource: Resource) => ServedNames;
  /** How numbers are written; null if unknown. */
  readonly conventions: Conventions | null;
  /** Names of the workspaces if each call has to name one, otherwise null. */
  readonly workspaces: readonly string[] | null;
  /** Whether the caller may read a resource. */
  readonly mayRead: (resource: Resource) => boolean;
}

/** Derives the tools of the resources that the caller may read. */
export function createTools(catalogue: Catalogue, parts: ToolParts): ToolSet {
  const tools = new Map<string, Tool>();
  for (const resource of catalogue.resources.filter(parts.mayRead)) {
    if (tools.has(resource.tool)) throw new TypeError(`two tools have the name ${resource.tool}`);
    tools.set(resource.tool, createTool(catalogue, resource, parts));
  }
  return tools;
}

function createTool(catalogue: Catalogue, resource: Resource, parts: ToolParts): Tool {
  const inPath = pathParametersOf(resource);
  const names = parts.namesOf(resource);
  // `skip` continues a complete list, so the parameters of upstream's pages are not needed.
  const inQuery = Object.entries(resource.query)
    .filter(([, { kind }]) => resource.generic !== true || (kind !== 'limit' && kind !== 'cursor'))
    .map(([name, parameter]) => ({ name: servedName(name, parameter, names), parameter }));
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

function define(catalogue: Catalogue, shape: ToolShape, { conventions }: ToolParts): ToolDefinition {
  const { resource } = shape;
  const title = titleOf(resource.tool);
  const numbers = conventions === null ? [] : describeNumbers(catalogue, resource, conventions);
  // The library types schemas as mutable JSON values, which readonly declarations are not.
  const definition: unknown = {
    name: resource.tool,
    title,
    description: describeTool(catalogue, shape, numbers),
    inputSchema: inputSchema(catalogue, shape),
    outputSchema: outputSchema(catalogue, resource),
    annotations: READ_ONLY,
  };
  return definition as ToolDefinition;
}

function inputSchema(catalogue: Catalogue, shape: ToolShape): JsonSchema {
  const { resource, inPath, inQuery, own } = shape;
  const common = commonArguments(catalogue);
  const properties: Record<string, JsonSchema> = {};
  if (own.includes('workspace')) properties['workspace'] = WORKSPACE_SCHEMA;
  for (const name of inPath) {
    const lister = listerOf(catalogue, resource, name);
    const description = describePathParameter(lister);
    const isUuid = idKindOf(lister) === 'uuid' && !takesName(lister);
    properties[name] = { type: 'string', ...(isUuid ? { format: 'uuid' } : {}), description };
  }
  for (const { name, parameter } of inQuery) {
    const { format, minLength: _, ...schema } = parameterSchema(parameter);
    const isName = takesName(sourceOf(catalogue, name, parameter));
    const isKnown = UNDESCRIBED.includes(parameter.kind) || common.get(name) === parameter.about;
    const about = isKnown ? {} : { description: parameter.about };
    properties[name] = { ...schema, ...(isName || format === undefined ? {} : { format }), ...about };
  }
  for (const name of own) if (name !== 'workspace') properties[name] = ownSchemas[name];
  const inRequired = inQuery.filter(({ parameter }) => parameter.required === true).map(({ name }) => name);
  const required = [...(own.includes('workspace') ? ['workspace'] : []), ...inPath, ...inRequired];
  return { type: 'object', properties, required, additionalProperties: false };
}

// The instructions of the server describe these arguments once for all tools, and errors state their bounds.
const ownSchemas: Readonly<Record<Exclude<OwnArgument, 'workspace'>, JsonSchema>> = {
  skip: { type: 'integer' },
  maxTokens: { type: 'integer' },
  plain: { type: 'boolean' },
};

/** Schema of the argument that names a workspace. The instructions of the server and the error for an unknown name list the names. */
export const WORKSPACE_SCHEMA = { type: 'string' } as const;

/** The definition of the tool that lists the workspaces. */
export const listWorkspaces = {
  name: 'list_workspaces' satisfies ServerTool,
  title: 'List workspaces',
  description: 'Names of the workspaces. Every other tool requires one as `workspace`.',
  inputSchema: { type: 'object' as const, properties: {}, additionalProperties: false },
  outputSchema: {
    type: 'object' as const,
    properties: { workspaces: { type: 'array', items: { type: 'string' } } },
    required: ['workspaces'],
  },
  annotations: READ_ONLY,
};

// A result must be an object: values of other forms, such as bare lists, are wrapped in `data`. The schema has only the members of the
// result; sightline://tool/{name} describes their fields.
function outputSchema(catalogue: Catalogue, resource: Resource): JsonSchema {
  const body = bodySchema(resource, catalogue.resources);
  const forms = Array.isArray(body['anyOf']) ? (body['anyOf'] as JsonSchema[]) : [body];
  const object = forms.find((form) => form['type'] === 'object') ?? body;
  const members = isRecord(object['properties']) ? Object.keys(object['properties']) : [];
  return { type: 'object', properties: Object.fromEntries([...members, NOTE].map((name) => [name, {}])) };
}
