import type { ColumnKind } from './fields.ts';
import { createValueWriter, idsIn, proposeForms, type ValueForm, type ValueWriter } from './value-forms.ts';

/** How upstream writes a missing value: as null (an empty list for nested arrays), or not at all. */
export type EmptyForm = 'null' | 'absent';

/** Names of the observations about a field. `place` is the field's table and path: `responses.competitors.competitorId`. */
export const FIELD_FORMS = {
  /** The form of the values. */
  value: (place: string): string => `form of ${place}`,
  empty: (place: string): string => `empty ${place}`,
  /** `true` if some values have another form. */
  varies: (place: string): string => `varies ${place}`,
} as const;

/** Observations of a workspace by resource and name. */
export interface Observations {
  get(resource: string, name: string): string | null;
}

/** The observations that pages add to. */
export interface ObservedForms extends Observations {
  set(resource: string, name: string, value: string): void;
  /** Returns the observations that are not stored yet. `stored` marks them as stored. */
  unstored(resource: string): { readonly forms: ReadonlyMap<string, string>; stored(): void };
}

/** Creates the observations with the stored ones. */
export function createObservedForms(known: Iterable<readonly [string, string, string]> = []): ObservedForms {
  // By resource, then by name: `get` runs for each value of a page, and concatenating both names is slow.
  const values = new Map<string, Map<string, string>>();
  const fresh = new Map<string, Map<string, string>>();
  const keep = (resource: string, name: string, value: string): void => {
    const own = values.get(resource) ?? new Map<string, string>();
    values.set(resource, own.set(name, value));
  };
  for (const [resource, name, value] of known) keep(resource, name, value);
  return {
    get: (resource, name) => values.get(resource)?.get(name) ?? null,
    set: (resource, name, value) => {
      if (values.get(resource)?.get(name) === value) return;
      keep(resource, name, value);
      const added = fresh.get(resource) ?? new Map<string, string>();
      fresh.set(resource, added.set(name, value));
    },
    unstored: (resource) => {
      const forms = new Map(fresh.get(resource));
      const stored = (): void => {
        const added = fresh.get(resource);
        for (const [name, value] of forms) if (added?.get(name) === value) added.delete(name);
      };
      return { forms, stored };
    },
  };
}

/** Writes the values of a resource's fields in upstream's forms. */
export interface FieldWriters {
  /** Returns the writer of a field's values. */
  value(place: string, kind: ColumnKind): ValueWriter;
  empty(place: string): EmptyForm;
  /** Whether some values of a field have another form. */
  varies(place: string): boolean;
}

/**
 * Creates the writers of fields from observations of these resources, the first that has one. A field without an observation is
 * written like most fields of its kind.
 */
export function createFieldWriters(
  resources: readonly string[],
  observed: Observations,
  usual: UsualForms = noForms,
): FieldWriters {
  const find = (name: string): string | null => {
    for (const resource of resources) {
      const found = observed.get(resource, name);
      if (found !== null) return found;
    }
    return null;
  };
  return {
    value: (place, kind) => createValueWriter(kind, find(FIELD_FORMS.value(place)) ?? usual.value(kind)),
    varies: (place) => find(FIELD_FORMS.varies(place)) !== null,
    empty: (place) => (find(FIELD_FORMS.empty(place)) ?? usual.empty(resources)) as EmptyForm,
  };
}

/** The forms of fields of which no value was seen. */
export interface UsualForms {
  value(kind: ColumnKind): ValueForm | null;
  /** The form of the resources, or else of resources of the same kind, or else of all. */
  empty(resources: readonly string[]): EmptyForm;
}

/** The project's own forms. */
export const noForms: UsualForms = { value: () => null, empty: () => 'null' };

/**
 * Returns the forms that most fields have, by kind of their values. `reports` are the resources whose numbers upstream computes: it may
 * leave out missing values of stored items only.
 */
export function usualForms(
  rows: readonly (readonly [resource: string, name: string, value: string])[],
  reports: ReadonlySet<string> = new Set(),
): UsualForms {
  const named = (prefix: string) => rows.filter(([, name]) => name.startsWith(prefix));
  const values = named(FIELD_FORMS.value('')).map(([, , value]) => value);
  const uuid = mostFrequent(values.filter((value) => value === 'upper' || value === 'lower'));
  const timestamp = mostFrequent(values.filter((value) => value.startsWith('YYYY')));
  const empties = named(FIELD_FORMS.empty(''));
  const emptyOf = (isWanted: (resource: string) => boolean): string | null =>
    mostFrequent(empties.filter(([resource]) => isWanted(resource)).map(([, , value]) => value));
  return {
    value: (kind) => (kind === 'uuid' ? uuid : kind === 'timestamp' ? timestamp : null),
    empty: (resources) => {
      const isReport = resources.some((resource) => reports.has(resource));
      return (emptyOf((resource) => resources.includes(resource)) ??
        emptyOf((resource) => reports.has(resource) === isReport) ??
        emptyOf(() => true) ??
        'null') as EmptyForm;
    },
  };
}

/** Returns the form that writes most of the values as they were sent; null if none was seen. */
export function commonForm(
  kind: ColumnKind,
  sent: readonly unknown[],
  toStored: (value: unknown) => unknown,
): ValueForm | null {
  const proposed = [...new Set(sent.flatMap((value) => proposeForms(kind, value)))];
  const counts = proposed.map((form) => {
    const write = createValueWriter(kind, form);
    // JSON has several ids.
    if (kind === 'json') return sent.flatMap(idsIn).filter((id) => write(id.toLowerCase()) === id).length;
    return sent.filter((value) => write(toStored(value)) === value).length;
  });
  return proposed[counts.indexOf(Math.max(...counts))] ?? null;
}

function mostFrequent(values: readonly string[]): string | null {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  const [first] = [...counts].toSorted(([, a], [, b]) => b - a);
  return first?.[0] ?? null;
}
