import { parseExactJson } from '../base/json.ts';
import type { Catalogue } from '../contract/catalogue.ts';
import { FIELD_FORMS } from '../contract/field-forms.ts';
import { itemColumnOf } from '../contract/tables.ts';
import { idsIn } from '../contract/value-forms.ts';
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
  for (const resource of catalogue.resources.filter(({ change }) => change.kind !== 'detail')) {
    for (const table of resource.derived.filter(({ extent }) => extent.kind !== 'time')) {
      const item = quoted(itemColumnOf(resource, table));
      const items = await query(
        `SELECT DISTINCT CAST(${item} AS VARCHAR) FROM ${quoted(table.name)} WHERE ${item} IS NOT NULL`,
      );
      const ids = items.flatMap(([text]) => idsIn(parseExactJson(String(text))));
      for (const id of unusual(ids)) spellings.set(id.toLowerCase(), id);
    }
  }
  return spellings;
}

// Returns the ids that are in another case than most.
function unusual(ids: readonly string[]): string[] {
  const upper = ids.filter((id) => id === id.toUpperCase() && id !== id.toLowerCase()).length;
  const usual = 2 * upper > ids.length ? (id: string) => id.toUpperCase() : (id: string) => id.toLowerCase();
  return ids.filter((id) => usual(id) !== id);
}
