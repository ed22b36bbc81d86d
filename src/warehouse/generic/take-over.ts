import type { Catalogue } from '../../contract/catalogue.ts';
import { shapeOfPath } from '../../contract/openapi/references.ts';
import type { Session } from '../database.ts';
import { literal, quoted } from '../schema.ts';
import { readForms } from './stored-forms.ts';

/**
 * Keeps the rows of undeclared endpoints that are declared now, as `<table>_generic` and `<table>_generic_history`; the declared tables
 * begin empty. Call it in the transaction of the migration, before the tables are created.
 */
export async function takeOver(session: Session, catalogue: Catalogue): Promise<void> {
  const resources = catalogue.resources.filter(({ generic }) => generic !== true);
  const declared = new Map(resources.map((resource) => [shapeOfPath(resource.path), resource.name]));
  for (const { name, path } of await readForms(session.query)) {
    const resource = declared.get(shapeOfPath(path));
    if (resource === undefined) continue;
    for (const [from, to] of [
      [name, `${name}_generic`],
      [`${name}_history`, `${name}_generic_history`],
    ] as const) {
      if (!(await hasTable(session, from)) || (await hasTable(session, to))) continue;
      await session.run(`ALTER TABLE main.${quoted(from)} RENAME TO ${quoted(to)}`);
      await session.run(
        `COMMENT ON TABLE main.${quoted(to)} IS ${literal(`Rows of ${path} from the time before it was declared.`)}`,
      );
    }
    for (const table of ['checkpoints', 'coverage', 'listings'])
      await session.run(`DELETE FROM sync.${table} WHERE resource = $1`, [name]);
    await session.run(
      `UPDATE sync.endpoints SET state = 'declared', reason = NULL, resource = $2, declaration = NULL WHERE path = $1`,
      [path, resource],
    );
  }
}

async function hasTable(session: Session, name: string): Promise<boolean> {
  const rows = await session.query(
    `SELECT 1 FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = 'main' AND table_name = $1`,
    [name],
  );
  return rows.length > 0;
}
