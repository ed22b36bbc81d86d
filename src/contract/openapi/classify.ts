import type { Resource } from '../catalogue.ts';
import { type DocumentEndpoint, type DocumentParameter, isPlainName } from './document-endpoints.ts';
import { findPageParameters, isSizeName } from './page-parameters.ts';
import { shapeOfPath } from './references.ts';

/** Maximum number of values of a required parameter: a request is sent with each of them. */
export const VALUES_MAX = 8;
/** Maximum number of required query parameters. */
const REQUIRED_MAX = 20;
/** Maximum number of path parameters. */
const PARENTS_MAX = 4;

/** Names of parameters that select a range of days. */
export const RANGE_STARTS = ['from', 'since', 'start', 'startdate', 'datefrom', 'fromdate', 'after'];
export const RANGE_ENDS = ['to', 'until', 'end', 'enddate', 'dateto', 'todate', 'before'];
/** Paths of upstream that are not data of the API. */
const NOT_DATA = ['/openapi.json', '/mcp', '/docs'];

/**
 * `declared`: a declaration covers the endpoint. `available`: all of its parameters have known values. `unsupported`: it cannot be
 * read, for the given reason.
 */
export type EndpointState = 'declared' | 'available' | 'unsupported';

/** An endpoint of upstream's document and whether it can be read. */
export interface ClassifiedEndpoint {
  readonly endpoint: DocumentEndpoint;
  readonly state: EndpointState;
  /** Reason of `unsupported`; null otherwise. */
  readonly reason: string | null;
  /** Name of the declared resource; null if there is none. */
  readonly resource: string | null;
}

/** Classifies the endpoints of upstream's document by the declared resources. */
export function classifyEndpoints(
  endpoints: readonly DocumentEndpoint[],
  resources: readonly Resource[],
): ClassifiedEndpoint[] {
  const declared = new Map(resources.map((resource) => [shapeOfPath(resource.path), resource]));
  const byShape = new Map(endpoints.map((endpoint) => [endpoint.shape, endpoint]));
  const classified = new Map<string, ClassifiedEndpoint>();
  const isReadable = (shape: string): boolean => {
    const resource = declared.get(shape);
    if (resource !== undefined) return resource.change.kind !== 'detail' && resource.change.kind !== 'report';
    const endpoint = byShape.get(shape);
    return endpoint !== undefined && classify(endpoint).state === 'available';
  };
  // A parent has fewer parameters than the endpoint, so this ends.
  const classify = (endpoint: DocumentEndpoint): ClassifiedEndpoint => {
    const known = classified.get(endpoint.shape);
    if (known !== undefined) return known;
    const resource = declared.get(endpoint.shape);
    const reason = resource === undefined ? problemOf(endpoint, isReadable) : null;
    const state = resource !== undefined ? 'declared' : reason === null ? 'available' : 'unsupported';
    const result: ClassifiedEndpoint = { endpoint, state, reason, resource: resource?.name ?? null };
    classified.set(endpoint.shape, result);
    return result;
  };
  return endpoints.map(classify);
}

function problemOf(endpoint: DocumentEndpoint, isReadable: (shape: string) => boolean): string | null {
  const { path, parameters, problem } = endpoint;
  if (problem !== null) return problem;
  if (NOT_DATA.some((one) => path === one || path.startsWith(`${one}/`))) return 'it is not data of the API';
  const { types } = endpoint.response();
  if (types.size > 0 && !types.has('object') && !types.has('array')) {
    return `the response is of type ${[...types].join(' or ')}; allowed: object or array`;
  }
  const pages = findPageParameters(parameters);
  if (pages.number !== undefined && pages.cursor === undefined)
    return `${pages.number.name} selects its pages; allowed: a cursor`;
  const required = parameters.filter((parameter) => parameter.required && parameter.in !== 'path');
  if (required.length > REQUIRED_MAX)
    return `the endpoint requires ${required.length} parameters; allowed: up to ${REQUIRED_MAX}`;
  const parameter = required.find((one) => !hasValues(one));
  if (parameter !== undefined) return problemOfParameter(parameter);
  return problemOfParents(path, isReadable);
}

function problemOfParents(path: string, isReadable: (shape: string) => boolean): string | null {
  const names = [...path.matchAll(/\/\{(\w+)\}/g)];
  if (names.length > PARENTS_MAX) return `the path has ${names.length} parameters; allowed: up to ${PARENTS_MAX}`;
  for (const { 1: name, index } of names) {
    const list = path.slice(0, index);
    if (list === '' || list.endsWith('}') || !isReadable(shapeOfPath(list)))
      return `no list of the API has the values of the path parameter ${name}`;
  }
  return null;
}

function problemOfParameter({ name, in: place, schema }: DocumentParameter): string {
  const shown = isPlainName(name) ? name : JSON.stringify(name.slice(0, 40));
  if (place !== 'query') return `the required ${place} parameter ${shown} is not supported`;
  const count = schema.values?.length ?? 0;
  const why = count > VALUES_MAX ? `has ${count} values; allowed: up to ${VALUES_MAX}` : 'has no known values';
  return `the required parameter ${shown} ${why}`;
}

// Whether a required parameter has values that can be requested completely.
function hasValues({ name, in: place, schema }: DocumentParameter): boolean {
  if (place !== 'query' || !isPlainName(name)) return false;
  if (schema.standard !== null || schema.types.has('boolean')) return true;
  if (schema.values !== null) return schema.values.length > 0 && schema.values.length <= VALUES_MAX;
  const plain = name.toLowerCase().replace(/[_.-]/g, '');
  if (schema.types.has('integer') || schema.types.has('number')) return isSizeName(name);
  return RANGE_STARTS.includes(plain) || RANGE_ENDS.includes(plain);
}
