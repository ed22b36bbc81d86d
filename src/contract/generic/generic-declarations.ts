import { isRecord } from '../../base/json.ts';
import { boolean, day, type Fields, integer, json, number, text } from '../fields.ts';
import { isSizeName } from '../openapi/page-parameters.ts';
import { shapeOfPath } from '../openapi/references.ts';
import { choiceParameter, dayParameter, type Parameter, type Parameters, textParameter } from '../parameters.ts';
import { defineResource, type Parent, type ResourceDeclaration, type TableDeclaration } from '../resource.ts';
import { toColumnName, WHOLE_ITEM } from '../tables.ts';
import { toDay } from '../time.ts';
import type { GenericForm } from './generic-form.ts';
import { singularOf } from './generic-form.ts';
import { type ItemColumn, pointerOf, uniqueName, valueIn } from './item-columns.ts';
import { SERVER_TOOLS } from './server-tools.ts';

/** Position of inferred resources in documents and menus: after the declared ones. */
const POSITION = 10_000;

const scalars = { text, integer, number, boolean } as const;

/**
 * Returns the declarations of undeclared endpoints. Endpoints whose path needs values of a list that neither `declared` nor `forms` have
 * are left out, as are those that nothing is known of yet.
 */
export function declareForms(
  declared: readonly ResourceDeclaration[],
  forms: readonly GenericForm[],
): ResourceDeclaration[] {
  const byPath = new Map<string, ResourceDeclaration>(declared.map((one) => [shapeOfPath(one.path), one]));
  const tools = new Set<string>([...SERVER_TOOLS, ...declared.map(({ tool }) => tool)]);
  const made: ResourceDeclaration[] = [];
  // A parent has a shorter path.
  for (const form of forms.toSorted((a, b) => a.path.length - b.path.length)) {
    if (byPath.has(shapeOfPath(form.path))) continue;
    const parent = parentOf(form, byPath);
    if (parent === null) continue;
    const tool = uniqueName(`${form.at === 'body' ? 'get' : 'list'}_${form.name}`, tools);
    tools.add(tool);
    const declaration = declare(form, { parent, index: made.length, tool });
    byPath.set(shapeOfPath(form.path), declaration);
    made.push(declaration);
  }
  return made;
}

interface Place {
  /** The list whose rows have the values of the last path parameter. */
  readonly parent: Parent | undefined;
  readonly index: number;
  readonly tool: string;
}

function declare(form: GenericForm, { parent, index, tool }: Place): ResourceDeclaration {
  const { name, path, scope, at, each, range } = form;
  const about = `${form.about ?? `Items of ${path}.`} (generic: inferred from upstream's OpenAPI document and responses)`;
  const time = form.key.length === 0 ? null : form.day;
  const change: ResourceDeclaration['change'] =
    range === null ? { kind: 'set' } : { kind: 'report', span: time === null ? 'recent' : 'history' };
  const table: TableDeclaration = {
    name,
    about,
    at: at ?? { list: 'data' },
    key: [],
    identity: form.key,
    ...(range === null ? {} : { extent: time === null ? { kind: 'range' } : { kind: 'time', field: time } }),
    fields: { ...toFields(form), [WHOLE_ITEM]: json('The item exactly as upstream sent it.') },
    whole: WHOLE_ITEM,
    normalize: (item) => ({ [WHOLE_ITEM]: item, ...(form.day === null ? {} : { [form.day]: dayIn(item, form.day) }) }),
    derive: (item) => Object.fromEntries(form.columns.map((column) => [fieldOf(column), valueIn(item, column)])),
  };
  return defineResource({
    name,
    position: POSITION + index,
    about,
    scope,
    path,
    paging: 'single',
    ...(form.pages === null ? {} : { pages: form.pages }),
    ...(parent === undefined ? {} : { parent }),
    mayBeMissing: true,
    change,
    query: queryOf(form),
    ...(Object.keys(form.ask).length === 0 ? {} : { ask: form.ask }),
    ...(each === null
      ? {}
      : {
          each: {
            parameter: each.parameter,
            column: toColumnName(each.parameter),
            about: each.about ?? `Value of ${each.parameter}.`,
          },
        }),
    ...(range === null ? {} : { rangeParameters: range }),
    generic: true,
    // The same place in a form can be a list named `data` or a bare list.
    ...(at !== 'body' && (at ?? { list: 'data' }).list === 'data' ? { envelopeUnknown: true } : {}),
    tables: [table],
    tool,
  });
}

