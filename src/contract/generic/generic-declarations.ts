import { ExactNumber, isRecord } from '../../base/json.ts';
import { boolean, children, day, type Fields, group, integer, json, number, text, timestamp, uuid } from '../fields.ts';
import { isSizeName } from '../openapi/page-parameters.ts';
import { shapeOfPath } from '../openapi/references.ts';
import { choiceParameter, dayParameter, type Parameter, type Parameters, textParameter } from '../parameters.ts';
import { defineResource, type Parent, type ResourceDeclaration, type TableDeclaration } from '../resource.ts';
import { toColumnName } from '../tables.ts';
import type { GenericForm } from './generic-form.ts';
import { singularOf } from './generic-form.ts';
import { epochToIso, type FieldForm, type FieldForms, type ScalarForm, toMembers, uniqueName } from './item-fields.ts';
import { SERVER_TOOLS } from './server-tools.ts';

/** Field and column with the item exactly as upstream sent it. */
export const WHOLE_ITEM = '_item';
/** Position of inferred resources in documents and menus: after the declared ones. */
const POSITION = 10_000;

const scalars = { uuid, text, integer, number, boolean, timestamp, day } as const;

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
  const time = range === null || form.key.length === 0 ? null : timeField(form.fields);
  const change: ResourceDeclaration['change'] =
    range === null ? { kind: 'set' } : { kind: 'report', span: time === null ? 'recent' : 'history' };
  const table: TableDeclaration = {
    name,
    about,
    at: at ?? { list: 'data' },
    key: [],
    identity: form.key,
    ...(range === null ? {} : { extent: time === null ? { kind: 'range' } : { kind: 'time', field: time } }),
    fields: {
      ...toFields(form.fields),
      [WHOLE_ITEM]: json('The item exactly as upstream sent it.'),
    },
    whole: WHOLE_ITEM,
    normalize: (item) => normalize(form.fields, item),
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
  const { each, range, filters, fields } = form;
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
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (field?.as === 'column' && field.kind === 'text') parameters[name] ??= textParameter(about);
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

// The field by which a range of days selects items: a day, or the time of creation.
function timeField(fields: FieldForms): string | null {
  const scalarsOf = Object.entries(fields).filter((entry): entry is [string, ScalarForm] => entry[1].as === 'column');
  const days = scalarsOf.filter(([, { kind }]) => kind === 'day');
  const [first] = [...days.filter(([name]) => /^(?:date|day)$/i.test(name)), ...(days.length === 1 ? days : [])];
  return first?.[0] ?? null;
}

function toFields(forms: FieldForms): Fields {
  return Object.fromEntries(Object.entries(forms).map(([name, form]) => [name, toField(name, form)]));
}

function toField(name: string, form: FieldForm): Fields[string] {
  const about = form.about ?? `Member \`${name}\` of the item.`;
  switch (form.as) {
    case 'group':
      return group(about, toFields(form.fields));
    case 'child':
      return children(`${about} (generic)`, { table: form.table, fields: toFields(form.fields), repeat: [] });
    default:
      if (form.kind === 'json') return json(about, undefined, { column: form.column });
      return scalars[form.kind](about, { column: form.column });
  }
}

// Values that do not have the kind of their column are null there; the stored item has them.
function normalize(forms: FieldForms, item: unknown): Record<string, unknown> {
  return { ...membersOf(forms, toMembers(item)), [WHOLE_ITEM]: item };
}

function membersOf(forms: FieldForms, value: Record<string, unknown>): Record<string, unknown> {
  const members: Record<string, unknown> = {};
  for (const [name, form] of Object.entries(forms)) {
    if (Object.hasOwn(value, name)) members[name] = toValue(form, value[name]);
  }
  return members;
}

function toValue(form: FieldForm, value: unknown): unknown {
  if (value === null || value === undefined) return null;
  switch (form.as) {
    case 'group':
      return isRecord(value) ? membersOf(form.fields, value) : null;
    case 'child': {
      const elements = Array.isArray(value) ? value : [];
      return elements.map((element) =>
        form.scalar === true
          ? membersOf(form.fields, { value: element })
          : isRecord(element)
            ? membersOf(form.fields, element)
            : {},
      );
    }
    default:
      return toScalar(form, value);
  }
}

function toScalar({ kind, epoch }: ScalarForm, value: unknown): unknown {
  switch (kind) {
    case 'json':
      return value;
    case 'text':
      if (value instanceof ExactNumber) return value.text;
      return typeof value === 'object' ? null : String(value);
    case 'number':
      return value instanceof ExactNumber ? Number(value.text) : typeof value === 'number' ? value : null;
    case 'integer':
      return typeof value === 'number' && Number.isSafeInteger(value) ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'timestamp':
      if (epoch === true) return epochToIso(value);
      return typeof value === 'string' ? value : null;
    default:
      return typeof value === 'string' ? value : null;
  }
}
