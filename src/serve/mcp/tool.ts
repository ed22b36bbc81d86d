import type { Tool as ToolDefinition } from '@modelcontextprotocol/server';
import { type Catalogue, providerOf, type Resource } from '../../contract/catalogue.ts';
import type { Fields } from '../../contract/fields.ts';
import type { Parameter } from '../../contract/parameters.ts';

/** Field of a result that says what was left out of it because it was too long; missing from whole results. */
export const OMITTED = '_omitted';

/** An endpoint as a tool: what it takes and under which names. */
export interface ToolShape {
  readonly resource: Resource;
  readonly inPath: readonly string[];
  readonly inQuery: readonly { readonly name: string; readonly parameter: Parameter }[];
  /** The argument that goes on in a list without pages; null where the tool has pages, or no list. */
  readonly skipName: string | null;
}

/** A tool with what clients are told about it. */
export interface Tool extends ToolShape {
  readonly definition: ToolDefinition;
}

/** A tool for each resource, by its name, in the catalogue's order. */
export type ToolSet = ReadonlyMap<string, Tool>;

/** The parameters in a resource's path. */
export function pathParametersOf(resource: Resource): string[] {
  return [...resource.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as string);
}

/** The resource that lists the ids which a path parameter takes. */
export function listerOf(catalogue: Catalogue, resource: Resource, parameter: string): Resource {
  const { change } = resource;
  const isDetail = change.kind === 'detail' && change.parameter === parameter;
  return isDetail ? catalogue.get(change.of) : providerOf(catalogue, 'brand');
}

/** Names of the lists in a resource's answer. */
export function listsOf(resource: Resource): string[] {
  return resource.tables.flatMap(({ at }) => (at === 'body' ? [] : [at.list]));
}

/** A part of an answer: a list of rows, or the fields of the one object that it is. */
export interface AnswerPart {
  /** Null where the body is the object. */
  readonly list: string | null;
  readonly fields: Fields;
  /** Fields beside the list. */
  readonly beside: Fields;
  /** Whether it is served as upstream sent it, in a form that no one knows. */
  readonly isUnknown: boolean;
}

/** What a resource's answer consists of; a detail has the fields of its list too. */
export function answerParts(catalogue: Catalogue, { tables, change }: Resource): AnswerPart[] {
  const listed = change.kind === 'detail' ? catalogue.get(change.of).tables : [];
  return tables.map(({ name, at, fields, beside = {}, whole }) => ({
    list: at === 'body' ? null : at.list,
    fields: { ...listed.find((table) => table.name === name)?.fields, ...fields },
    beside,
    isUnknown: whole !== undefined,
  }));
}
