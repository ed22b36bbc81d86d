import type { Catalogue } from '../../contract/catalogue.ts';
import type { ResourceTable } from '../../contract/tables.ts';
import { createBindings, liveConditions, rangeCondition } from '../../warehouse/conditions.ts';
import type { Query } from '../../warehouse/database.ts';
import { quoted } from '../../warehouse/schema.ts';
import type { Row } from './comparison.ts';

/** A report of upstream about some days of a brand. */
interface Reported {
  readonly catalogue: Catalogue;
  readonly resource: string;
  readonly brandId: string;
  readonly from: string;
  readonly to: string;
  /** Value of the parameter that distinguishes the requests of the report; null if there is none. */
  readonly by: string | null;
}

/** Reads the rows of a report as upstream last sent them, with the names of their fields. */
export async function readReportedRows(
  query: Query,
  { catalogue, resource, brandId, by, ...range }: Reported,
): Promise<Row[]> {
  const { derived, each } = catalogue.get(resource);
  const { name: table, columns, extent } = derived[0] as ResourceTable;
  const bindings = createBindings();
  const day = (value: string): string => `CAST(${bindings.bind(value)} AS DATE)`;
  const where = [
    ...liveConditions('t', brandId, bindings),
    ...(extent.kind === 'time'
      ? [rangeCondition(`t.${quoted(extent.field)}`, range, bindings)]
      : [`t.range_from = ${day(range.from)}`, `t.range_to = ${day(range.to)}`]),
    ...(by === null || each === undefined ? [] : [`t.${quoted(each.column)} = ${bindings.bind(by)}`]),
  ];
  const fields = columns.flatMap(({ name, kind, source }) =>
    source.from === 'item' || source.from === 'body' ? [{ name, kind, field: source.path.join('.') }] : [],
  );
  const selected = fields.map(({ name, kind }) =>
    TEXTS.includes(kind) ? `CAST(t.${quoted(name)} AS VARCHAR)` : `t.${quoted(name)}`,
  );
  const rows = await query(
    `SELECT ${selected.join(', ')} FROM ${quoted(table)} t WHERE ${where.join(' AND ')}`,
    bindings.values,
  );
  return rows.map((row) =>
    Object.fromEntries(
      fields.map(({ field, kind }, index) => [field, kind === 'json' ? parse(row[index]) : row[index]]),
    ),
  );
}

const TEXTS = ['uuid', 'json', 'day'];

function parse(text: unknown): unknown {
  return typeof text === 'string' ? JSON.parse(text) : null;
}
