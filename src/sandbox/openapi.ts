import { bodySchema, type JsonSchema, parameterSchema } from '../contract/json-schema.ts';
import { nameOpenParameters, servedName } from '../contract/query-parameters.ts';
import type { ResourceDeclaration } from '../contract/resource.ts';

type Json = Record<string, unknown>;

/** Returns the OpenAPI 3.1 description of the declared endpoints. */
export function createOpenApi(
  declarations: readonly ResourceDeclaration[],
  baseUrl: string,
  unknownName: string | undefined,
): Json {
  const paths = declarations.map((declaration) => [
    declaration.path,
    { get: operation(declaration, declarations, unknownName) },
  ]);
  return {
    openapi: '3.1.0',
    info: { title: 'Sandbox of the read API', version: 'v1' },
    servers: [{ url: baseUrl }],
    security: [{ bearer: [] }, { apiKey: [] }],
    paths: Object.fromEntries(paths),
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        apiKey: { type: 'apiKey', in: 'header', name: 'X-Api-Key' },
      },
      schemas: { Error: errorSchema() },
      responses: { Error: { description: 'Refused.', content: content({ $ref: '#/components/schemas/Error' }) } },
    },
  };
}

function operation(
  declaration: ResourceDeclaration,
  all: readonly ResourceDeclaration[],
  unknownName: string | undefined,
): Json {
  const inPath = [...declaration.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', format: 'uuid' },
  }));
  const inQuery = Object.entries(declaration.query).map(([name, parameter]) => ({
    name: servedName(name, parameter, nameOpenParameters(declaration.query, unknownName)),
    in: 'query',
    required: false,
    description: parameter.about,
    schema: parameterSchema(parameter),
  }));
  const refused = { $ref: '#/components/responses/Error' };
  return {
    operationId: declaration.name,
    summary: declaration.about,
    parameters: [...inPath, ...inQuery],
    responses: {
      200: { description: 'The response.', content: content(bodySchema(declaration, all)) },
      ...Object.fromEntries([400, 401, 403, 404, 429].map((status) => [status, refused])),
    },
  };
}

function content(schema: JsonSchema): Json {
  return { 'application/json': { schema } };
}

function errorSchema(): Json {
  const error = {
    type: 'object',
    properties: {
      code: { type: 'string' },
      message: { type: 'string' },
      requestId: { type: 'string', format: 'uuid' },
    },
    required: ['code', 'message', 'requestId'],
  };
  return { type: 'object', properties: { error }, required: ['error'] };
}
