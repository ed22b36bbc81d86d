import { isRecord } from '../base/json.ts';
import { toStored } from './convert.ts';
import { commonForm, type EmptyForm, FIELD_FORMS, type ObservedForms } from './field-forms.ts';
import { type ColumnKind, day, type Fields, metaOf } from './fields.ts';
import type { ResourceDeclaration } from './resource.ts';
import type { ChildTable, ResourceTable } from './tables.ts';
import { createValueWriter, hasForms, idsIn, type ValueWriter, widenForm } from './value-forms.ts';

/** Names in `_extra` of values that upstream sent in another form than the usual one of their field. */
export const SENT = {
  /** The values as they were sent, by path. */
  values: '_sent',
  /** The paths of fields that were left out. */
  absent: '_absent',
} as const;

/** Compares items with the forms of their fields. */
export interface SentReader {
  /** Observes the forms of fields of which no value was seen yet. */
  learn(items: readonly unknown[]): void;
  /** Returns what the columns of an item and the forms do not reproduce, for `_extra`; null if nothing. */
  read(item: unknown): Readonly<Record<string, unknown>> | null;
}

/** The fields of a table or of a nested array, and where their observations are kept. */
export interface SentSource {
  readonly resource: string;
  /** Table, or table and nested array. */
  readonly place: string;
  readonly fields: Fields;
  readonly forms: ObservedForms;
  /** Whether the read server computes the values, so that ids in fields of any text are written in upstream's form too. */
  readonly isComputed?: boolean;
}

interface Found {
  readonly sent: Record<string, unknown>;
  readonly absent: string[];
}

/** Creates the reader of a table's or a nested array's items. Elements of nested arrays need readers of their own. */
export function createSentReader(source: SentSource): SentReader {
  const steps = stepsOf(source, source.fields, []);
  return {
    learn: (items) => {
      for (const step of steps) step.learn(items);
    },
    read: (item) => {
      if (!isRecord(item)) return null;
      const found: Found = { sent: {}, absent: [] };
      for (const step of steps) step.read(item, found);
      const { sent, absent } = found;
      if (Object.keys(sent).length === 0 && absent.length === 0) return null;
      return {
        ...(Object.keys(sent).length === 0 ? {} : { [SENT.values]: sent }),
        ...(absent.length === 0 ? {} : { [SENT.absent]: absent }),
      };
    },
  };
}

interface Step {
  learn(items: readonly unknown[]): void;
  /** Returns whether the item has no value. */
  read(item: Readonly<Record<string, unknown>>, found: Found): boolean;
}

function stepsOf(source: SentSource, fields: Fields, at: readonly string[]): Step[] {
  return Object.entries(fields).map(([field, schema]) => {
    const meta = metaOf(schema);
    const path = [...at, field];
    const checkEmpty = emptyCheck(source, field, path.join('.'));
    if (meta.as === 'child') return { learn: () => undefined, read: listStep(field, checkEmpty) };
    if (meta.as === 'group') return groupStep(source, field, path, meta.fields, checkEmpty);
    const hasValueForm =
      hasForms(meta.kind) || (source.isComputed === true && (meta.kind === 'text' || meta.kind === 'json'));
    const valueStep = hasValueForm ? createValueStep(source, meta.kind, path.join('.')) : null;
    return {
      learn: (items) => valueStep?.learn(items.map((item) => (isRecord(item) ? item[field] : null))),
      read: (item, found) => {
        const value = item[field] ?? null;
        if (value === null) checkEmpty(item, found);
        else valueStep?.read(value, found);
        return value === null;
      },
    };
  });
}

type EmptyCheck = (item: Readonly<Record<string, unknown>>, found: Found) => void;

// The first missing value decides the form: null, or no field.
function emptyCheck({ resource, place, forms }: SentSource, field: string, path: string): EmptyCheck {
  const name = FIELD_FORMS.empty(`${place}.${path}`);
  return (item, found) => {
    const form: EmptyForm = Object.hasOwn(item, field) ? 'null' : 'absent';
    const usual = forms.get(resource, name);
    if (usual === null) forms.set(resource, name, form);
    if (usual === null || usual === form) return;
    forms.set(resource, FIELD_FORMS.varies(`${place}.${path}`), 'true');
    if (form === 'absent') found.absent.push(path);
    else found.sent[path] = item[field] ?? null;
  };
}

// A null list is among the unknown fields, because nested rows do not tell it from an empty one.
function listStep(field: string, checkEmpty: EmptyCheck): Step['read'] {
  return (item, found) => {
    const list = item[field];
    const isEmpty = list === undefined || (Array.isArray(list) && list.length === 0);
    if (isEmpty) checkEmpty(item, found);
    return isEmpty || list === null;
  };
}

function groupStep(
  source: SentSource,
  field: string,
  path: readonly string[],
  fields: Fields,
  checkEmpty: EmptyCheck,
): Step {
  const steps = stepsOf(source, fields, path);
  return {
    learn: (items) => {
      const inner = items.flatMap((item) => (isRecord(item) && isRecord(item[field]) ? [item[field]] : []));
      for (const step of steps) step.learn(inner);
    },
    read: (item, found) => {
      const group = item[field];
      if (!isRecord(group)) {
        checkEmpty(item, found);
        return true;
      }
      const own: Found = { sent: {}, absent: [] };
      const empties = steps.map((step) => step.read(group, own));
      // The columns do not tell an object of nulls from null.
      if (empties.every(Boolean)) {
        const declared = Object.keys(fields).filter((name) => Object.hasOwn(group, name));
        found.sent[path.join('.')] = Object.fromEntries(declared.map((name) => [name, group[name]]));
        return true;
      }
      Object.assign(found.sent, own.sent);
      found.absent.push(...own.absent);
      return false;
    },
  };
}

