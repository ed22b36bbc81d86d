import { parseExactJson } from '../../base/json.ts';
import { WHOLE_ITEM } from '../../contract/generic/generic-declarations.ts';
import { type GenericForm, toGenericForm } from '../../contract/generic/generic-form.ts';
import { shapeOfPath } from '../../contract/openapi/references.ts';
import type { Values } from '../../contract/rows.ts';
import type { ResourceTable } from '../../contract/tables.ts';
import type { Database, Query, Session } from '../database.ts';
import { toTimestampText } from '../ledger/ledger.ts';
import { quoted } from '../schema.ts';

/** Maximum number of items that are read. */
const ITEMS_MAX = 10_000;

/** Reads the stored forms, in the order in which they were found. */
export async function readForms(query: Query): Promise<GenericForm[]> {
  const rows = await query(
    'SELECT CAST(declaration AS VARCHAR) FROM sync.endpoints WHERE declaration IS NOT NULL ORDER BY found_at, path',
  );
  return rows.flatMap(([text]) => {
    return toGenericForm(JSON.parse(String(text))) ?? [];
  });
}

/** Stores the form of an endpoint of `sync.endpoints`, and whether its lists can be read; `at` is upstream's time, epoch milliseconds. */
export async function writeForm(session: Session, form: GenericForm, at: number): Promise<void> {
  const reason = form.unsupported?.reason ?? null;
  const state = reason === null ? 'available' : 'unsupported';
  const rows = await session.run(
    `UPDATE sync.endpoints SET declaration = CAST($2 AS JSON), resource = $3, changed_at = CAST($4 AS TIMESTAMP), state = $5, reason = $6
     WHERE regexp_replace(path, '\\{[^}]*\\}', '{}', 'g') = $1`,
    [shapeOfPath(form.path), JSON.stringify(form), form.name, toTimestampText(at), state, reason],
  );
  // A rebuilt warehouse has no endpoints yet.
  if (rows === 0) {
    await session.run(
      `INSERT INTO sync.endpoints (path, resource, state, reason, declaration, found_at, changed_at)
       VALUES ($1, $2, $5, $6, CAST($3 AS JSON), CAST($4 AS TIMESTAMP), CAST($4 AS TIMESTAMP))`,
      [form.path, form.name, JSON.stringify(form), toTimestampText(at), state, reason],
    );
  }
}

/** Reads the live items of one list; `fixed` are the columns set by its request. */
export async function readStoredItems(database: Database, table: ResourceTable, fixed: Values): Promise<unknown[]> {
  const conditions = table.fixed.map(
    (name, index) => `AND CAST(${quoted(name)} AS VARCHAR) IS NOT DISTINCT FROM $${index + 1}`,
  );
  const rows = await database.exclusive((session) =>
    session.query(
      `SELECT CAST(${quoted(WHOLE_ITEM)} AS VARCHAR) FROM ${quoted(table.name)}
       WHERE "_deleted_at" IS NULL ${conditions.join(' ')} ORDER BY rowid LIMIT ${ITEMS_MAX}`,
      table.fixed.map((name) => (fixed[name] ?? null) as string | null),
    ),
  );
  return rows.map(([text]) => parseExactJson(String(text ?? 'null')));
}
