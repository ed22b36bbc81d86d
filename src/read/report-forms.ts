import { isRecord } from '../base/json.ts';
import type { FieldWriters } from '../contract/field-forms.ts';
import { type ColumnKind, type Fields, metaOf } from '../contract/fields.ts';
import { BODY_PLACE, bodyFields } from '../contract/observed-forms.ts';
import type { ResourceDeclaration } from '../contract/resource.ts';
import { mapIds, type ValueWriter } from '../contract/value-forms.ts';
import type { Report } from '../metrics/numbers/report-request.ts';

type Item = Readonly<Record<string, unknown>>;

/** The forms of a report, and the texts of ids whose case differs from that of other ids, by the id in lower case. */
export interface ReportForms extends FieldWriters {
  readonly spellings: ReadonlyMap<string, string>;
}

/** Writes a computed report in upstream's forms. Values that are written already, such as stored rows of visits, are not changed. */
export function writeReport(resource: ResourceDeclaration, { beside, rows }: Report, writers: ReportForms): Report {
  const body = resource.tables.find(({ at }) => at === 'body');
  const list = resource.tables.find(({ at }) => at !== 'body');
  const writeBody = itemWriter(bodyFields(resource), BODY_PLACE, writers);
  const writeOwn = body === undefined ? (item: Item) => item : itemWriter(body.fields, body.name, writers);
  const writeRow = list === undefined ? (item: Item) => item : itemWriter(list.fields, list.name, writers);
  return { beside: writeOwn(writeBody(beside)), rows: rows.map(writeRow) };
}

// Returns a function that writes the declared fields of an item; others are kept.
function itemWriter(fields: Fields, place: string, writers: ReportForms): (item: Item) => Item {
  const steps = new Map(
    Object.entries(fields).map(([name, schema]) => [name, fieldWriter(schema, `${place}.${name}`, writers)]),
  );
  return (item) => {
    const written: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(item)) {
      const step = steps.get(name);
      const changed = step === undefined ? value : step(value);
      if (changed !== undefined) written[name] = changed;
    }
    return written;
  };
}

// Returns undefined for a value that upstream leaves out.
function fieldWriter(schema: Fields[string], place: string, writers: ReportForms): (value: unknown) => unknown {
  const meta = metaOf(schema);
  const nothing = writers.empty(place) === 'absent' ? undefined : null;
  if (meta.as === 'group') {
    const write = itemWriter(meta.fields, place, writers);
    return (value) => (isRecord(value) ? write(value) : (value ?? nothing));
  }
  if (meta.as === 'child') {
    const write = itemWriter(meta.child.fields, place, writers);
    return (value) => {
      if (!Array.isArray(value)) return value ?? nothing;
      return value.length === 0 && nothing === undefined
        ? undefined
        : value.map((item) => (isRecord(item) ? write(item) : item));
    };
  }
  const write = valueWriter(meta.kind, place, writers);
  return (value) => ((value ?? null) === null ? nothing : write(value));
}

function valueWriter(kind: ColumnKind, place: string, writers: ReportForms): ValueWriter {
  const write = writers.value(place, kind);
  const spelled = writers.varies(place)
    ? (value: unknown) => mapIds(write(value), (id) => writers.spellings.get(id.toLowerCase()) ?? id)
    : write;
  if (kind !== 'json') return spelled;
  return (value) => withoutNulls(spelled(value), (name) => writers.empty(`${place}.${name}`) === 'absent');
}

// Nested objects of a computed field have no observed forms of their own.
function withoutNulls(value: unknown, isLeftOut: (name: string) => boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item, isLeftOut));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([name, inner]) => inner !== null || !isLeftOut(name)));
}