interface ValueStep {
  learn(values: readonly unknown[]): void;
  read(value: unknown, found: Found): void;
}

function createValueStep({ resource, place, forms }: SentSource, kind: ColumnKind, path: string): ValueStep {
  const at = `${place}.${path}`;
  const name = FIELD_FORMS.value(at);
  let form: string | null = null;
  let write: ValueWriter = createValueWriter(kind, null);
  // Another reader of the same resource may have observed it meanwhile.
  const current = (): ValueWriter => {
    const known = forms.get(resource, name);
    if (known !== form) {
      form = known;
      write = createValueWriter(kind, form);
    }
    return write;
  };
  return {
    learn: (values) => {
      if (forms.get(resource, name) !== null) return;
      const common = commonForm(
        kind,
        values.filter((value) => (value ?? null) !== null),
        (value) => toStored(kind, value),
      );
      if (common !== null) forms.set(resource, name, common);
    },
    read: (value, found) => {
      // Text and JSON are stored as they were sent.
      if (kind === 'text' || kind === 'json') {
        const write = current();
        if (idsIn(value).some((id) => write(id.toLowerCase()) !== id))
          forms.set(resource, FIELD_FORMS.varies(at), 'true');
        return;
      }
      const stored = toStored(kind, value);
      if (current()(stored) === value) return;
      const wider = form === null ? null : widenForm(kind, form, value);
      if (wider !== null && createValueWriter(kind, wider)(stored) === value) {
        forms.set(resource, name, wider);
        return;
      }
      forms.set(resource, FIELD_FORMS.varies(at), 'true');
      found.sent[path] = value;
    },
  };
}

/** Place of the fields of a body outside its lists. */
export const BODY_PLACE = 'body';

/** Returns the place of a nested array's fields. */
export function placeOf(table: Pick<ResourceTable, 'name'>, child: Pick<ChildTable, 'field'>): string {
  return `${table.name}.${child.field}`;
}

/** Returns the fields of a resource's body outside its lists: echoed days, and the fields beside a list. */
export function bodyFields({ echoes = [], tables }: ResourceDeclaration): Fields {
  const echoed = Object.fromEntries(echoes.map((name) => [name, day('Echoed day.')]));
  return Object.assign(echoed, ...tables.map(({ beside }) => beside ?? {}));
}

/** Creates the observer of the fields of bodies outside their lists. Such fields are computed, so their values are not kept. */
export function createBodyReader(resource: ResourceDeclaration, forms: ObservedForms): (body: unknown) => void {
  const fields = bodyFields(resource);
  if (Object.keys(fields).length === 0) return () => undefined;
  const reader = createSentReader({ resource: resource.name, place: BODY_PLACE, fields, forms });
  return (body) => {
    reader.learn([body]);
    reader.read(body);
  };
}

/** Adds what `SentReader.read` returns to the unknown fields of an item. Unknown fields of the same names are kept too. */
export function withSent(
  extra: Record<string, unknown> | null,
  sent: Readonly<Record<string, unknown>> | null,
): Record<string, unknown> | null {
  const clashing = [SENT.values, SENT.absent].filter((name) => extra !== null && Object.hasOwn(extra, name));
  if (sent === null && clashing.length === 0) return extra;
  const values = { ...(sent?.[SENT.values] as object | undefined) } as Record<string, unknown>;
  const merged: Record<string, unknown> = Object.defineProperties({}, Object.getOwnPropertyDescriptors(extra ?? {}));
  for (const name of clashing) {
    values[name] = merged[name];
    delete merged[name];
  }
  if (Object.keys(values).length > 0) merged[SENT.values] = values;
  if (sent?.[SENT.absent] !== undefined) merged[SENT.absent] = sent[SENT.absent];
  return merged;
}

/**
 * Returns the reader of an item's fields other than `known`, and of undeclared fields of its nested objects. It returns null if
 * there are none.
 */
export function undeclaredReader(
  known: ReadonlySet<string>,
  fields: Fields,
): (item: unknown) => Record<string, unknown> | null {
  const groups = new Map<string, (item: unknown) => Record<string, unknown> | null>();
  // Child rows cannot distinguish a null array from an empty one, so null arrays are stored in `_extra`.
  const lists = new Set<string>();
  for (const [name, field] of Object.entries(fields)) {
    const meta = metaOf(field);
    if (meta.as === 'child') lists.add(name);
    if (meta.as === 'group') groups.set(name, undeclaredReader(new Set(Object.keys(meta.fields)), meta.fields));
  }
  return (item) => {
    if (!isRecord(item)) return null;
    let extra: Record<string, unknown> | null = null;
    for (const name of Object.keys(item)) {
      const isNullList = item[name] === null && lists.has(name);
      const value = known.has(name) && !isNullList ? groups.get(name)?.(item[name]) : item[name];
      if (value === undefined || (value === null && known.has(name) && !isNullList)) continue;
      extra ??= {};
      // Define, do not assign: upstream may name a field __proto__.
      Object.defineProperty(extra, name, { value, enumerable: true, configurable: true, writable: true });
    }
    return extra;
  };
}
