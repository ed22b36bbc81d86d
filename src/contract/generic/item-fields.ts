import { ExactNumber, isRecord } from '../../base/json.ts';
import type { ColumnKind } from '../fields.ts';
import type { SchemaForm } from '../openapi/schema-form.ts';
import { toColumnName } from '../tables.ts';
import { toDay, toTimestamp } from '../time.ts';

/** Maximum depth of objects whose members become columns; deeper objects become JSON. */
const DEPTH_MAX = 6;
/** Maximum number of columns and child tables of a table. Further members are only in the stored item. */
const COLUMNS_MAX = 250;
/** Maximum length of a column name in characters. */
const NAME_CHARACTERS_MAX = 60;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** Names of numbers that may be times in epoch seconds or milliseconds. */
const TIME_NAME = /(?:^|[a-z_-])(?:at|time|timestamp|date)$|(?:At|Time|Timestamp|Date)$/;
/** Bounds of numbers that are times: the years 2000 to 2099, in seconds and in milliseconds. */
const EPOCH_SECONDS = [946_684_800, 4_102_444_800] as const;
const EPOCH_MS = [946_684_800_000, 4_102_444_800_000] as const;

/** A scalar column. */
export interface ScalarForm {
  readonly as: 'column';
  readonly kind: ColumnKind;
  readonly column: string;
  readonly about?: string;
  /** Whether the values of a timestamp are epoch seconds or milliseconds. */
  readonly epoch?: true;
}

/** An object whose members are columns of the same table. */
export interface GroupForm {
  readonly as: 'group';
  readonly about?: string;
  readonly fields: FieldForms;
}

/** An array whose elements are rows of a child table. */
export interface ChildForm {
  readonly as: 'child';
  readonly table: string;
  readonly about?: string;
  /** Whether the elements are scalars, which are stored in the column `value`. */
  readonly scalar?: true;
  readonly fields: FieldForms;
}

/** How a member of an item is stored. */
export type FieldForm = ScalarForm | GroupForm | ChildForm;

/** The members of an item or of a nested object, by name. */
export type FieldForms = Readonly<Record<string, FieldForm>>;

/** Names that are taken in a table, and the tables that may be created for nested arrays. */
export interface Naming {
  readonly columns: ReadonlySet<string>;
  /** Names of columns that child tables have without the columns of their elements. */
  readonly childColumns: ReadonlySet<string>;
  /** Returns an unused name of a table for the array `field`. */
  table(field: string): string;
}

/** Returns the fields that a schema of items describes. */
export function fieldsOfSchema(schema: SchemaForm, naming: Naming): FieldForms {
  const building = begin({}, naming);
  return membersOfSchema(building, { path: [], inUse: building.taken }, schema);
}

/** Returns the fields, extended and widened so that every item can be stored; the same object if they fit already. */
export function fieldsOfItems(known: FieldForms, items: readonly unknown[], naming: Naming): FieldForms {
  const building = begin(known, naming);
  const place = { path: [], inUse: building.taken };
  let fields = known;
  for (const item of items) fields = membersOfValue(building, place, fields, toMembers(item));
  return fields;
}

/** Whether a value can be stored in a column; null and absent values always can. */
function fits({ kind, epoch }: ScalarForm, value: unknown): boolean {
  if (value === null || value === undefined) return true;
  switch (kind) {
    case 'json':
      return true;
    case 'text':
      return typeof value !== 'object' || value instanceof ExactNumber;
    case 'integer':
      return typeof value === 'number' && Number.isSafeInteger(value);
    case 'number':
      return typeof value === 'number' || value instanceof ExactNumber;
    case 'boolean':
      return typeof value === 'boolean';
    case 'uuid':
      return typeof value === 'string' && UUID.test(value);
    case 'timestamp':
      if (epoch === true) return typeof value === 'number' && isEpoch(value);
      return typeof value === 'string' && toTimestamp(value) !== null;
    case 'day':
      return typeof value === 'string' && toDay(value) !== null;
  }
}

// The narrowest kind that has both the values of a column and another value.
function widened({ kind, epoch }: ScalarForm, value: unknown): ColumnKind {
  if (Array.isArray(value) || isRecord(value)) return 'json';
  const isWhole = typeof value === 'number' && Number.isSafeInteger(value);
  const isNumber = typeof value === 'number';
  if (kind === 'integer' && isNumber) return 'number';
  if (kind === 'timestamp' && epoch === true && isNumber) return isWhole ? 'integer' : 'number';
  return 'text';
}

/** Returns the kind of a value that no schema describes. */
function kindOf(name: string, value: unknown): Pick<ScalarForm, 'kind' | 'epoch'> {
  if (typeof value === 'boolean') return { kind: 'boolean' };
  if (typeof value === 'number') return kindOfNumber(name, Number.isSafeInteger(value));
  if (value instanceof ExactNumber) return { kind: /^-?\d+$/.test(value.text) ? 'text' : 'number' };
  if (typeof value !== 'string') return { kind: 'json' };
  if (UUID.test(value)) return { kind: 'uuid' };
  if (/^\d{4}-\d\d-\d\d$/.test(value) && toDay(value) !== null) return { kind: 'day' };
  if (/^\d{4}-\d\d-\d\dT/.test(value) && toTimestamp(value) !== null) return { kind: 'timestamp' };
  return { kind: 'text' };
}

