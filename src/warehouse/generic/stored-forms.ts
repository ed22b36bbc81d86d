import { type GenericForm, toGenericForm } from '../../contract/generic/generic-form.ts';
import { shapeOfPath } from '../../contract/openapi/references.ts';
import type { Query, Session } from '../database.ts';
import { toTimestampText } from '../ledger/ledger.ts';

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
