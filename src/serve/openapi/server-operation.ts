import type { z } from 'zod';
import type { Refer } from '../../contract/json-schema.ts';
import { toJsonSchema } from '../../contract/operation/operation.ts';
import { MEDIA_TYPES } from '../http/content/negotiation.ts';
import type { ErrorResponses, OperationKind } from './error-responses.ts';
import { exampleOf } from './examples.ts';
import { headersOf, type Json } from './header-objects.ts';
import { ifNoneMatch } from './resource-operation.ts';

/** A GET operation outside the versioned API. */
export interface ServerOperation extends OperationKind {
  readonly name: string;
  readonly title: string;
  readonly about: string;
  readonly parameters?: readonly Json[];
  /** Schema of the JSON result; null for a Parquet file. */
  readonly output: z.ZodType | null;
  /** Name of the schema; default: from the name of the operation. */
  readonly schema?: string;
  /** Whether the result has an ETag, and the status may be 304. */
  readonly hasTag?: true;
  /** Whether the result is also available as a table. */
  readonly hasRows?: boolean;
  /** Whether requests count against the rate limit of the API, so that responses report it. */
  readonly isLimited?: true;
}

/** Parts of the document that its operations share. */
export interface ServerSurroundings {
  readonly refer: Refer;
  readonly errors: ErrorResponses;
  readonly rateLimit: number | null;
  /** URL of the server without a path. */
  readonly origin: string;
}

/** Returns the path items of operations with a common tag. */
export function serverPathItems(
  operations: Readonly<Record<string, ServerOperation>>,
  tag: string,
  surroundings: ServerSurroundings,
): Json {
  const { errors, origin } = surroundings;
  const servers = [{ url: origin, description: 'This server, outside the versioned API.' }];
  return Object.fromEntries(
    Object.entries(operations).map(([path, operation]) => {
      const { name, title, about, parameters = [], hasTag, isOpen } = operation;
      const get = {
        operationId: name,
        summary: title,
        description: about,
        parameters: [...parameters, ...(hasTag === true ? [ifNoneMatch] : [])],
        tags: [tag],
        ...(isOpen === true ? { security: [] } : {}),
        responses: { ...resultsOf(operation, surroundings), ...errors.responsesOf(operation) },
      };
      return [path, { servers, get }];
    }),
  );
}

function resultsOf(operation: ServerOperation, { refer, rateLimit }: ServerSurroundings): Json {
  const { hasTag, sendsRanges, isLimited, output } = operation;
  const headers = headersOf(isLimited === true ? rateLimit : null, hasTag === true ? ['ETag'] : []);
  const content =
    output === null ? { content: { [MEDIA_TYPES.parquet]: binary } } : jsonContent(operation, output, refer);
  return {
    200: { description: 'The result.', headers, ...content },
    ...(sendsRanges === true ? { 206: { description: 'The requested part of the file.', headers, ...content } } : {}),
    ...(hasTag === true ? { 304: { description: "The client's result is still current.", headers } } : {}),
  };
}

function jsonContent({ name, schema: given, hasRows }: ServerOperation, output: z.ZodType, refer: Refer): Json {
  const schema = toJsonSchema(output);
  const ofName = `${name.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())}Result`;
  const content = { [MEDIA_TYPES.json]: { schema: refer(given ?? ofName, schema), example: exampleOf(schema, '') } };
  return { content, ...(hasRows === true ? { 'x-media-types': rowTypes } : {}) };
}

const binary = { schema: { type: 'string', format: 'binary' } };
const { json: _, ...rowFormats } = MEDIA_TYPES;
const rowTypes = Object.fromEntries(Object.values(rowFormats).map((type) => [type, binary]));

/** A required parameter of the path. */
export function pathParameter(name: string, description: string, example: string): Json {
  return { name, in: 'path', required: true, description, schema: { type: 'string' }, example };
}
