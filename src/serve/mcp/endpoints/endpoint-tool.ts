import { z } from 'zod';
import { errorTable, SightlineError } from '../../../base/errors.ts';
import { isRecord, withDoubles } from '../../../base/json.ts';
import { type Catalogue, idKindOf, listerOf, type Resource } from '../../../contract/catalogue.ts';
import { bodySchema, type JsonSchema, parameterSchema } from '../../../contract/json-schema.ts';
import { membersOf } from '../../../contract/operation/operation.ts';
import { type InputMember, type InputMembers, onceOf, readInput } from '../../../contract/operation/read-input.ts';
import type { Parameter } from '../../../contract/parameters.ts';
import { type ServedNames, servedName } from '../../../contract/query-parameters.ts';
import type { Conventions } from '../../../metrics/calibration/conventions.ts';
import { type Content, RESULT_TOKENS, toContent, type ToolOutput } from '../tool-result.ts';
import type { Tool, ToolContext } from '../tool.ts';
import { askByName, unknownIds } from './argument-names.ts';
import { describePathParameter, describeTool, sourceOf, titleOf } from './describe-tool.ts';
import { type EndpointShape, listsOf, pathParametersOf, takesName } from './endpoint-shape.ts';
import { describeNumbers } from './numbers-text.ts';

/** Kinds of parameters without a description, because the description of the tool explains them. */
const UNDESCRIBED: readonly Parameter['kind'][] = ['limit', 'cursor'];

/** An argument that at least this many endpoints have is described once, in the instructions of the server. */
const COMMON_FROM = 4;

/** Returns the arguments that several endpoints have with the same meaning, by name. */
export function commonArguments({ resources }: Catalogue): ReadonlyMap<string, string> {
  const uses = new Map<string, number>();
  const all = resources.flatMap(({ query }) => Object.entries(query));
  for (const [name, { about }] of all) uses.set(`${name} ${about}`, (uses.get(`${name} ${about}`) ?? 0) + 1);
  const common = all.filter(([name, { about, kind }]) => {
    return !UNDESCRIBED.includes(kind) && (uses.get(`${name} ${about}`) ?? 0) >= COMMON_FROM;
  });
  return new Map(common.map(([name, { about }]) => [name, about]));
}

/** Maximum number of rows that can be skipped. */
const SKIP_MAX = 10_000_000;

/** The arguments that REST does not have. */
const ownMembers = membersOf(
  z.object({
    skip: z.int().min(0).max(SKIP_MAX).default(0),
    maxTokens: z.int().min(RESULT_TOKENS.least).max(RESULT_TOKENS.most).optional(),
    plain: z.boolean().default(false),
  }),
);

/** Inputs of endpoint tools in addition to the catalogue. */
export interface EndpointParts {
  /** Returns the served names of parameters that the specification does not name. */
  readonly namesOf: (resource: Resource) => ServedNames;
  /** How numbers are written; null if unknown. */
  readonly conventions: Conventions | null;
  /** Whether the caller may read a resource. */
  readonly mayRead: (resource: Resource) => boolean;
}

/** The tool of an endpoint. */
export interface EndpointTool extends Tool {
  readonly resource: Resource;
}

/** Derives the tools of the resources that the caller may read. */
export function endpointTools(catalogue: Catalogue, parts: EndpointParts): EndpointTool[] {
  return catalogue.resources.filter(parts.mayRead).map((resource) => endpointTool(catalogue, resource, parts));
}

function endpointTool(catalogue: Catalogue, resource: Resource, { namesOf, conventions }: EndpointParts): EndpointTool {
  const names = namesOf(resource);
  // `skip` continues a complete list, so the parameters of upstream's pages are not needed.
  const inQuery = Object.entries(resource.query)
    .filter(([, { kind }]) => resource.generic !== true || (kind !== 'limit' && kind !== 'cursor'))
    .map(([name, parameter]) => ({ name: servedName(name, parameter, names), parameter }));
  const shape = { resource, inPath: pathParametersOf(resource), inQuery };
  const own = ownMembersOf(shape);
  const numbers = conventions === null ? [] : describeNumbers(catalogue, resource, conventions);
  return {
    name: resource.tool,
    title: titleOf(resource.tool),
    about: describeTool(catalogue, shape, numbers),
    scope: 'read',
    members: { ...apiMembers(catalogue, shape), ...own },
    size: own['maxTokens'] === undefined ? null : 'maxTokens',
    results: resultMembers(catalogue, resource),
    resource,
    run: (context, given) => run(shape, own, context, given),
    advise: ({ code, hint }) => {
      if (code !== 'not_found') return null;
      const sources = shape.inPath.map((name) => `${name} from ${listerOf(catalogue, resource, name).tool}`);
      // The hint of the error table is for operators of a sync.
      const first = hint === errorTable.not_found.hint ? '' : `${hint} `;
      return sources.length === 0 ? 'Unknown resource.' : `${first}Take ${sources.join(', ')}.`;
    },
  };
}

