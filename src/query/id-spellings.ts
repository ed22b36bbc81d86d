import { isRecord, parseExactJson } from '../base/json.ts';
import type { Catalogue } from '../contract/catalogue.ts';
import { FIELD_FORMS } from '../contract/field-forms.ts';
import { SENT } from '../contract/sent-values.ts';
import type { ResourceTable } from '../contract/tables.ts';
import { idsIn } from '../contract/value-forms.ts';
import { columnAt } from '../warehouse/conditions.ts';
import type { Query } from '../warehouse/database.ts';
import type { Shapes } from '../warehouse/ledger/shapes.ts';
import { quoted } from '../warehouse/schema.ts';

/**
 * Reads the texts of ids that upstream writes in another case than other ids of the same field, by the id in lower case. They come
 * from lists and reports; tables of dated items are too long, and their ids are also in the lists. Empty if every field has one form.
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
  for (const { derived } of catalogue.resources) {
    for (const table of derived.filter(({ extent }) => extent.kind !== 'time')) {
      for (const sql of statementsOf(table)) {
        for (const [text] of await query(sql)) {
          for (const id of idsIn(sentIn(String(text)))) spellings.set(id.toLowerCase(), id);
        }
      }
    }
  }
  return spellings;
}

// Items of unknown form are stored whole; of other items, only the values with an unusual form.
function statementsOf(table: ResourceTable): string[] {
  const { whole } = table.declaration;
  const column = whole === undefined ? null : columnAt(table, whole);
  if (column !== null) return [`SELECT DISTINCT CAST(${quoted(column.name)} AS VARCHAR) FROM ${quoted(table.name)}`];
  return [table, ...table.children].map(
    ({ name }) =>
      `SELECT DISTINCT CAST("_extra" AS VARCHAR) FROM ${quoted(name)} WHERE json_exists("_extra", '$.${SENT.values}')`,
  );
}

function sentIn(text: string): unknown {
  const value = parseExactJson(text);
  return isRecord(value) && SENT.values in value ? value[SENT.values] : value;
}