// A number whose name says that it is a time is one, until a value contradicts it.
function kindOfNumber(name: string, isWhole: boolean): Pick<ScalarForm, 'kind' | 'epoch'> {
  if (TIME_NAME.test(name)) return { kind: 'timestamp', epoch: true };
  return { kind: isWhole ? 'integer' : 'number' };
}

function isEpoch(value: number): boolean {
  return [EPOCH_SECONDS, EPOCH_MS].some(([first, end]) => value >= first && value < end);
}

/** Returns a moment in epoch seconds or milliseconds as ISO 8601; null if it is neither. */
export function epochToIso(value: unknown): string | null {
  if (typeof value !== 'number' || !isEpoch(value)) return null;
  return new Date(value < EPOCH_MS[0] ? value * 1000 : value).toISOString();
}

function kindOfSchema(name: string, { types, format }: SchemaForm): Pick<ScalarForm, 'kind' | 'epoch'> {
  const [type, ...others] = [...types].filter((one) => one !== 'null');
  if (type === undefined) return { kind: 'json' };
  if (others.length > 0) {
    const areNumbers = [type, ...others].every((one) => one === 'integer' || one === 'number');
    const areScalars = [type, ...others].every((one) => one !== 'object' && one !== 'array');
    return { kind: areNumbers ? 'number' : areScalars ? 'text' : 'json' };
  }
  switch (type) {
    case 'integer':
      return kindOfNumber(name, true);
    case 'number':
      return kindOfNumber(name, false);
    case 'boolean':
      return { kind: 'boolean' };
    case 'string':
      if (format === 'uuid') return { kind: 'uuid' };
      if (format === 'date-time') return { kind: 'timestamp' };
      return { kind: format === 'date' ? 'day' : 'text' };
    default:
      return { kind: 'json' };
  }
}

// State while the fields of one table are built.
interface Building {
  readonly naming: Naming;
  /** Names of the table's columns. */
  readonly taken: Set<string>;
  /** Number of fields that may still be added. Members without a field are only in the stored item. */
  places: number;
}

// An object of which the members are read: the item, a nested object, or an element of a nested array.
interface Place {
  readonly path: readonly string[];
  /** Names of the columns of its table. */
  readonly inUse: Set<string>;
}

function begin(known: FieldForms, naming: Naming): Building {
  const taken = new Set([...naming.columns, ...columnsOf(known)]);
  return { naming, taken, places: COLUMNS_MAX - taken.size };
}

function nameColumn({ path, inUse }: Place): string {
  const name = uniqueName(path.map(toPlainName).filter(Boolean).join('_') || 'field', inUse);
  inUse.add(name);
  return name;
}

function below({ path, inUse }: Place, name: string): Place {
  return { path: [...path, name], inUse };
}

// Only arrays of the item itself become child tables.
function mayBeChild({ taken }: Building, { path, inUse }: Place): boolean {
  return path.length === 1 && inUse === taken;
}

function described({ about }: { readonly about?: string | null }): { about?: string } {
  return about === null || about === undefined ? {} : { about };
}

type Elements = Pick<ChildForm, 'scalar' | 'fields'>;

function toChild(building: Building, place: Place, about: { about?: string }, elements: Elements | null): FieldForm {
  if (elements === null) return { as: 'column', kind: 'json', column: nameColumn(place), ...about };
  const table = building.naming.table(toPlainName(place.path.at(-1) ?? '') || 'items');
  return { as: 'child', table, ...about, ...elements };
}

// Fields from a schema. A schema that allows everything describes nothing: the values decide.
function ofSchema(building: Building, place: Place, schema: SchemaForm): FieldForm | null {
  const types = [...schema.types].filter((type) => type !== 'null');
  if (types.length === 0) return null;
  const [type] = types;
  if (types.length === 1 && type === 'object' && schema.fields.size > 0 && place.path.length < DEPTH_MAX) {
    return { as: 'group', ...described(schema), fields: membersOfSchema(building, place, schema) };
  }
  const { items } = schema;
  if (types.length === 1 && type === 'array' && items !== null && items.types.size > 0 && mayBeChild(building, place))
    return toChild(building, place, described(schema), elementsOfSchema(building, items));
  const name = place.path.at(-1) ?? '';
  return { as: 'column', ...kindOfSchema(name, schema), column: nameColumn(place), ...described(schema) };
}

function membersOfSchema(building: Building, place: Place, schema: SchemaForm): FieldForms {
  const fields: Record<string, FieldForm> = {};
  for (const [name, member] of schema.fields) {
    if (!canStore(name) || building.places <= 0) continue;
    const field = ofSchema(building, below(place, name), member);
    if (field === null) continue;
    building.places -= 1;
    fields[name] = field;
  }
  return fields;
}

