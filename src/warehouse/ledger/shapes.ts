import type { Query, Session } from '../database.ts';
import { ledgerInsert, stage } from '../write/staging.ts';

/** The last seen forms of upstream's responses where the specification leaves them open. */
export interface Shapes {
  /** Returns a form of a resource, such as its envelope; null if none was seen yet. */
  get(resource: string, name: string): string | null;
  /** Returns all forms of a resource as one text, for comparison. */
  of(resource: string): string;
  /** All forms as one text, for comparison. */
  readonly text: string;
  readonly rows: readonly (readonly [resource: string, name: string, value: string])[];
}

/** Reads all forms. */
export async function readShapes(query: Query): Promise<Shapes> {
  const found = await query('SELECT resource, name, value FROM sync.shapes ORDER BY ALL');
  const rows = found.map((row) => row.map(String) as [string, string, string]);
  const values = new Map(rows.map(([resource, name, value]) => [`${resource} ${name}`, value]));
  return {
    get: (resource, name) => values.get(`${resource} ${name}`) ?? null,
    of: (resource) => JSON.stringify(rows.filter(([name]) => name === resource)),
    text: JSON.stringify(rows),
    rows,
  };
}

/** Writes forms in the only process that writes them, so that unchanged ones need no query. */
export interface ShapeWriter {
  /** Returns whether a stored value differs from these forms. */
  isChanged(resource: string, forms: ReadonlyMap<string, string>): boolean;
  /**
   * Stores forms of a resource with `commit`, in a transaction that other writes may share (`Database.groupCommit`); replaces earlier
   * values.
   */
  write<T>(
    resource: string,
    forms: ReadonlyMap<string, string>,
    commit: (write: (session: Session) => Promise<void>) => Promise<T>,
  ): Promise<T>;
}

/** Creates the writer with the forms that are stored. */
export function createShapeWriter({ rows }: Pick<Shapes, 'rows'>): ShapeWriter {
  const values = new Map(rows.map(([resource, name, value]) => [`${resource} ${name}`, value]));
  // May have a row in the table, also one of a transaction that failed.
  const stored = new Set(values.keys());
  const changedOf = (resource: string, forms: ReadonlyMap<string, string>): [string, string][] =>
    [...forms].filter(([name, value]) => values.get(`${resource} ${name}`) !== value);
  return {
    isChanged: (resource, forms) => changedOf(resource, forms).length > 0,
    write: async (resource, forms, commit) => {
      let isRepeated = false;
      const write = async (session: Session): Promise<void> => {
        // Other writes of the same transaction do not repeat these forms. If the transaction failed, each writes its own.
        const changed = isRepeated ? [...forms] : changedOf(resource, forms);
        isRepeated = true;
        if (changed.length === 0) return;
        const keys = changed.map(([name]) => `${resource} ${name}`);
        if (keys.some((key) => stored.has(key))) await forget(session, resource, changed);
        for (const key of keys) stored.add(key);
        for (const [name, value] of changed) values.set(`${resource} ${name}`, value);
        session.append(insertShapes, stage(changed.map(([name, value]) => ({ resource, name, value }))));
      };
      try {
        return await commit(write);
      } catch (thrown) {
        for (const name of forms.keys()) values.delete(`${resource} ${name}`);
        throw thrown;
      }
    },
  };
}

const insertShapes = ledgerInsert('shapes');

async function forget(
  session: Session,
  resource: string,
  forms: readonly (readonly [name: string, value: string])[],
): Promise<void> {
  const names = forms.map(([name]) => name);
  await session.flush();
  await session.run('DELETE FROM sync.shapes WHERE resource = $1 AND list_contains($2, name)', [resource, names]);
}
