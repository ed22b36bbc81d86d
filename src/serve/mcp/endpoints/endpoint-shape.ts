import type { Catalogue, Resource } from '../../../contract/catalogue.ts';
import type { Fields } from '../../../contract/fields.ts';
import type { Parameter } from '../../../contract/parameters.ts';

/** An endpoint, and the names of its parameters as served. */
export interface EndpointShape {
  readonly resource: Resource;
  readonly inPath: readonly string[];
  readonly inQuery: readonly { readonly name: string; readonly parameter: Parameter }[];
}

/** Returns the names of the parameters in a resource's path. */
export function pathParametersOf(resource: Resource): string[] {
  return [...resource.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as string);
}

/** Returns whether an argument accepts names: only if the list of its values is not paged and its rows have names. */
export function takesName(source: Resource | null): source is Resource {
  return (
    source?.paging === 'single' &&
    source.tables.some(({ at, fields }) => at !== 'body' && Object.hasOwn(fields, 'name'))
  );
}

/** Returns the names of the lists in a resource's response. */
export function listsOf(resource: Resource): string[] {
  return resource.tables.flatMap(({ at }) => (at === 'body' ? [] : [at.list]));
}

/** A part of a response: a list of rows, or the fields of a single object. */
export interface AnswerPart {
  /** Null if the body is the object. */
  readonly list: string | null;
  readonly fields: Fields;
  /** Fields beside the list. */
  readonly beside: Fields;
  /** Whether it is served as received from upstream, without a declared form. */
  readonly isUnknown: boolean;
}

/** Returns the parts of a resource's response. A detail also has the fields of its list. */
export function answerParts(catalogue: Catalogue, { tables, change }: Resource): AnswerPart[] {
  const listed = change.kind === 'detail' ? catalogue.get(change.of).tables : [];
  return tables.map(({ name, at, fields, beside = {}, whole }) => ({
    list: at === 'body' ? null : at.list,
    fields: { ...listed.find((table) => table.name === name)?.fields, ...fields },
    beside,
    isUnknown: whole !== undefined,
  }));
}
