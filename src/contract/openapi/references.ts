import { isRecord } from '../../base/json.ts';

/** Maximum number of references that lead to one value. */
const HOPS_MAX = 8;
const STEPS_MAX = 20;

/**
 * Follows the local references of an OpenAPI document (`#/components/...`) from a value to the value that has none. Returns null if
 * a reference leads nowhere, out of the document, or in a circle.
 */
export function resolveReference(document: unknown, value: unknown): unknown {
  let current = value;
  for (let hops = 0; hops < HOPS_MAX; hops++) {
    if (!isRecord(current) || !Object.hasOwn(current, '$ref')) return current;
    const reference = current['$ref'];
    if (typeof reference !== 'string' || !reference.startsWith('#/')) return null;
    const steps = reference.slice(2).split('/', STEPS_MAX);
    current = steps.reduce<unknown>((at, step) => memberOf(at, unescaped(step)), document);
  }
  return null;
}

/** Returns a member of an object; null if the value is not an object or does not have the member itself. */
export function memberOf(value: unknown, name: string): unknown {
  return isRecord(value) && Object.hasOwn(value, name) ? (value[name] ?? null) : null;
}

/** Path with `{}` for every parameter: `/brands/{id}/x` and `/brands/{brandId}/x/` are the same endpoint. */
export function shapeOfPath(path: string): string {
  return path.replace(/\{[^}]*\}/g, '{}').replace(/\/+$/, '');
}

function unescaped(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~');
}
