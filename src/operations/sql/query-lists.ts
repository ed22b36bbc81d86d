import type { WorkspaceConfig } from '../../base/config/config.ts';
import { SightlineError } from '../../base/errors.ts';
import { gallery } from '../../metrics/gallery/gallery.ts';
import { layoutOf } from '../../publish/snapshot/layout.ts';
import type { QueryResult } from '../../warehouse/reader.ts';
import { openSavedQueries } from './saved-queries.ts';

const columnsOf = (names: readonly string[]): QueryResult['columns'] =>
  names.map((name) => ({ name, type: 'VARCHAR' }));

/** Lists the saved queries of a workspace. */
export async function savedList({ folder }: WorkspaceConfig): Promise<QueryResult> {
  const all = await openSavedQueries(layoutOf(folder).queries).list();
  return {
    columns: columnsOf(['name', 'title', 'changed_at']),
    rows: all.map(({ name, title, changedAt }) => [name, title, changedAt]),
  };
}

/** Returns the SQL of a saved query. Throws `usage` for a wrong or unknown name. */
export async function savedQuery({ folder }: WorkspaceConfig, name: string): Promise<string> {
  try {
    return (await openSavedQueries(layoutOf(folder).queries).read(name)).sql;
  } catch (thrown) {
    if (!(thrown instanceof SightlineError)) throw thrown;
    throw new SightlineError('usage', `--saved: ${thrown.message}`, {
      hint: '`sightline sql --list-saved` lists the saved queries.',
      cause: thrown,
    });
  }
}

/** Lists the questions of the gallery. */
export function galleryList(): QueryResult {
  return {
    columns: columnsOf(['number', 'question', 'tables']),
    rows: gallery().map(({ number, question, tables }) => [number, question, tables.join(', ')]),
  };
}

/** Returns the SQL of a question of the gallery. Throws `usage` for an unknown number. */
export function galleryQuery(number: number): string {
  const all = gallery();
  const found = all.find((query) => query.number === number);
  if (found !== undefined) return found.sql;
  throw new SightlineError('usage', `--gallery is ${number}; allowed: 1 to ${all.length}`);
}
