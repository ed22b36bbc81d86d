import type { Json, JsonObject } from './exact-json.ts';

/** Returns the document with additional paths and schemas; other members replace those of the document. */
function extended(
  document: JsonObject,
  { paths = {}, schemas = {}, ...others }: Record<string, JsonObject>,
): JsonObject {
  const components = document['components'] as JsonObject;
  return {
    ...document,
    ...others,
    paths: { ...(document['paths'] as JsonObject), ...paths },
    components: { ...components, schemas: { ...(components['schemas'] as JsonObject), ...schemas } },
  };
}

function listOf(item: JsonObject, parameters: readonly Json[] = [], more: JsonObject = {}): JsonObject {
  const schema = { type: 'object', properties: { data: { type: 'array', items: item } } };
  return {
    get: { parameters, responses: { 200: { description: '', content: { 'application/json': { schema } } } }, ...more },
  };
}

const thing: JsonObject = { type: 'object', properties: { id: { type: 'string' } } };

function query(name: string, more: JsonObject = {}): JsonObject {
  return { name, in: 'query', required: true, schema: { type: 'string', enum: ['a', 'b'] }, ...more };
}

// A member with this name, which an object literal would take for the prototype.
function withProtoMember(value: Json): JsonObject {
  return JSON.parse(`{"__proto__":${JSON.stringify(value)}}`) as JsonObject;
}

/** References that lead back to themselves, in schemas, paths and parameters. */
export function withCycles(document: JsonObject): string {
  const reference = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });
  const deep = Array.from({ length: 30 }).reduce<JsonObject>(
    (inner) => ({ type: 'object', properties: { a: inner } }),
    thing,
  );
  return JSON.stringify(
    extended(document, {
      paths: {
        '/cycles/self': listOf(reference('Self')),
        '/cycles/ring': listOf(reference('RingA')),
        '/cycles/combined': listOf(reference('Combined')),
        '/cycles/tree': listOf(reference('Tree')),
        '/cycles/missing': listOf(reference('Missing')),
        '/cycles/deep': listOf(deep),
        '/cycles/path': { $ref: '#/paths/~1cycles~1path' },
        '/cycles/whole': { $ref: '#' },
        '/cycles/parameter': listOf(thing, [{ $ref: '#/paths/~1cycles~1parameter/get/parameters/0' }]),
        '/cycles/outside': listOf({ $ref: 'file:///etc/hostname' }),
      },
      schemas: {
        Self: reference('Self'),
        RingA: reference('RingB'),
        RingB: reference('RingA'),
        Combined: { allOf: [reference('Combined'), reference('Tree')], oneOf: [reference('Combined')] },
        Tree: {
          type: 'object',
          properties: {
            id: { type: 'string' },
            children: { type: 'array', items: reference('Tree') },
            parent: reference('Tree'),
          },
        },
      },
    }),
  );
}

/** Names of members of JavaScript prototypes as paths, schemas, properties and parameters. */
export function withPrototypeNames(document: JsonObject): string {
  const names = ['constructor', 'toString', 'hasOwnProperty', 'valueOf'];
  const properties = { ...Object.fromEntries(names.map((name) => [name, { type: 'string' }])) };
  const polluting = withProtoMember({ type: 'object', properties: withProtoMember({ type: 'string' }) });
  const base = extended(document, {
    paths: {
      ...Object.fromEntries(names.map((name) => [`/${name}`, listOf({ type: 'object', properties })])),
      '/__proto__': listOf({ $ref: '#/components/schemas/__proto__' }),
      '/brands/{__proto__}/things': listOf(thing),
      '/prototype-parameters': listOf(
        thing,
        [...names, '__proto__'].map((name) => query(name)),
      ),
    },
    schemas: { ...Object.fromEntries(names.map((name) => [name, { type: 'object', properties }])) },
  });
  const text = JSON.stringify(base);
  return text.replace('"schemas":{', `"schemas":{${JSON.stringify(polluting).slice(1, -1)},`);
}

/** Paths that would leave the base URL, or that are no paths. */
export const dangerousPaths: readonly string[] = [
  '/../admin',
  '/brands/../../admin',
  '/%2e%2e/admin',
  '/..%2fadmin',
  '//elsewhere.invalid/things',
  '/\\elsewhere.invalid/things',
  'https://elsewhere.invalid/things',
  'no-slash',
  '',
  '/things?key=value',
  '/things#part',
  '/line\r\nX-Injected: yes',
  '/nul\u0000',
  '/unclosed/{brandId',
  '/brands/{}/things',
  `/${'long'.repeat(5_000)}`,
  '/./things',
  '/ space',
];

/** Dangerous paths, parameters with absurd names and forms, and addresses of other servers. */
export function withDangerousPaths(document: JsonObject, elsewhere: string): string {
  const servers = [{ url: elsewhere }];
  const absurd = ['x'.repeat(10_000), 'new\nline', 'a&b=c', 'list[]', 'ключ', '', 'api_key', 'key', 'authorization'];
  const kinds = ['header', 'cookie', 'path', 'body', 'nowhere'];
  const numbers = Array.from({ length: 5_000 }, (_, index) => query(`p${index}`));
  const wide = { type: 'string', enum: Array.from({ length: 10_000 }, (_, index) => `value ${index}`) };
  return JSON.stringify(
    extended(document, {
      servers: servers as unknown as JsonObject,
      paths: {
        ...Object.fromEntries(dangerousPaths.map((path) => [path, listOf(thing)])),
        ...Object.fromEntries(absurd.map((name, index) => [`/absurd-${index}`, listOf(thing, [query(name)])])),
        ...Object.fromEntries(kinds.map((kind) => [`/in-${kind}`, listOf(thing, [query('name', { in: kind })])])),
        '/many-parameters': listOf(thing, numbers),
        '/wide-enum': listOf(thing, [query('value', { schema: wide })]),
        '/other-server': { servers, ...listOf(thing, [], { servers }) },
        '/references-elsewhere': listOf({ $ref: `${elsewhere}/schema.json#/Thing` }),
        '/wrong/forms': { get: 'text', parameters: 7, post: null },
        '/wrong/responses': { get: { responses: [1, 2], parameters: { a: 1 } } },
        '/wrong/null': null,
      },
    }),
  );
}

/** Bodies that are no OpenAPI document. */
export const brokenDocuments: Readonly<Record<string, string>> = {
  'an empty body': '',
  'a web page': '<!doctype html><title>Sign in</title>',
  'a cut document': '{"openapi":"3.1.0","paths":{"/brands":',
  'a list': '[1,2,3]',
  'paths that are a list': '{"openapi":"3.1.0","paths":[{"get":{}}]}',
  'nesting 200,000 levels deep': `${'['.repeat(200_000)}${']'.repeat(200_000)}`,
};
