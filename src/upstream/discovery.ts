import { isRecord } from '../base/json.ts';
import type { Resource } from '../contract/catalogue.ts';

/** Path of upstream's OpenAPI document, relative to the base URL. */
export const OPENAPI_PATH = '/openapi.json';

/** Maximum number of paths and parameters that are read, and maximum length of a path. */
const PATHS_MAX = 5_000;
const PARAMETERS_MAX = 200;
const PATH_CHARACTERS_MAX = 500;
/** Allowed names of query parameters. */
const NAME = /^[A-Za-z_][\w.-]{0,63}$/;

/**
 * Finds the actual names of parameters with `nameUnknown` in upstream's OpenAPI document. Returns a map from resource to
 * declared name to actual name. A parameter is recognized by its endpoint and its set of values.
 */
export function learnParameterNames(
  resources: readonly Resource[],
  document: unknown,
): ReadonlyMap<string, Readonly<Record<string, string>>> {
  const learned = new Map<string, Record<string, string>>();
  for (const resource of resources) {
    for (const [declared, parameter] of Object.entries(resource.query)) {
      if (parameter.nameUnknown !== true || parameter.values === undefined) continue;
      const name = findByValues(document, resource.path, parameter.values);
      // Ignore a name that another declared parameter has.
      if (name !== null && (name === declared || resource.query[name] === undefined))
        learned.set(resource.name, { ...learned.get(resource.name), [declared]: name });
    }
  }
  return learned;
}

function findByValues(document: unknown, path: string, values: readonly string[]): string | null {
  if (!isRecord(document) || !isRecord(document['paths'])) return null;
  const wanted = shapeOf(path);
  for (const [candidate, item] of Object.entries(document['paths']).slice(0, PATHS_MAX)) {
    if (candidate.length > PATH_CHARACTERS_MAX) continue;
    if (!shapeOf(candidate).endsWith(wanted)) continue;
    const node = resolve(document, item);
    const get = isRecord(node) ? resolve(document, node['get']) : null;
    const parameters = [isRecord(node) ? node['parameters'] : null, isRecord(get) ? get['parameters'] : null];
    for (const entry of parameters.flatMap((list) => (Array.isArray(list) ? list.slice(0, PARAMETERS_MAX) : []))) {
      const parameter = resolve(document, entry);
      if (!isRecord(parameter) || parameter['in'] !== 'query' || typeof parameter['name'] !== 'string') continue;
      if (!NAME.test(parameter['name'])) continue;
      const schema = resolve(document, parameter['schema']);
      if (isRecord(schema) && sameSet(schema['enum'], values)) return parameter['name'];
    }
  }
  return null;
}

// Path parameters may have any name: /brands/{id}/x and /brands/{brandId}/x are the same endpoint.
function shapeOf(path: string): string {
  return path.replace(/\{[^}]*\}/g, '{}').replace(/\/+$/, '');
}

// Follows up to 8 local references.
function resolve(document: Record<string, unknown>, node: unknown): unknown {
  let current = node;
  for (let hops = 0; hops < 8 && isRecord(current) && typeof current['$ref'] === 'string'; hops++) {
    const steps = current['$ref'].replace(/^#\//, '').split('/');
    current = steps.reduce<unknown>(
      (at, step) => (isRecord(at) ? at[step.replaceAll('~1', '/').replaceAll('~0', '~')] : null),
      document,
    );
  }
  return current;
}

function sameSet(actual: unknown, expected: readonly string[]): boolean {
  return (
    Array.isArray(actual) && actual.length === expected.length && expected.every((value) => actual.includes(value))
  );
}
