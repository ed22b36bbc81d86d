import { type Column, pointerOfColumn } from '../../contract/tables.ts';
import type { Session } from '../database.ts';
import { derivationOf } from '../derived-columns.ts';
import { quoted } from '../schema.ts';

/** A table of stored items with other columns than before. */
export interface ChangedTable {
  readonly name: string;
  readonly before: readonly Column[];
  readonly after: readonly Column[];
}

/**
 * Creates tables with stored items again, so that they have other columns. `create` creates the empty tables. Derived columns get their
 * values from the items; the others keep them. Call it within a transaction.
 */
export async function rebuildTables(
  session: Session,
  tables: readonly ChangedTable[],
  create: () => Promise<void>,
): Promise<void> {
  const asideOf = (name: string): string => quoted(`_aside_${name}`);
  for (const { name } of tables) {
    await session.run(`CREATE OR REPLACE TEMP TABLE ${asideOf(name)} AS SELECT * FROM main.${quoted(name)}`);
    await session.run(`DROP TABLE main.${quoted(name)}`);
  }
  await create();
  for (const { name, before, after } of tables) {
    const known = new Set(before.map((column) => column.name));
    const filled = after.filter((column) => pointerOfColumn(column) !== null || known.has(column.name));
    const derived = derivationOf(filled);
    const values = filled.map((column) =>
      pointerOfColumn(column) === null ? `s.${quoted(column.name)}` : derived.value(column, 's'),
    );
    const names = filled.map((column) => quoted(column.name));
    const source = derived.over(`temp.${asideOf(name)}`);
    await session.run(
      `INSERT INTO main.${quoted(name)} (${names.join(', ')}) SELECT ${values.join(', ')} FROM ${source} s`,
    );
    await session.run(`DROP TABLE temp.${asideOf(name)}`);
  }
}
