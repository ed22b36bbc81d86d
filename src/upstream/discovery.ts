import type { Resource } from '../contract/catalogue.ts';
import { type DocumentEndpoint, isPlainName, readEndpoints } from '../contract/openapi/document-endpoints.ts';
import { shapeOfPath } from '../contract/openapi/references.ts';

/** Path of upstream's OpenAPI document, relative to the base URL. */
export const OPENAPI_PATH = '/openapi.json';

/**
 * Finds the actual names of parameters with `nameUnknown` in upstream's OpenAPI document. Returns a map from resource to
 * declared name to actual name. A parameter is recognized by its endpoint and its set of values.
 */
export function learnParameterNames(
  resources: readonly Resource[],
  document: unknown,
): ReadonlyMap<string, Readonly<Record<string, string>>> {
  const { endpoints } = readEndpoints(document);
  const learned = new Map<string, Record<string, string>>();
  for (const resource of resources) {
    for (const [declared, parameter] of Object.entries(resource.query)) {
      if (parameter.nameUnknown !== true || parameter.values === undefined) continue;
      const name = findByValues(endpoints, resource.path, parameter.values);
      // Ignore a name that another declared parameter has.
      if (name !== null && (name === declared || resource.query[name] === undefined))
        learned.set(resource.name, { ...learned.get(resource.name), [declared]: name });
    }
  }
  return learned;
}

function findByValues(endpoints: readonly DocumentEndpoint[], path: string, values: readonly string[]): string | null {
  const wanted = shapeOfPath(path);
  const found = endpoints
    .filter(({ shape }) => shape.endsWith(wanted))
    .flatMap(({ parameters }) => parameters)
    .find(({ name, in: place, schema }) => place === 'query' && isPlainName(name) && sameSet(schema.values, values));
  return found?.name ?? null;
}

function sameSet(actual: readonly string[] | null, expected: readonly string[]): boolean {
  return actual !== null && actual.length === expected.length && expected.every((value) => actual.includes(value));
}
