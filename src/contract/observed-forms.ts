import { isRecord } from '../base/json.ts';
import { toStored } from './convert.ts';
import { commonForm, type EmptyForm, FIELD_FORMS, type ObservedForms } from './field-forms.ts';
import { type ColumnKind, day, type Fields, metaOf } from './fields.ts';
import type { ResourceDeclaration } from './resource.ts';
import type { ChildTable, ResourceTable } from './tables.ts';
import { createValueWriter, hasForms, idsIn, type ValueWriter, widenForm } from './value-forms.ts';

/**
 * Observes the forms of the fields of items. Computed bodies and the descriptions of bodies use them; stored items do
 * not need them.
 */
export interface FormObserver {
  /** Observes the forms of fields of which no value was seen yet. */
  learn(items: readonly unknown[]): void;
  /** Observes the fields of an item that have another form, or none. */
  read(item: unknown): void;
}

/** The fields of a table or of a nested array, and where their observations are kept. */
export interface FormSource {
  readonly resource: string;
  /** Table, or table and nested array. */
  readonly place: string;
  readonly fields: Fields;
  readonly forms: ObservedForms;
  /** Whether the read server computes the values, so that ids in fields of any text are written in upstream's form too. */
  readonly isComputed?: boolean;
}

/** Creates the observer of a table's or a nested array's items. Elements of nested arrays need observers of their own. */
export function createFormObserver(source: FormSource): FormObserver {
  const steps = stepsOf(source, source.fields, []);
  return {
    learn: (items) => {
      for (const step of steps) step.learn(items);
    },
    read: (item) => {
      if (isRecord(item)) for (const step of steps) step.read(item);
    },
  };
}

interface Step {
  learn(items: readonly unknown[]): void;
  read(item: Readonly<Record<string, unknown>>): void;
}

function stepsOf(source: FormSource, fields: Fields, at: readonly string[]): Step[] {
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
      read: (item) => {
        const value = item[field] ?? null;
        if (value === null) checkEmpty(item);
        else valueStep?.read(value);
      },
    };
  });
}

type EmptyCheck = (item: Readonly<Record<string, unknown>>) => void;

// The first missing value decides the form: null, or no field.
function emptyCheck({ resource, place, forms }: FormSource, field: string, path: string): EmptyCheck {
  const name = FIELD_FORMS.empty(`${place}.${path}`);
  return (item) => {
    const form: EmptyForm = Object.hasOwn(item, field) ? 'null' : 'absent';
    const usual = forms.get(resource, name);
    if (usual === null) forms.set(resource, name, form);
    else if (usual !== form) forms.set(resource, FIELD_FORMS.varies(`${place}.${path}`), 'true');
  };
}

function listStep(field: string, checkEmpty: EmptyCheck): Step['read'] {
  return (item) => {
    const list = item[field];
    if (list === undefined || (Array.isArray(list) && list.length === 0)) checkEmpty(item);
  };
}

function groupStep(
  source: FormSource,
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
    read: (item) => {
      const group = item[field];
      if (!isRecord(group)) checkEmpty(item);
      else for (const step of steps) step.read(group);
    },
  };
}

interface ValueStep {
  learn(values: readonly unknown[]): void;
  read(value: unknown): void;
}

function createValueStep({ resource, place, forms }: FormSource, kind: ColumnKind, path: string): ValueStep {
  const at = `${place}.${path}`;
  const name = FIELD_FORMS.value(at);
  let form: string | null = null;
  let write: ValueWriter = createValueWriter(kind, null);
  // Another reader of the same resource may have changed the form.
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
    read: (value) => {
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
    },
  };
}

/** Place of the fields of a body outside its lists. */
export const BODY_PLACE = 'body';

/** Returns the place of a nested array's fields. */
export function placeOf(table: Pick<ResourceTable, 'name'>, child: Pick<ChildTable, 'field'>): string {
  return `${table.name}.${child.field}`;
}

/** Returns the fields of a body that are not in a list: echoed days and totals. */
export function bodyFields({ echoes = [], tables }: ResourceDeclaration): Fields {
  const echoed = Object.fromEntries(echoes.map((name) => [name, day('Echoed day.')]));
  return Object.assign(echoed, ...tables.map(({ beside }) => beside ?? {}));
}

/** Creates the observer of the fields of bodies outside their lists. */
export function createBodyObserver(resource: ResourceDeclaration, forms: ObservedForms): (body: unknown) => void {
  const fields = bodyFields(resource);
  if (Object.keys(fields).length === 0) return () => undefined;
  const reader = createFormObserver({ resource: resource.name, place: BODY_PLACE, fields, forms });
  return (body) => {
    reader.learn([body]);
    reader.read(body);
  };
}
