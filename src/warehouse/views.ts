import { createHash } from 'node:crypto';
import type { Database } from './database.ts';
import { literal, quoted, SCHEMA_VERSION } from './schema.ts';

/** A view over the warehouse's tables, with the comments on it and its columns. */
export interface View {
  readonly name: string;
  readonly about: string;
  readonly columns: readonly { readonly name: string; readonly about: string }[];
  readonly sql: string;
}

/**
 * Replaces the views of `schema` with these, in this order and in one transaction. The schema must not contain anything
 * else. Costs one query if the views are up to date. Returns whether anything changed.
 */
export async function ensureViews(database: Database, schema: string, views: readonly View[]): Promise<boolean> {
  const name = `views of ${schema}`;
  const version = createHash('sha256')
    .update(JSON.stringify([SCHEMA_VERSION, views]))
    .digest('hex');
  const changed = await database.transaction(async (session) => {
    const [stored] = await session.query('SELECT value FROM sync.meta WHERE name = $1', [name]);
    if (stored?.[0] === version) return false;
    await session.run(`DROP SCHEMA IF EXISTS ${quoted(schema)} CASCADE; CREATE SCHEMA ${quoted(schema)}`);
    for (const view of views) await session.run(statementsOf(schema, view).join(';\n'));
    await session.run('DELETE FROM sync.meta WHERE name = $1', [name]);
    await session.run('INSERT INTO sync.meta VALUES ($1, $2)', [name, version]);
    return true;
  });
  // Checkpoint at once, so that a crash never requires a replay of schema changes from the log.
  if (changed) await database.exclusive((session) => session.run('CHECKPOINT'));
  return changed;
}

function statementsOf(schema: string, { name, about, columns, sql }: View): string[] {
  const view = `${quoted(schema)}.${quoted(name)}`;
  return [
    `CREATE VIEW ${view} AS ${sql}`,
    `COMMENT ON VIEW ${view} IS ${literal(about)}`,
    ...columns.map((column) => `COMMENT ON COLUMN ${view}.${quoted(column.name)} IS ${literal(column.about)}`),
  ];
}
