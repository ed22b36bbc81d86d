import type { Catalogue } from '../contract/catalogue.ts';
import type { Database, Session } from './database.ts';
import { quoted } from './schema.ts';

/** Rows of a table that cannot be right. */
export interface Flaw {
  readonly table: string;
  readonly kind: 'repeated key' | 'no parent';
  /** Keys that several rows have, or rows without a parent. */
  readonly count: number;
}

/** Looks through all tables for keys that several rows have, and for nested rows whose parent is not there. */
export async function findFlaws(database: Database, { resources, tables }: Catalogue): Promise<Flaw[]> {
  return database.exclusive(async (session) => {
    const flaws: Flaw[] = [];
    const note = async (table: string, kind: Flaw['kind'], from: string): Promise<void> => {
      const count = await countOf(session, from);
      if (count > 0) flaws.push({ table, kind, count });
    };
    for (const { name, key } of tables.filter((table) => table.key.length > 0)) {
      const columns = key.map(quoted).join(', ');
      await note(name, 'repeated key', `SELECT 1 FROM ${quoted(name)} GROUP BY ${columns} HAVING count(*) > 1`);
    }
    const parents = new Map(resources.flatMap(({ derived }) => derived).map((table) => [table.name, table]));
    for (const parent of parents.values()) {
      for (const child of parent.children) {
        const same = parent.key.map(
          (column, index) => `p.${quoted(column)} IS NOT DISTINCT FROM c.${quoted(child.parentKey[index] as string)}`,
        );
        await note(
          child.name,
          'no parent',
          `SELECT 1 FROM ${quoted(child.name)} c ANTI JOIN ${quoted(parent.name)} p ON ${same.join(' AND ')}`,
        );
      }
    }
    return flaws;
  });
}

async function countOf(session: Session, from: string): Promise<number> {
  const [row] = await session.query(`SELECT count(*) FROM (${from})`);
  return Number(row?.[0] ?? 0);
}
