import type { Catalogue, Resource } from '../../contract/catalogue.ts';
import { type Fields, metaOf } from '../../contract/fields.ts';
import type { Parameter } from '../../contract/parameters.ts';
import { RANGE_DAYS_MAX } from '../../contract/time.ts';
import { type AnswerPart, answerParts, listerOf, type ToolShape } from './tool.ts';

/** Words of tool names that are not written like others. */
const SPELLINGS: Readonly<Record<string, string>> = { ai: 'AI', url: 'URL', urls: 'URLs', id: 'id' };

/** A tool's name for people: `get_ai_traffic` is `Get AI traffic`. */
export function titleOf(tool: string): string {
  const words = tool.split('_').map((word) => SPELLINGS[word] ?? word);
  const text = words.join(' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Tells a model what a tool gives, what it needs, its defaults and bounds, and how to go on. */
export function describeTool(catalogue: Catalogue, shape: ToolShape): string {
  const { resource, inPath, inQuery } = shape;
  const sentences = [resource.about, ...answerParts(catalogue, resource).map(partSentence)];
  const order = orderSentence(resource);
  if (order !== null) sentences.push(order);
  for (const name of inPath) sentences.push(`\`${name}\` comes from \`${listerOf(catalogue, resource, name).tool}\`.`);
  sentences.push(...usesOf(catalogue, resource));
  const kinds = (kind: Parameter['kind']) => inQuery.filter(({ parameter }) => parameter.kind === kind);
  if (kinds('day').length > 1) {
    const names = kinds('day').map(({ name }) => `\`${name}\``);
    sentences.push(`${names.join(' and ')} are days, YYYY-MM-DD, both included, at most ${RANGE_DAYS_MAX} in all.`);
  }
  for (const { name, parameter } of kinds('limit')) sentences.push(`\`${name}\` is from 1 to ${parameter.max}.`);
  for (const { name, parameter } of inQuery) {
    if (parameter.default !== undefined) sentences.push(`By default \`${name}\` is ${parameter.default}.`);
  }
  for (const { name } of kinds('cursor')) {
    sentences.push(
      `There are more rows while \`nextCursor\` is not null: call again with it as \`${name}\` and all else as it was.`,
    );
  }
  return sentences.join(' ');
}

/** Tells what a query parameter means and where its values come from. */
export function describeParameter(catalogue: Catalogue, name: string, parameter: Parameter): string {
  const from = sourceOf(catalogue, name, parameter);
  return from === null ? parameter.about : `${parameter.about} \`${from.tool}\` lists them.`;
}

/** Tells where the values of a path parameter come from. */
export function describePathParameter(lister: Resource): string {
  return `An id that \`${lister.tool}\` lists.`;
}

/** The fields of a table's rows with what they mean, nested ones included: `topic.name`, `tags[].name`. */
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
  if (list === null) return isUnknown ? 'Gives it as upstream sends it.' : `Gives ${names(fields)}.`;
  const rows = isUnknown ? 'rows as upstream sends them' : `rows with ${names(fields)}`;
  return `Gives \`${list}\`, a list of ${rows}${Object.keys(beside).length === 0 ? '' : `; beside it ${names(beside)}`}.`;
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

// Whose arguments are this list's ids.
function usesOf(catalogue: Catalogue, resource: Resource): string[] {
  if (resource.provides !== undefined) {
    return [
      `Call it first: its \`${resource.provides.id}\` is what most other tools need as \`${resource.provides.scope}Id\`.`,
    ];
  }
  return catalogue.resources.flatMap(({ change, tool }) =>
    change.kind === 'detail' && change.of === resource.name
      ? [`\`${tool}\` gives one of them in full, by its id as \`${change.parameter}\`.`]
      : [],
  );
}

// A parameter says itself which list has its values, or is called like a list's row: `thingId` for a list of `things`.
function sourceOf(catalogue: Catalogue, name: string, parameter: Parameter): Resource | null {
  if (parameter.oneOf !== undefined) return catalogue.get(parameter.oneOf.resource);
  const row = /^(\w+)Id$/.exec(name)?.[1];
  if (parameter.kind !== 'uuid' || row === undefined) return null;
  const listed = catalogue.resources.filter(({ change }) => change.kind !== 'detail');
  return listed.find(({ tables }) => tables.some((table) => table.name === `${row}s` && table.at !== 'body')) ?? null;
}
