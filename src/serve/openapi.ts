import { VERSION } from '../base/version.ts';
import { type Catalogue, providerOf, type Resource } from '../contract/catalogue.ts';
import { bodySchema, type JsonSchema, parameterSchema, type Refer } from '../contract/json-schema.ts';
import type { Parameter } from '../contract/parameters.ts';
import { type ServedNames, servedName } from '../contract/query.ts';
import { RANGE_DAYS_MAX } from '../contract/time.ts';
import { MEDIA_TYPES } from './http/negotiation.ts';
import { errorResponses, errorSchema } from './openapi/errors.ts';
import { exampleAnswer, exampleOf } from './openapi/examples.ts';
import { answerHeaders, headerComponents, type Json } from './openapi/headers.ts';

/** What a document is written from. */
export interface OpenApiOptions {
  readonly catalogue: Catalogue;
  /** Names of parameters that the specification leaves open, as they are served now. */
  readonly namesOf: (resource: Resource) => ServedNames;
  /** The address under which the paths are served. */
  readonly baseUrl: string;
  /** Requests a minute for each key; null where they are not limited. */
  readonly rateLimit: number | null;
}

/** The list that has a table's formats beside JSON. */
const LIST = 'data';

/** Writes the OpenAPI 3.1 description of every resource; equal options give equal bytes. */
export function createOpenApi(options: OpenApiOptions): Record<string, unknown> {
  const { catalogue, baseUrl, rateLimit } = options;
  const schemas: Record<string, JsonSchema> = { Error: errorSchema };
  const refer: Refer = (name, schema) => {
    schemas[name] = schema;
    return { $ref: `#/components/schemas/${name}` };
  };
  const responses = errorResponses(rateLimit);
  const paths = Object.fromEntries(
    catalogue.resources.map((resource) => [
      resource.path,
      { get: operation(options, resource, refer, Object.keys(responses)) },
    ]),
  );
  return {
    openapi: '3.1.0',
    info: {
      title: 'sightline',
      version: VERSION,
      summary: 'AI-visibility data of a workspace, answered from its copy.',
      description,
      license: { name: 'All rights reserved', identifier: 'LicenseRef-All-Rights-Reserved' },
    },
    servers: [{ url: baseUrl, description: 'This server.' }],
    security: [{ bearer: [] }, { apiKey: [] }],
    tags: tagsOf(catalogue),
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An API key, `gsk_…`.' },
        apiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'X-Api-Key',
          description: 'An API key, where the Authorization header cannot be set.',
        },
      },
      parameters: { ifNoneMatch },
      headers: headerComponents(rateLimit),
      responses: Object.fromEntries(Object.values(responses).map(({ name, response }) => [name, response])),
      schemas,
    },
  };
}

const description = [
  'The read API, answered from a copy of the workspace that sightline keeps.',
  '`X-Data-As-Of` and `X-Data-Coverage` say how fresh and how complete an answer is.',
  'All times are UTC, ISO 8601. Any field may be null, and there may be fields that are not described here.',
].join(' ');

const ifNoneMatch: Json = {
  name: 'If-None-Match',
  in: 'header',
  required: false,
  description: 'The ETag of an answer that the client has; if it still holds, the answer is 304 without a body.',
  schema: { type: 'string' },
};

function operation(options: OpenApiOptions, resource: Resource, refer: Refer, errors: readonly string[]): Json {
  const { catalogue, namesOf, rateLimit } = options;
  const names = namesOf(resource);
  const inQuery = Object.entries(resource.query).map(([name, parameter]) => ({
    name: servedName(name, parameter, names),
    in: 'query',
    required: false,
    description: parameter.about,
    schema: parameterSchema(parameter),
  }));
  const headers = answerHeaders(rateLimit, resource.paging === 'cursor');
  return {
    operationId: resource.tool,
    tags: [tagOf(resource)],
    summary: resource.about.replace(/\.$/, ''),
    description: describe(resource),
    parameters: [...pathParameters(catalogue, resource), ...inQuery, { $ref: '#/components/parameters/ifNoneMatch' }],
    responses: {
      200: { description: 'The answer.', headers, content: contentOf(catalogue, resource, refer) },
      304: { description: 'The answer that the client has still holds.', headers: answerHeaders(rateLimit, false) },
      ...Object.fromEntries(errors.map((status) => [status, { $ref: `#/components/responses/Error${status}` }])),
    },
  };
}

function contentOf(catalogue: Catalogue, resource: Resource, refer: Refer): Json {
  const { body, csv } = exampleAnswer(resource, catalogue.resources);
  const json = { schema: bodySchema(resource, catalogue.resources, refer), example: body };
  if (!resource.tables.some(({ at }) => at !== 'body' && at.list === LIST)) return { [MEDIA_TYPES.json]: json };
  const binary = { schema: { type: 'string', format: 'binary' } };
  return {
    [MEDIA_TYPES.json]: json,
    [MEDIA_TYPES.csv]: { schema: { type: 'string' }, example: csv },
    [MEDIA_TYPES.parquet]: binary,
    [MEDIA_TYPES.arrow]: binary,
  };
}

function pathParameters(catalogue: Catalogue, resource: Resource): Json[] {
  return [...resource.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    const lister = listerOf(catalogue, resource, name);
    const parameter: Parameter = { kind: 'uuid', about: `An id that \`${lister.path}\` lists.` };
    const schema = parameterSchema(parameter);
    return {
      name,
      in: 'path',
      required: true,
      description: parameter.about,
      schema,
      example: exampleOf(schema, name),
    };
  });
}

function listerOf(catalogue: Catalogue, { change }: Resource, parameter: string): Resource {
  if (change.kind === 'detail' && change.parameter === parameter) return catalogue.get(change.of);
  return providerOf(catalogue, 'brand');
}

function describe({ about, query, paging, order, tables }: Resource): string {
  const sentences = [about];
  if ('from' in query && 'to' in query) {
    sentences.push(`\`from\` and \`to\` are both included; a range covers at most ${RANGE_DAYS_MAX} days.`);
  }
  const fields = (order ?? []).map(
    (field) => `\`${field.replace(/^-/, '')}\`${field.startsWith('-') ? ', descending' : ''}`,
  );
  if (fields.length > 0) sentences.push(`Sorted by ${fields.join(', then ')}.`);
  if (paging === 'cursor') {
    sentences.push('Give `nextCursor` as `cursor`, and all other parameters as they were, to get the next page.');
  }
  if (tables.some(({ whole }) => whole !== undefined)) sentences.push('Served in the form in which upstream sends it.');
  return sentences.join(' ');
}

// Endpoints belong together by the first part of their path that is the same for all brands.
function tagOf({ path }: Resource): string {
  const parts = path.split('/').filter((part) => part !== '');
  const fixed = parts.filter((part) => !part.startsWith('{'));
  return (parts[1]?.startsWith('{') === true ? fixed[1] : undefined) ?? fixed[0] ?? 'api';
}

function tagsOf({ resources }: Catalogue): Json[] {
  const tags = new Map<string, string>();
  for (const resource of resources) {
    const tag = tagOf(resource);
    if (!tags.has(tag)) tags.set(tag, resource.about);
  }
  return [...tags].map(([name, about]) => ({ name, description: about }));
}
