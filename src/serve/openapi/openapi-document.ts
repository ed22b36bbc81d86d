import { VERSION } from '../../base/version.ts';
import type { Catalogue, Resource } from '../../contract/catalogue.ts';
import type { FieldWriters } from '../../contract/field-forms.ts';
import type { JsonSchema, Refer } from '../../contract/json-schema.ts';
import type { ServedNames } from '../../contract/query-parameters.ts';
import { BASE_PATH, ERRORS_PATH } from '../http/paths.ts';
import { DATA_TAG, dataOperationsByPath } from './data-paths.ts';
import { createErrorResponses, errorSchemas } from './error-responses.ts';
import { headerComponents, type Json } from './header-objects.ts';
import { parameterComponents, resourceOperation, tagOf } from './resource-operation.ts';
import { serverPathItems } from './server-operation.ts';
import { SERVER_TAG, serverOperations } from './server-paths.ts';

/** Input of the OpenAPI document. */
export interface OpenApiOptions {
  readonly catalogue: Catalogue;
  /** Returns the served names of parameters whose name the specification leaves open. */
  readonly namesOf: (resource: Resource) => ServedNames;
  /** Returns whether the body of a resource is served without the wrapper `data`. */
  readonly isBare: (resource: Resource) => boolean;
  /** Returns the writers of a resource's values; null until a replica was opened. */
  readonly writersOf: (resource: Resource) => FieldWriters | null;
  /** Base URL of the paths: absolute, or only the path. */
  readonly baseUrl: string;
  /** Requests per minute for each key; null if not limited. */
  readonly rateLimit: number | null;
  /** Whether the server has the data pages and so the paths of their data. */
  readonly hasData: boolean;
}

/** Returns the OpenAPI 3.1 description of every resource, the data of the pages, the snapshots and the probes; equal options give equal bytes. */
export function createOpenApi({
  catalogue,
  namesOf,
  isBare,
  writersOf,
  baseUrl,
  rateLimit,
  hasData,
}: OpenApiOptions): Record<string, unknown> {
  const schemas: Record<string, JsonSchema> = { ...errorSchemas };
  const refer: Refer = (name, schema) => {
    schemas[name] = schema;
    return { $ref: `#/components/schemas/${name}` };
  };
  const errors = createErrorResponses(rateLimit);
  const surroundings = { catalogue, namesOf, isBare, writersOf, rateLimit, refer, errors };
  const resourcePaths = catalogue.resources.map((resource) => [
    resource.path,
    { get: resourceOperation(surroundings, resource) },
  ]);
  const origin = baseUrl.slice(0, -BASE_PATH.length) || '/';
  const server = { refer, errors, rateLimit, origin };
  const paths = {
    ...Object.fromEntries(resourcePaths),
    ...(hasData ? serverPathItems(dataOperationsByPath(), DATA_TAG.name, server) : {}),
    ...serverPathItems(serverOperations(catalogue), SERVER_TAG.name, server),
  };
  return {
    openapi: '3.1.0',
    info: {
      title: 'sightline',
      version: VERSION,
      summary: 'AI-visibility data of a workspace, served from its local replica.',
      description,
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: baseUrl, description: 'This server.' }],
    security: [{ bearer: [] }, { apiKey: [] }],
    tags: [...tagsOf(catalogue), ...(hasData ? [DATA_TAG] : []), SERVER_TAG],
    paths,
    components: {
      securitySchemes,
      parameters: parameterComponents,
      headers: headerComponents(rateLimit),
      responses: errors.components,
      schemas,
    },
  };
}

const description = [
  'The read API, served from a local replica.',
  '`X-Data-As-Of` and `X-Data-Coverage` report the freshness and completeness of a response,',
  '`X-Sync-Progress` that a sync is bringing newer data. All times are UTC, ISO 8601.',
  '\n\nEvery described field is present. A field whose type includes null is null if upstream sent null or did not send the',
  'field, also if its description gives no reason, because the specification does not exclude it. Ids and other keys, the',
  'times by which responses are selected, and counts that this server computes are never null. Objects may have further',
  'fields: those that upstream sends but its specification does not describe.',
  '\n\nResponses with `x-media-types` are also available as tables: send one of these media types as `Accept`.',
  `\n\nError codes are explained in [the list of errors](${ERRORS_PATH}).`,
]
  .join(' ')
  .replaceAll(' \n', '\n')
  .replaceAll('\n ', '\n');

const securitySchemes: Json = {
  bearer: { type: 'http', scheme: 'bearer', description: 'An API key, `gsk_…`.' },
  apiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Api-Key',
    description: 'An API key, for clients that cannot set the Authorization header.',
  },
};

function tagsOf({ resources }: Catalogue): Json[] {
  const tags = new Map<string, string>();
  for (const resource of resources) {
    const tag = tagOf(resource);
    if (!tags.has(tag)) tags.set(tag, resource.about);
  }
  return [...tags].map(([name, about]) => ({ name, description: about }));
}