function elementsOfSchema(building: Building, element: SchemaForm): Elements | null {
  const inChild = { path: [], inUse: new Set(building.naming.childColumns) };
  const types = [...element.types].filter((type) => type !== 'null');
  if (types.every((type) => type === 'object'))
    return element.fields.size > 0 ? { fields: membersOfSchema(building, inChild, element) } : { fields: {} };
  if (types.includes('object') || types.includes('array')) return null;
  const value = ofSchema(building, below(inChild, 'value'), element);
  return value === null ? null : { scalar: true, fields: { value } };
}

function ofValue(building: Building, place: Place, value: unknown): FieldForm | null {
  if (isRecord(value) && place.path.length < DEPTH_MAX) {
    const fields = membersOfValue(building, place, {}, value);
    return Object.keys(fields).length === 0 ? null : { as: 'group', fields };
  }
  if (Array.isArray(value) && mayBeChild(building, place)) {
    if (value.length === 0) return null;
    const inChild = { path: [], inUse: new Set(building.naming.childColumns) };
    return toChild(building, place, {}, elementsOf(building, inChild, { fields: {} }, value));
  }
  return { as: 'column', ...kindOf(place.path.at(-1) ?? '', value), column: nameColumn(place) };
}

function merge(building: Building, place: Place, field: FieldForm, value: unknown): FieldForm {
  if (value === null || value === undefined) return field;
  const toJson = (): FieldForm => ({ as: 'column', kind: 'json', column: nameColumn(place), ...described(field) });
  if (field.as === 'group') {
    if (!isRecord(value)) return toJson();
    const fields = membersOfValue(building, place, field.fields, value);
    return fields === field.fields ? field : { ...field, fields };
  }
  if (field.as === 'child') {
    const inUse = new Set([...building.naming.childColumns, ...columnsOf(field.fields)]);
    const elements = Array.isArray(value) ? elementsOf(building, { path: [], inUse }, field, value) : null;
    if (elements === null) return toJson();
    return elements.fields === field.fields ? field : { ...field, ...elements };
  }
  if (fits(field, value)) return field;
  const { epoch: _epoch, ...rest } = field;
  return { ...rest, kind: widened(field, value) };
}

function membersOfValue(
  building: Building,
  place: Place,
  fields: FieldForms,
  value: Record<string, unknown>,
): FieldForms {
  let changed: Record<string, FieldForm> | null = null;
  for (const [name, inner] of Object.entries(value)) {
    if (inner === null || !canStore(name)) continue;
    const current = Object.hasOwn(fields, name) ? (fields[name] as FieldForm) : null;
    if (current === null && building.places <= 0) continue;
    const at = below(place, name);
    const after = current === null ? ofValue(building, at, inner) : merge(building, at, current, inner);
    if (after === null || after === current) continue;
    if (current === null) building.places -= 1;
    changed ??= { ...fields };
    changed[name] = after;
  }
  return changed ?? fields;
}

// Elements are all objects or all scalars; others have no table.
function elementsOf(building: Building, place: Place, known: Elements, elements: readonly unknown[]): Elements | null {
  const present = elements.filter((element) => element !== null);
  if (present.length === 0) return known;
  const areRecords = present.every(isRecord);
  const areScalars = present.every((element) => !isRecord(element) && !Array.isArray(element));
  const isEmpty = Object.keys(known.fields).length === 0;
  if (!areRecords && !areScalars) return null;
  if (!isEmpty && areScalars !== (known.scalar === true)) return null;
  let { fields } = known;
  for (const element of present) {
    fields = membersOfValue(
      building,
      place,
      fields,
      areScalars ? { value: element } : (element as Record<string, unknown>),
    );
  }
  if (fields === known.fields) return known;
  return areScalars ? { scalar: true, fields } : { fields };
}

/** Returns an item as an object: an item that is not an object has the member `value`. */
export function toMembers(item: unknown): Record<string, unknown> {
  return isRecord(item) ? item : { value: item };
}

/** Returns the names of all columns of these fields. */
export function columnsOf(fields: FieldForms): string[] {
  return Object.values(fields).flatMap((field) => {
    if (field.as === 'column') return [field.column];
    return field.as === 'group' ? columnsOf(field.fields) : [];
  });
}

// Names that cannot be declared; the values stay in the stored item.
function canStore(name: string): boolean {
  return name !== '' && name !== '__proto__' && !name.includes('\u0000');
}

/** Returns a name in snake_case with the characters a-z, 0-9 and _; empty if nothing is left. */
export function toPlainName(name: string): string {
  const plain = toColumnName(name.normalize('NFKD'))
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .slice(0, NAME_CHARACTERS_MAX)
    .replace(/_+$/, '');
  return /^\d/.test(plain) ? `_${plain}`.slice(0, NAME_CHARACTERS_MAX) : plain;
}

/** Returns the name, with a number if it is taken. */
export function uniqueName(name: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name;
  for (let number = 2; ; number += 1) {
    const numbered = `${name}_${number}`;
    if (!taken.has(numbered)) return numbered;
  }
}
