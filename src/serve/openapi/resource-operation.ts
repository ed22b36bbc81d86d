import { type Catalogue, idKindOf, listerOf, type Resource } from '../../contract/catalogue.ts';
import type { FieldWriters } from '../../contract/field-forms.ts';
import { tableListOf } from '../../contract/formats.ts';
import { bodySchema, parameterSchema, type Refer } from '../../contract/json-schema.ts';
import type { Parameter } from '../../contract/parameters.ts';
import { type ServedNames, servedName } from '../../contract/query-parameters.ts';
import { RANGE_DAYS_MAX } from '../../contract/time.ts';
import { MEDIA_TYPES } from '../http/content/negotiation.ts';
import type { ErrorResponses } from './error-responses.ts';
import { exampleAnswer, parameterExample } from './examples.ts';
import { DATA_HEADERS, headersOf, type Json, PAGE_HEADERS } from './header-objects.ts';

/** What the operations of a document share. */
export interface OperationSurroundings {
  readonly catalogue: Catalogue;
  readonly namesOf: (resource: Resource) => ServedNames;
  readonly isBare: (resource: Resource) => boolean;
  readonly writersOf: (resource: Resource) => FieldWriters | null;
  readonly rateLimit: number | null;
  readonly refer: Refer;
  readonly errors: ErrorResponses;
}

/** Parameters that several operations have. */
export const parameterComponents: Json = {
  ifNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    required: false,
    description: 'ETag of a response that the client has. If it is still current, the status is 304 without a body.',
    schema: { type: 'string' },
    example: '"6f1c1c5e0f6e4f0e-json"',
  },
};

/** Reference to the parameter If-None-Match. */
export const ifNoneMatch: Json = { $ref: '#/components/parameters/ifNoneMatch' };

/** Returns the operation that reads a resource. */
export function resourceOperation(surroundings: OperationSurroundings, resource: Resource): Json {
  const { catalogue, namesOf, rateLimit, errors } = surroundings;
  const names = namesOf(resource);
  const inQuery = Object.entries(resource.query).map(([name, parameter]) => ({
    name: servedName(name, parameter, names),
    in: 'query',
    required: parameter.required === true,
    description: parameter.about,
    schema: parameterSchema(parameter),
    ...parameterExample(name, parameter),
  }));
  const headers = headersOf(rateLimit, [...DATA_HEADERS, ...(resource.paging === 'cursor' ? PAGE_HEADERS : [])]);
  return {
    operationId: resource.tool,
    ...(resource.generic === true ? { 'x-sightline-generic': true } : {}),
    tags: [tagOf(resource)],
    summary: resource.about.replace(/\.$/, ''),
    description: describe(resource),
    parameters: [...pathParameters(catalogue, resource), ...inQuery, ifNoneMatch],
    responses: {
      200: { description: 'The response.', headers, ...contentOf(surroundings, resource) },
      304: { description: "The client's response is still current.", headers: headersOf(rateLimit, DATA_HEADERS) },
      ...errors.responsesOf({ reads: true, hasId: resource.path.includes('{') }),
    },
  };
}

/** Returns the tag of a resource: the first path segment that is the same for all brands. */
export function tagOf({ path }: Resource): string {
  const parts = path.split('/').filter((part) => part !== '');
  const fixed = parts.filter((part) => !part.startsWith('{'));
  return (parts[1]?.startsWith('{') === true ? fixed[1] : undefined) ?? fixed[0] ?? 'api';
}

// `content` has JSON only: from several media types, clients infer the union of their types. The others are an extension.
function contentOf({ catalogue, isBare, writersOf, refer }: OperationSurroundings, resource: Resource): Json {
  const writers = writersOf(resource);
  const served = { isBare: isBare(resource), ...(writers === null ? {} : { writers }) };
  const { body, csv, ndjson } = exampleAnswer(resource, catalogue.resources, served);
  const schema = bodySchema(resource, catalogue.resources, { refer, served });
  const content = { [MEDIA_TYPES.json]: { schema, example: body } };
  if (tableListOf(resource) === null) return { content };
  const { json: _, ...tables } = MEDIA_TYPES;
  const texts: Partial<Record<string, string>> = { csv, ndjson };
  const described = Object.entries(tables).map(([format, mediaType]) => {
    const example = texts[format];
    if (example === undefined) return [mediaType, { schema: { type: 'string', format: 'binary' } }];
    return [mediaType, { schema: { type: 'string' }, example }];
  });
  return { content, 'x-media-types': Object.fromEntries(described) };
}

function pathParameters(catalogue: Catalogue, resource: Resource): Json[] {
  return [...resource.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    const lister = listerOf(catalogue, resource, name);
    const kind = idKindOf(lister) === 'uuid' ? 'uuid' : 'text';
    const parameter: Parameter = { kind, about: `An id listed by \`${lister.path}\`.` };
    return {
      name,
      in: 'path',
      required: true,
      description: parameter.about,
      schema: parameterSchema(parameter),
      ...parameterExample(name, parameter),
    };
  });
}

function describe({ about, query, paging, order, tables, generic, rangeParameters }: Resource): string {
  const sentences = [about];
  if ('from' in query && 'to' in query) {
    const { from, to } = rangeParameters ?? { from: 'from', to: 'to' };
    const most = generic === true ? '' : `; a range covers at most ${RANGE_DAYS_MAX} days`;
    sentences.push(`\`${from}\` and \`${to}\` are inclusive${most}.`);
  }
  const fields = (order ?? []).map(
    (field) => `\`${field.replace(/^-/, '')}\`${field.startsWith('-') ? ', descending' : ''}`,
  );
  if (fields.length > 0) sentences.push(`Sorted by ${fields.join(', then ')}.`);
  if (paging === 'cursor') {
    sentences.push('To get the next page, pass `nextCursor` as `cursor` and leave all other parameters unchanged.');
    sentences.push('Without `limit`, the formats other than JSON contain all items.');
  }
  if (tables.some(({ whole }) => whole !== undefined)) sentences.push('Served in the form received from upstream.');
  return sentences.join(' ');
}
