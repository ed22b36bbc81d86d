import { z } from 'zod';
import type { Fields } from '../contract/fields.ts';
import type { Parameter } from '../contract/parameters.ts';
import { nameOpenParameters, servedName } from '../contract/query.ts';
import type { ResourceDeclaration } from '../contract/resource.ts';
import { answersOneObject } from './body.ts';

type Json = Record<string, unknown>;

/** Writes the OpenAPI 3.1 description of the declared endpoints. */
export function createOpenApi(
  declarations: readonly ResourceDeclaration[],
  baseUrl: string,
  unknownName: string | undefined,
): Json {
  const paths = declarations.map((declaration) => [declaration.path, { get: operation(declaration, unknownName) }]);
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

function operation(declaration: ResourceDeclaration, unknownName: string | undefined): Json {
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
      200: { description: 'The answer.', content: content(bodySchema(declaration)) },
      ...Object.fromEntries([400, 401, 403, 404, 429].map((status) => [status, refused])),
    },
  };
}

function parameterSchema(parameter: Parameter): Json {
  const standard = parameter.default === undefined ? {} : { default: parameter.default };
  switch (parameter.kind) {
    case 'day':
      return { type: 'string', format: 'date', ...standard };
    case 'uuid':
      return { type: 'string', format: 'uuid', ...standard };
    case 'choice':
      return { type: 'string', enum: parameter.values, ...standard };
    case 'flag':
      return { type: 'boolean', ...standard };
    case 'limit':
      return { type: 'integer', minimum: 1, maximum: parameter.max, ...standard };
    case 'text':
    case 'cursor':
      return { type: 'string', ...standard };
  }
}

function bodySchema(declaration: ResourceDeclaration): Json {
  // A form that the declaration has to guess at is not described as if it were known.
  const described = declaration.tables.filter((table) => table.normalize === undefined);
  const properties: Json = {};
  for (const table of described) {
    const item = itemSchema(table.fields);
    if (table.at === 'body') Object.assign(properties, item['properties']);
    else properties[table.at.list] = { type: 'array', items: item };
    if (table.beside !== undefined) Object.assign(properties, itemSchema(table.beside)['properties']);
  }
  if (declaration.paging === 'cursor') properties['nextCursor'] = { type: ['string', 'null'] };
  if (described.length === 0) return answersOneObject(declaration) ? {} : { description: 'A list.' };
  return { type: 'object', properties };
}

function itemSchema(fields: Fields): Json {
  const { $schema: _, ...schema } = z.toJSONSchema(z.looseObject(fields)) as Json;
  return schema;
}

function content(schema: Json): Json {
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
