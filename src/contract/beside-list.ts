import { isRecord } from '../base/json.ts';
import type { ObservedForms } from './field-forms.ts';
import { isUuid } from './query-parameters.ts';
import type { ResourceDeclaration } from './resource.ts';

/** Forms of an undeclared member of a body beside its lists. Other forms are texts that every response has, after `TEXT`. */
const REPEATED = 'parameter';
const COUNT = 'items';
const VARIES = 'varies';
const TEXT = 'text ';
const PREFIX = 'beside ';

/** Longest text that is served, in characters. */
const TEXT_MAX = 100;

/**
 * An undeclared member beside the lists that sightline can serve: it repeats the parameter of the same name, it counts the items of a list
 * without pages, or it has the same text in every response, such as `"object": "list"`.
 */
export type BesideMember = { readonly name: string } & (
  | { readonly repeats: true }
  | { readonly counts: true }
  | { readonly text: string }
);

/** Creates the observer of undeclared members of bodies beside their lists. Other members are not served. */
export function createBesideReader(resource: ResourceDeclaration, forms: ObservedForms): (body: unknown) => void {
  if (resource.tables.some(({ at }) => at === 'body')) return () => undefined;
  const declared = declaredMembers(resource);
  return (body) => {
    if (!isRecord(body)) return;
    for (const [name, value] of Object.entries(body)) {
      if (declared.has(name) || typeof value === 'object') continue;
      const form = formOf(resource, name, value, countOf(resource, body));
      const before = forms.get(resource.name, PREFIX + name);
      if (before !== form) forms.set(resource.name, PREFIX + name, before === null ? form : VARIES);
    }
  };
}

/** Returns the members of a resource that can be served; `shapes` are the observed forms of all resources. */
export function besideMembers(
  resource: ResourceDeclaration,
  shapes: readonly (readonly [resource: string, name: string, value: string])[],
): BesideMember[] {
  return shapes.flatMap(([owner, form, value]): BesideMember[] => {
    if (owner !== resource.name || !form.startsWith(PREFIX)) return [];
    const name = form.slice(PREFIX.length);
    if (value === REPEATED) return [{ name, repeats: true }];
    if (value === COUNT) return [{ name, counts: true }];
    return value.startsWith(TEXT) ? [{ name, text: value.slice(TEXT.length) }] : [];
  });
}

function formOf({ query }: ResourceDeclaration, name: string, value: unknown, count: number | null): string {
  if (Object.hasOwn(query, name)) return REPEATED;
  if (value === count) return COUNT;
  // Ids and times differ from response to response.
  const isName = typeof value === 'string' && value.length <= TEXT_MAX && /^[a-z]/i.test(value) && !isUuid(value);
  return isName ? TEXT + value : VARIES;
}

// Returns the number of items; null if the body has several lists, or a part of one.
function countOf({ query }: ResourceDeclaration, body: object): number | null {
  const lists = Object.values(body).filter(Array.isArray);
  return lists.length === 1 && !Object.hasOwn(query, 'limit') ? (lists[0]?.length ?? null) : null;
}

function declaredMembers({ tables, echoes = [] }: ResourceDeclaration): Set<string> {
  const lists = tables.flatMap(({ at }) => (at === 'body' ? [] : [at.list.split('.')[0] as string]));
  const beside = tables.flatMap((table) => Object.keys(table.beside ?? {}));
  return new Set([...lists, ...beside, ...echoes, 'data', 'nextCursor']);
}
