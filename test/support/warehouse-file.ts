import type { WorkspaceSandbox } from '../../schemas/fixtures/start.ts';
import { openWarehouse } from '../../src/warehouse/warehouse.ts';
import { builtInCatalogue as catalogue } from '../../src/workspace/catalogues.ts';
import type { TestWorkspace } from './workspace.ts';

/** Opens the warehouse file that a command has left, passes it to `look`, such as a function of `compare.ts`, and closes it. */
export async function withWarehouseFile<T>(
  path: string,
  sandbox: WorkspaceSandbox,
  look: (workspace: TestWorkspace) => Promise<T>,
): Promise<T> {
  const { database, close } = await openWarehouse(path, catalogue, {});
  const query: TestWorkspace['query'] = (sql) => database.exclusive((session) => session.all(sql));
  try {
    const opened: Pick<TestWorkspace, 'sandbox' | 'catalogue' | 'query'> = { sandbox, catalogue, query };
    return await look(opened as TestWorkspace);
  } finally {
    await close();
  }
}

/** Selects the pages of responses that a pass, which is a run and the runs that resume it, has stored more than once. */
export const FETCHED_TWICE = `SELECT path, query, count(*) AS times FROM sync.requests JOIN sync.runs USING (run_id)
  WHERE resource = 'responses' AND sync.requests.status = 200 GROUP BY pass_id, path, query HAVING count(*) > 1`;

/** Spreads the rounds of a test of kills over the whole numbers between two bounds, evenly for any number of rounds. */
export function spreadOver(round: number, { least, most }: { readonly least: number; readonly most: number }): number {
  // Multiples of the golden ratio.
  return Math.round(least + ((round * 0.618_033_988_749_894_9) % 1) * (most - least));
}
