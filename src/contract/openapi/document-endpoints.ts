import { isRecord } from '../../base/json.ts';
import { memberOf, resolveReference, shapeOfPath } from './references.ts';
import { aboutOf, readSchema, type SchemaForm } from './schema-form.ts';

/** Maximum number of endpoints and parameters that are read, and maximum length of a path. */
const ENDPOINTS_MAX = 5_000;
const PARAMETERS_MAX = 200;
const PATH_CHARACTERS_MAX = 500;
/** Paths that can be part of a URL as they are: no empty segments, no `.` and `..`, nothing encoded. */
const PLAIN_PATH = /^(?:\/(?!\.\.?(?:\/|$))(?:[A-Za-z0-9._-]+|\{[A-Za-z_]\w{0,63}\}))+$/;
const PARAMETER_NAME = /^[A-Za-z_][\w.-]{0,63}$/;
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;
/** JSON documents that do not end, or that are not lists of the API. */
const STREAMING_TYPE = /ndjson|jsonl|json-seq|stream/i;

/** A parameter of an endpoint in the document. */
export interface DocumentParameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header' | 'cookie';
  readonly required: boolean;
  readonly about: string | null;
  readonly schema: SchemaForm;
}

/** An endpoint of an OpenAPI document that is read with GET. */
export interface DocumentEndpoint {
  /** Path below the base URL, with parameters in braces. */
  readonly path: string;
  /** Path with `{}` for every parameter. */
  readonly shape: string;
  readonly about: string | null;
  readonly parameters: readonly DocumentParameter[];
  /** Reason why requests to the endpoint are impossible, whatever their parameters; null if they are possible. */
  readonly problem: string | null;
  /** Reads the schema of the JSON body; unknown if the document does not describe it. */
  response(): SchemaForm;
}

/** The endpoints of a document. */
export interface DocumentEndpoints {
  readonly endpoints: readonly DocumentEndpoint[];
  /** Number of paths beyond the limit, or with more than 500 characters. They are ignored. */
  readonly ignored: number;
}

/**
 * Reads the GET endpoints of an OpenAPI document, 3.0 or 3.1. `basePath` is the path of the base URL, such as `/v1`: documents may
 * repeat it in their paths. Malformed parts are skipped. Never throws.
 */
export function readEndpoints(document: unknown, basePath = ''): DocumentEndpoints {
  const paths = memberOf(document, 'paths');
  if (!isRecord(paths)) return { endpoints: [], ignored: 0 };
  const endpoints = new Map<string, DocumentEndpoint>();
  let ignored = 0;
  for (const [given, value] of Object.entries(paths)) {
    if (given.length > PATH_CHARACTERS_MAX || endpoints.size >= ENDPOINTS_MAX) {
      ignored += 1;
      continue;
    }
    const item = resolveReference(document, value);
    const operation = resolveReference(document, memberOf(item, 'get'));
    if (!isRecord(operation)) continue;
    const path = belowBase(given, basePath);
    const endpoint = readEndpoint(document, path, item, operation);
    if (!endpoints.has(endpoint.shape)) endpoints.set(endpoint.shape, endpoint);
  }
  return { endpoints: [...endpoints.values()], ignored };
}

function readEndpoint(
  document: unknown,
  path: string,
  item: unknown,
  operation: Record<string, unknown>,
): DocumentEndpoint {
  const success = successOf(document, operation);
  const content = contentOf(success);
  const problem = PLAIN_PATH.test(path) ? content.problem : 'the path has characters that cannot be sent as they are';
  return {
    path,
    shape: shapeOfPath(path),
    about: aboutOf(operation) ?? aboutOf(item),
    parameters: readParameters(document, path, [item, operation]),
    problem,
    response: () => readSchema(document, content.schema),
  };
}

function belowBase(path: string, basePath: string): string {
  const below = basePath !== '' && path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : path;
  return below.length > 1 ? below.replace(/\/+$/, '') : below;
}

// Parameters of the operation replace those of its path.
function readParameters(document: unknown, path: string, owners: readonly unknown[]): DocumentParameter[] {
  const found = new Map<string, DocumentParameter>();
  for (const owner of owners) {
    const list = memberOf(owner, 'parameters');
    for (const entry of Array.isArray(list) ? list.slice(0, PARAMETERS_MAX) : []) {
      const parameter = readParameter(document, entry);
      if (parameter !== null) found.set(`${parameter.in} ${parameter.name}`, parameter);
    }
  }
  // A parameter of the path may be missing in the list.
  for (const [, name = ''] of path.matchAll(/\{(\w+)\}/g)) {
    const missing = { name, in: 'path', required: true, about: null, schema: readSchema(document, null) } as const;
    if (!found.has(`path ${name}`)) found.set(`path ${name}`, missing);
  }
  return [...found.values()];
}

function readParameter(document: unknown, entry: unknown): DocumentParameter | null {
  const node = resolveReference(document, entry);
  const [name, place] = [memberOf(node, 'name'), memberOf(node, 'in')];
  if (typeof name !== 'string') return null;
  if (place !== 'path' && place !== 'query' && place !== 'header' && place !== 'cookie') return null;
  return {
    name,
    in: place,
    required: place === 'path' || memberOf(node, 'required') === true,
    about: aboutOf(node),
    schema: readSchema(document, memberOf(node, 'schema')),
  };
}

function successOf(document: unknown, { responses }: Record<string, unknown>): unknown {
  const found = ['200', '2XX', '2xx', 'default']
    .map((status) => memberOf(responses, status))
    .find((one) => one !== null);
  return resolveReference(document, found ?? null);
}

function contentOf(success: unknown): { readonly problem: string | null; readonly schema: unknown } {
  const content = memberOf(success, 'content');
  const types = isRecord(content) ? Object.keys(content).slice(0, PARAMETERS_MAX) : [];
  const json = types.find((type) => JSON_TYPE.test(type) && !STREAMING_TYPE.test(type));
  if (json !== undefined) return { problem: null, schema: memberOf(memberOf(content, json), 'schema') };
  const [first] = types;
  const found =
    first === undefined ? 'the document describes no JSON response' : `the response is ${first.slice(0, 80)}, not JSON`;
  return { problem: found, schema: null };
}

/** Whether a name of a parameter can be sent and printed as it is. */
export function isPlainName(name: string): boolean {
  return PARAMETER_NAME.test(name);
}