// The list whose rows have the values of the last path parameter; undefined if the path has no parameters but that of the brand.
function parentOf(
  { path, scope }: GenericForm,
  byPath: ReadonlyMap<string, ResourceDeclaration>,
): Parent | undefined | null {
  const names = [...path.matchAll(/\/\{(\w+)\}/g)].slice(scope === 'brand' ? 1 : 0);
  const last = names.at(-1);
  if (last === undefined) return undefined;
  const list = byPath.get(shapeOfPath(path.slice(0, last.index)));
  const [table] = list?.tables ?? [];
  const isList = list !== undefined && (list.change.kind === 'set' || list.change.kind === 'walk');
  if (list === undefined || table === undefined || !isList || list.each !== undefined) return null;
  const passed = Object.keys(list.parent?.parameters ?? {});
  const parameters: Record<string, string> = {};
  for (const [index, [, name = '']] of names.entries()) {
    if (index < names.length - 1) {
      const above = passed[index];
      if (above === undefined) return null;
      parameters[name] = toColumnName(above);
      continue;
    }
    const column = idColumn(table, name, list.name);
    if (column === null) return null;
    parameters[name] = column;
  }
  return { resource: list.name, parameters };
}

// The column of a list with the values of a path parameter: its key, the column with the parameter's name, or `id`.
function idColumn(
  { fields, key, identity = key, whole }: TableDeclaration,
  parameter: string,
  list: string,
): string | null {
  const names = Object.keys(fields).filter((name) => name !== whole);
  const wanted = [toColumnName(parameter), 'id', `${singularOf(list)}_id`];
  const [only, ...others] = identity;
  const chosen =
    wanted.map((column) => names.find((name) => toColumnName(name) === column)).find((name) => name !== undefined) ??
    (others.length === 0 ? only : undefined);
  return chosen === undefined ? null : toColumnName(chosen);
}

function queryOf(form: GenericForm): Parameters {
  const { each, range, filters, columns } = form;
  const parameters: Record<string, Parameters[string]> = {};
  if (range !== null) {
    parameters['from'] = dayParameter('First day, UTC; default: 29 days before `to`.');
    parameters['to'] = dayParameter('Last day, UTC; default: today.');
  }
  if (each !== null) {
    const about = each.about ?? `Selects a list.`;
    parameters[each.parameter] = { ...choiceParameter(about, each.values), required: true };
  }
  Object.assign(parameters, pageParameters(form));
  for (const [name, about] of Object.entries(filters)) {
    const isText = columns.some(({ path, kind }) => kind === 'text' && path.length === 1 && path[0] === name);
    if (isText) parameters[name] ??= textParameter(about);
  }
  return parameters;
}

// Accepts the constant parameters of a sync with the same value. Paging parameters select a part of the stored list; without them the
// response has all items.
function pageParameters({ pages, ask }: GenericForm): Record<string, Parameter> {
  const parameters: Record<string, Parameter> = {};
  for (const [name, value] of Object.entries(ask)) {
    parameters[name] = isSizeName(name)
      ? sizeParameter(Number(value))
      : choiceParameter('Only the data with this value are stored.', [value]);
  }
  if (pages === null) return parameters;
  const { size } = pages;
  if (size === undefined) return parameters;
  parameters[size.parameter] = sizeParameter(size.max);
  parameters[pages.parameter] = {
    kind: 'cursor',
    about: 'Cursor of the next page; repeat all other parameters unchanged.',
  };
  return parameters;
}

function sizeParameter(max: number): Parameter {
  const about = 'Maximum number of items; default: all items.';
  return { kind: 'limit', about, ...(Number.isSafeInteger(max) && max > 0 ? { max } : {}) };
}

// The day is not derived: a range of days selects the rows that a page may delete.
function toFields({ columns, day: dayField }: GenericForm): Fields {
  return Object.fromEntries(
    columns.map((column) => {
      const field = fieldOf(column);
      const { name, kind, about = `Member \`${field}\` of the item.` } = column;
      if (field === dayField) return [field, day(about, { column: name })];
      const options = { column: name, pointer: pointerOf(column) };
      return [field, kind === 'json' ? json(about, undefined, options) : scalars[kind](about, options)];
    }),
  );
}

function fieldOf({ path }: ItemColumn): string {
  return path.length === 0 ? 'value' : path.join('.');
}

function dayIn(item: unknown, name: string): string | null {
  const value = isRecord(item) ? item[name] : null;
  return typeof value === 'string' && toDay(value) !== null ? value : null;
}
