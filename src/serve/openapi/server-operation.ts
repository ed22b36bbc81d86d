import type { JsonSchema } from '../../contract/json-schema.ts';
import { MEDIA_TYPES } from '../http/content/negotiation.ts';
import type { ErrorResponses, OperationKind } from './error-responses.ts';
import type { Json } from './header-objects.ts';

/** A GET operation outside the versioned API. */
export interface ServerOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly Json[];
  /** Successful responses by status. */
  readonly responses: Json;
  readonly kind: OperationKind;
}

/** Returns the path items of operations with a common tag. `origin` is the URL of the server without a path. */
export function serverPathItems(
  operations: Readonly<Record<string, ServerOperation>>,
  tag: string,
  { errors, origin }: { readonly errors: ErrorResponses; readonly origin: string },
): Json {
  const servers = [{ url: origin, description: 'This server, outside the versioned API.' }];
  return Object.fromEntries(
    Object.entries(operations).map(([path, { kind, responses, ...described }]) => {
      const security = kind.isOpen === true ? { security: [] } : {};
      const get = { ...described, tags: [tag], ...security, responses: { ...responses, ...errors.responsesOf(kind) } };
      return [path, { servers, get }];
    }),
  );
}

/** Schema of a text. */
export const text = { type: 'string' } as const;

/** A required parameter of the path. */
export function pathParameter(name: string, description: string, example: string): Json {
  return { name, in: 'path', required: true, description, schema: text, example };
}

/** Schema of an object; it may have further properties. */
export function object(
  properties: Record<string, JsonSchema>,
  description: string,
  required = Object.keys(properties),
): JsonSchema {
  return { type: 'object', description, properties, required, additionalProperties: true };
}

/** A response with a JSON body. */
export function json(description: string, headers: Json, schema: JsonSchema, example: unknown): Json {
  return { description, headers, content: { [MEDIA_TYPES.json]: { schema, example } } };
}