// A list that is not paged is continued with `skip`. A single value is never long.
function ownMembersOf({ resource, inQuery }: EndpointShape): InputMembers {
  const hasList = listsOf(resource).length > 0;
  const has: Readonly<Record<string, boolean>> = {
    skip: resource.paging === 'single' && hasList,
    maxTokens: resource.change.kind !== 'value',
    plain: hasList,
  };
  const isFree = (name: string): boolean => inQuery.every((served) => served.name !== name);
  return Object.fromEntries(Object.entries(ownMembers).filter(([name]) => has[name] === true && isFree(name)));
}

// The arguments that REST has, as in its description. REST checks them.
function apiMembers(catalogue: Catalogue, { resource, inPath, inQuery }: EndpointShape): InputMembers {
  const common = commonArguments(catalogue);
  const members: Record<string, InputMember> = {};
  for (const name of inPath) {
    const lister = listerOf(catalogue, resource, name);
    const isUuid = idKindOf(lister) === 'uuid' && !takesName(lister);
    const description = describePathParameter(lister);
    members[name] = { type: 'string', ...(isUuid ? { format: 'uuid' } : {}), description, isRequired: true };
  }
  for (const { name, parameter } of inQuery) {
    const { format, minLength: _, ...schema } = parameterSchema(parameter) as Readonly<JsonSchema & InputMember>;
    const isName = takesName(sourceOf(catalogue, name, parameter));
    const isKnown = UNDESCRIBED.includes(parameter.kind) || common.get(name) === parameter.about;
    members[name] = {
      ...schema,
      ...(isName || format === undefined ? {} : { format }),
      ...(isKnown ? {} : { description: parameter.about }),
      ...(parameter.required === true ? { isRequired: true } : {}),
    };
  }
  return members;
}

/**
 * Requests the resource like REST. The content equals the body of the REST response, except that a body that is a list or a value is wrapped
 * in `data`, and that lists become tables unless `plain` is set.
 */
async function run(
  shape: EndpointShape,
  own: InputMembers,
  { workspace: { service }, workspaceName, signal }: ToolContext,
  all: URLSearchParams,
): Promise<ToolOutput> {
  const { resource, inQuery } = shape;
  const { skip = 0, plain } = readInput(own, all) as { readonly skip?: number; readonly plain?: boolean };
  const asked = { path: pathOf(shape, all), given: restOf(shape, own, all) };
  const { question, input } = await askByName(service, shape, asked, signal);
  const read = async (rowsMax?: number): Promise<Content> =>
    toContent(withDoubles((await question.answer(signal, rowsMax)).body));
  const content = await read();
  const cursor = inQuery.find(({ parameter: { kind } }) => kind === 'cursor')?.name;
  const conventions = workspaceName === null ? null : service.conventions();
  const numbers =
    conventions === null ? [] : describeNumbers(service.catalogue, resource, conventions, service.doubts());
  return {
    content,
    lists: service.isBare(resource) ? ['data'] : listsOf(resource),
    form: plain === true ? 'objects' : 'shortest',
    skip,
    ...(resource.paging === 'cursor' ? { reread: read } : {}),
    cursor,
    next: (shown) => nextSteps(shape, own, shown),
    address: resource.path.replace(/\{(\w+)\}/g, (_, name: string) => input.path[name] ?? ''),
    asOf: question.asOf === null ? null : new Date(question.asOf).toISOString(),
    isPartial: question.partial,
    remarks: [...numbers, ...(await unknownIds(service, shape, input, signal))],
  };
}

function pathOf({ inPath }: EndpointShape, all: URLSearchParams): Record<string, string> {
  const path: Record<string, string> = {};
  for (const name of inPath) {
    const value = onceOf(all, name);
    if (value === null) throw new SightlineError('invalid_parameter', `${name} is missing; allowed: a UUID`);
    path[name] = value;
  }
  return path;
}

function restOf({ inPath }: EndpointShape, own: InputMembers, all: URLSearchParams): URLSearchParams {
  return new URLSearchParams([...all].filter(([name]) => !inPath.includes(name) && !Object.hasOwn(own, name)));
}

function nextSteps({ inQuery }: EndpointShape, own: InputMembers, shown: number): string[] {
  const narrowing = inQuery.filter(({ parameter: { kind } }) => kind !== 'limit' && kind !== 'cursor');
  return [
    ...(own['skip'] === undefined ? [] : [`call again with skip=${shown} and all other arguments unchanged`]),
    ...(own['maxTokens'] === undefined ? [] : ['allow more with maxTokens']),
    ...(narrowing.length === 0 ? [] : [`ask for less with ${narrowing.map(({ name }) => name).join(', ')}`]),
  ];
}

// A result must be an object: values of other forms, such as bare lists, are wrapped in `data`.
function resultMembers(catalogue: Catalogue, resource: Resource): string[] {
  const body = bodySchema(resource, catalogue.resources);
  const forms = Array.isArray(body['anyOf']) ? (body['anyOf'] as JsonSchema[]) : [body];
  const object = forms.find((form) => form['type'] === 'object') ?? body;
  return isRecord(object['properties']) ? Object.keys(object['properties']) : [];
}
