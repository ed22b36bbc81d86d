import { isRecord, parseExactJson } from '../base/json.ts';
import type { Catalogue } from '../contract/catalogue.ts';
import { FIELD_FORMS, type FieldWriters } from '../contract/field-forms.ts';
import { type ColumnKind, type Fields, metaOf } from '../contract/fields.ts';
import { BODY_PLACE, bodyFields } from '../contract/observed-forms.ts';
import type { ResourceDeclaration } from '../contract/resource.ts';
import { itemColumnOf } from '../contract/tables.ts';
import { idsIn, mapIds, type ValueWriter } from '../contract/value-forms.ts';
import type { Report } from '../metrics/numbers/report-request.ts';
import type { Query } from '../warehouse/database.ts';
import type { Shapes } from '../warehouse/ledger/shapes.ts';
import { quoted } from '../warehouse/schema.ts';

type Item = Readonly<Record<string, unknown>>;

/** The forms of a report, and the result of `readSpellings`. */
export interface ReportForms extends FieldWriters {
  readonly spellings: ReadonlyMap<string, string>;
}

/**
 * Reads the texts of ids by the id in lower case, if upstream writes ids of a field in different cases; otherwise empty. They come from
 * lists and reports; tables of dated items are too long, and their ids are also in the lists.
 */
export async function readSpellings(
  query: Query,
  catalogue: Catalogue,
  { rows }: Shapes,
): Promise<Map<string, string>> {
  const spellings = new Map<string, string>();
  const computed = new Set(
    catalogue.resources.filter(({ computes }) => computes !== undefined).map(({ name }) => name),
  );
  const varies = rows.some(([resource, name]) => computed.has(resource) && name.startsWith(FIELD_FORMS.varies('')));
  if (!varies) return spellings;
  for (const resource of catalogue.resources.filter(({ change }) => change.kind !== 'detail')) {
    for (const table of resource.derived.filter(({ extent }) => extent.kind !== 'time')) {
      const item = quoted(itemColumnOf(resource, table));
      const items = await query(
        `SELECT DISTINCT CAST(${item} AS VARCHAR) FROM ${quoted(table.name)} WHERE ${item} IS NOT NULL`,
      );
      const ids = items.flatMap(([text]) => idsIn(parseExactJson(String(text))));
      for (const id of ids) spellings.set(id.toLowerCase(), id);
    }
  }
  return spellings;
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
