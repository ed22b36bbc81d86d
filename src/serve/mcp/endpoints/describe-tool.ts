import type { Catalogue, Resource } from '../../../contract/catalogue.ts';
import { type Fields, metaOf } from '../../../contract/fields.ts';
import type { Parameter } from '../../../contract/parameters.ts';
import { type AnswerPart, answerParts, type EndpointShape, takesName } from './endpoint-shape.ts';

/** Words of tool names with irregular spelling in titles. */
const SPELLINGS: Readonly<Record<string, string>> = { ai: 'AI', url: 'URL', urls: 'URLs', id: 'id' };

/** Returns a tool's title: `get_ai_traffic` becomes `Get AI traffic`. */
export function titleOf(tool: string): string {
  const words = tool.split('_').map((word) => SPELLINGS[word] ?? word);
  const text = words.join(' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/**
 * Returns a tool's description for a model: result, use, order, paging, and how its numbers are written. Types, bounds and defaults
 * of arguments are in the input schema.
 */
export function describeTool(catalogue: Catalogue, shape: EndpointShape, numbers: readonly string[]): string {
  const { resource, inQuery } = shape;
  const sentences = [resource.about];
  if (resource.use !== undefined) sentences.push(resource.use);
  sentences.push(...answerParts(catalogue, resource).map(partSentence));
  const order = orderSentence(resource);
  if (order !== null) sentences.push(order);
  sentences.push(...usesOf(catalogue, resource), ...numbers);
  if (inQuery.some(({ parameter }) => parameter.kind === 'cursor')) {
    sentences.push('Pass `nextCursor` as `cursor` for more rows, all else unchanged.');
  }
  return sentences.join(' ');
}

/**
 * Returns the description of a path parameter. It names the tool that lists the ids only if the parameter does not accept names; the
 * instructions of the server describe names.
 */
export function describePathParameter(lister: Resource): string {
  const { tool } = lister;
  return takesName(lister) ? 'Name or id.' : `Id from \`${tool}\`.`;
}

/** Returns the fields of a table's rows with their meaning, including nested ones: `topic.name`, `tags[].name`. */
export function fieldsOf(fields: Fields, prefix = ''): { readonly name: string; readonly about: string }[] {
  return Object.entries(fields).flatMap(([field, schema]) => {
    const meta = metaOf(schema);
    const name = `${prefix}${field}`;
    if (meta.as === 'group') return fieldsOf(meta.fields, `${name}.`);
    if (meta.as === 'child') return fieldsOf(meta.child.fields, `${name}[].`);
    return [{ name, about: meta.about }];
  });
}

function partSentence({ list, fields, beside, isUnknown }: AnswerPart): string {
  const names = (of: Fields): string => Object.keys(of).join(', ');
  if (list === null) return isUnknown ? 'Returns it as received from upstream.' : `Returns ${names(fields)}.`;
  const rows = isUnknown ? 'rows as received from upstream' : `rows with ${names(fields)}`;
  return `Returns \`${list}\`, a list of ${rows}${Object.keys(beside).length === 0 ? '' : `; also ${names(beside)}`}.`;
}

function orderSentence({ order, tables }: Resource): string | null {
  const [first] = order ?? [];
  if (first === undefined) return null;
  const field = first.replace(/^-/, '');
  const schema = tables.map(({ fields }) => fields[field]).find((found) => found !== undefined);
  const meta = schema === undefined ? undefined : metaOf(schema);
  const isTime = meta?.as === 'column' && (meta.kind === 'timestamp' || meta.kind === 'day');
  const words = isTime ? ['newest', 'oldest'] : ['greatest', 'lowest'];
  return `Sorted by ${field}, ${first.startsWith('-') ? words[0] : words[1]} first.`;
}

// Returns sentences about the tools that accept the ids of this list.
function usesOf(catalogue: Catalogue, resource: Resource): string[] {
  if (resource.provides !== undefined) {
    return [`Call it first: most other tools need its \`${resource.provides.id}\` as \`brandId\`.`];
  }
  return catalogue.resources.flatMap(({ change, tool }) =>
    change.kind === 'detail' && change.of === resource.name
      ? [`\`${tool}\` returns one of them in full; pass its id as \`${change.parameter}\`.`]
      : [],
  );
}

/**
 * Returns the resource that lists the values of a query parameter, or null. A parameter either declares the list of its values, or is
 * named after a row of a list: `thingId` for a list of `things`.
 */
export function sourceOf(catalogue: Catalogue, name: string, parameter: Parameter): Resource | null {
  if (parameter.oneOf !== undefined) return catalogue.get(parameter.oneOf.resource);
  const row = /^(\w+)Id$/.exec(name)?.[1];
  if (parameter.kind !== 'uuid' || row === undefined) return null;
  const listed = catalogue.resources.filter(({ change }) => change.kind !== 'detail');
  return listed.find(({ tables }) => tables.some((table) => table.name === `${row}s` && table.at !== 'body')) ?? null;
}
