import { VERSION } from '../../base/version.ts';
import { type Catalogue, providerOf, type Resource } from '../../contract/catalogue.ts';
import { bodySchema, type JsonSchema, parameterSchema, type Refer } from '../../contract/json-schema.ts';
import type { Parameter } from '../../contract/parameters.ts';
import { type ServedNames, servedName } from '../../contract/query-parameters.ts';
import { RANGE_DAYS_MAX } from '../../contract/time.ts';
import { MEDIA_TYPES } from '../http/content/negotiation.ts';
import { errorResponses, errorSchema } from './error-responses.ts';
import { exampleAnswer, exampleOf } from './examples.ts';
import { answerHeaders, headerComponents, type Json } from './header-objects.ts';

/** Input of the OpenAPI document. */
export interface OpenApiOptions {
  readonly catalogue: Catalogue;
  /** Returns the served names of parameters whose name the specification leaves open. */
  readonly namesOf: (resource: Resource) => ServedNames;
  /** Base URL of the paths. */
  readonly baseUrl: string;
  /** Requests per minute for each key; null if not limited. */
  readonly rateLimit: number | null;
}

/** Name of the list that is also available in the row formats. */
const LIST = 'data';

/** Returns the OpenAPI 3.1 description of every resource; equal options give equal bytes. */
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
      summary: 'AI-visibility data of a workspace, served from its local replica.',
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
          description: 'An API key, for clients that cannot set the Authorization header.',
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
  'The read API, served from a local replica.',
  '`X-Data-As-Of` and `X-Data-Coverage` report the freshness and completeness of a response,',
  '`X-Sync-Progress` that a sync is bringing newer data.',
  'All times are UTC, ISO 8601. Any field may be null, and there may be fields that are not described here.',
].join(' ');

const ifNoneMatch: Json = {
  name: 'If-None-Match',
  in: 'header',
  required: false,
  description: 'ETag of a response that the client has. If it is still current, the status is 304 without a body.',
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
      200: { description: 'The response.', headers, content: contentOf(catalogue, resource, refer) },
      304: { description: "The client's response is still current.", headers: answerHeaders(rateLimit, false) },
      ...Object.fromEntries(errors.map((status) => [status, { $ref: `#/components/responses/Error${status}` }])),
    },
  };
}

function contentOf(catalogue: Catalogue, resource: Resource, refer: Refer): Json {
  const { body, csv, ndjson } = exampleAnswer(resource, catalogue.resources);
  const json = { schema: bodySchema(resource, catalogue.resources, refer), example: body };
  if (!resource.tables.some(({ at }) => at !== 'body' && at.list === LIST)) return { [MEDIA_TYPES.json]: json };
  const binary = { schema: { type: 'string', format: 'binary' } };
  return {
    [MEDIA_TYPES.json]: json,
    [MEDIA_TYPES.csv]: { schema: { type: 'string' }, example: csv },
    [MEDIA_TYPES.parquet]: binary,
    [MEDIA_TYPES.arrow]: binary,
    [MEDIA_TYPES.ndjson]: { schema: { type: 'string' }, example: ndjson },
  };
}

function pathParameters(catalogue: Catalogue, resource: Resource): Json[] {
  return [...resource.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    const lister = listerOf(catalogue, resource, name);
    const parameter: Parameter = { kind: 'uuid', about: `An id listed by \`${lister.path}\`.` };
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
    sentences.push(`\`from\` and \`to\` are inclusive; a range covers at most ${RANGE_DAYS_MAX} days.`);
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

// Endpoints are grouped by the first path segment that is the same for all brands.
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
