import { isRecord } from '../base/json.ts';
import { listNameOf } from './body.ts';
import type { Resource } from './catalogue.ts';
import { type Fields, metaOf } from './fields.ts';
import type { ResourceDeclaration } from './resource.ts';

/** Properties of upstream's responses that the specification does not define and sightline observes. */
export const FORMS = {
  /** `bare` if a list or a single object has no wrapper, otherwise the name of the wrapper, such as `data`. */
  envelope: 'envelope',
} as const;

/** Name of the observation that an item contained the same id twice in the nested array `field`. */
export function repeatsForm(field: string): string {
  return `repeats in ${field}`;
}

/** Name of the observation of a parameter's actual name. */
export function parameterForm(declared: string): string {
  return `parameter ${declared}`;
}

/**
 * Whether the read server sends a body without the wrapper `data`. It repeats upstream's envelope, `observed`, if the
 * specification does not define it.
 */
export function isServedBare({ envelopeUnknown, tables }: ResourceDeclaration, observed: string | null): boolean {
  if (tables.every(({ at }) => at === 'body')) return observed !== 'data';
  return envelopeUnknown === true && observed === 'bare';
}

/** Returns the name under which the read server serves the list `declared`, if it is not bare: that of upstream. */
export function servedListName(
  { envelopeUnknown }: ResourceDeclaration,
  declared: string,
  observed: string | null,
): string {
  return envelopeUnknown === true && observed !== null && observed !== 'bare' ? observed : declared;
}

/** Name of the list in the bodies of paged and tabular responses. */
const LIST = 'data';

/** Returns the list of a resource that is also served as a table; null if there is none. */
export function tableListOf({ generic, tables }: ResourceDeclaration): string | null {
  const lists = tables.flatMap(({ at }) => (at === 'body' ? [] : [at.list]));
  return lists.find((name) => name === LIST || generic === true) ?? null;
}

/** Returns the properties observed in a response, by name. */
export function formsOf(resource: Resource, body: unknown): ReadonlyMap<string, string> {
  const forms = new Map<string, string>();
  const envelope = envelopeOf(resource, body);
  if (envelope !== null) forms.set(FORMS.envelope, envelope);
  for (const { declaration, children } of resource.derived) {
    for (const { field, fields } of children) {
      const id = idField(fields);
      if (id !== null && itemsAt(declaration.at, body).some((item) => repeats(item, field, id))) {
        forms.set(repeatsForm(field), 'true');
      }
    }
  }
  return forms;
}

function envelopeOf({ envelopeUnknown, derived }: Resource, body: unknown): string | null {
  if (envelopeUnknown === true) {
    if (Array.isArray(body)) return 'bare';
    const isNamed = isRecord(body) && !('data' in body);
    return (isNamed ? listNameOf({ envelopeUnknown }, body) : null) ?? 'data';
  }
  const [object] = derived.filter(({ declaration: { at, whole } }) => at === 'body' && whole === undefined);
  if (object === undefined || derived.length > 1 || !isRecord(body)) return null;
  const isBare = Object.keys(object.declaration.fields).some((field) => field in body);
  return isBare ? 'bare' : 'data';
}

function itemsAt(at: 'body' | { readonly list: string }, body: unknown): readonly unknown[] {
  const inner = isRecord(body) && isRecord(body['data']) ? body['data'] : body;
  if (at === 'body') return [inner];
  if (Array.isArray(body)) return body;
  const list = isRecord(inner) ? inner[at.list] : null;
  return Array.isArray(list) ? list : [];
}

function idField(fields: Fields): string | null {
  const isId = (name: string): boolean => {
    const meta = metaOf(fields[name] as Fields[string]);
    return meta.as === 'column' && meta.kind === 'uuid';
  };
  return Object.keys(fields).find(isId) ?? null;
}

function repeats(item: unknown, field: string, id: string): boolean {
  const list = isRecord(item) ? item[field] : null;
  if (!Array.isArray(list) || list.length < 2) return false;
  const ids = list.flatMap((element) => (isRecord(element) && typeof element[id] === 'string' ? [element[id]] : []));
  return new Set(ids.map((value) => value.toLowerCase())).size < ids.length;
}
