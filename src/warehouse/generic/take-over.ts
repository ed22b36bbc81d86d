import { type Catalogue, createCatalogue, type Resource } from '../../contract/catalogue.ts';
import { declareForms } from '../../contract/generic/generic-declarations.ts';
import { shapeOfPath } from '../../contract/openapi/references.ts';
import type { Session } from '../database.ts';
import { literal, quoted } from '../schema.ts';
import { dropAside, refill, type SetAside, setAside } from './refill.ts';
import { readForms } from './stored-forms.ts';

/**
 * Moves the rows of inferred endpoints that are declared now to the tables of their declarations. Call it in the transaction of the
 * migration: before the tables are created, and the returned function after that. A table whose items the declaration rejects is kept
 * as `<table>_generic`.
 */
export async function takeOver(session: Session, catalogue: Catalogue): Promise<() => Promise<void>> {
  const resources = catalogue.resources.filter(({ generic }) => generic !== true);
  const declared = new Map(resources.map((resource) => [shapeOfPath(resource.path), resource]));
  const stored = await readForms(session.query);
  const taken = stored.filter(({ path }) => declared.has(shapeOfPath(path)));
  if (taken.length === 0) return () => Promise.resolve();
  // Forms of parents are needed to derive the tables of the lists below them.
  const others = resources.filter(({ path }) => !stored.some((form) => shapeOfPath(form.path) === shapeOfPath(path)));
  const before = createCatalogue([...others, ...declareForms(others, stored)]);
  const moved: { readonly aside: SetAside; readonly to: Resource; readonly path: string }[] = [];
  for (const { name, path } of taken) {
    const to = declared.get(shapeOfPath(path)) as Resource;
    const table = before.resources.find((resource) => resource.name === name)?.derived[0];
    if (table === undefined || !(await hasTable(session, name))) continue;
    const hasHistory = await hasTable(session, `${name}_history`);
    moved.push({ aside: await setAside(session, table, hasHistory), to, path });
  }
  return async () => {
    for (const { aside, to } of moved) {
      const isComplete = await refill(session, aside, catalogue, to);
      if (!isComplete) await keepAside(session, aside);
      await dropAside(session, aside);
    }
    for (const { path } of taken) {
      const { name } = declared.get(shapeOfPath(path)) as Resource;
      await session.run(
        `UPDATE sync.endpoints SET state = 'declared', reason = NULL, resource = $2, declaration = NULL WHERE path = $1`,
        [path, name],
      );
    }
  };
}

async function keepAside(session: Session, { table, rows, history }: SetAside): Promise<void> {
  for (const [from, to] of [
    [rows, `${table.name}_generic`],
    [history, `${table.name}_generic_history`],
  ] as const) {
    if (from === null) continue;
    await session.run(
      `CREATE TABLE IF NOT EXISTS main.${quoted(to)} AS SELECT * EXCLUDE (_place) FROM temp.${quoted(from)}`,
    );
    await session.run(
      `COMMENT ON TABLE main.${quoted(to)} IS ${literal('Rows of an inferred declaration that the later declaration could not take over.')}`,
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
