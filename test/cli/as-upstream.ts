import { join } from 'node:path';
import type { WorkspaceSandbox } from '../../schemas/fixtures/start.ts';
import { builtInCatalogue as catalogue } from '../../src/session/catalogues.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { expectEqualToUpstream } from '../support/compare.ts';
import type { TestWorkspace } from '../support/workspace.ts';

/** Compares the live file in a workspace's folder with upstream's current responses, as the tests of the engine do. */
export async function expectAsUpstream(
  data: string,
  sandbox: WorkspaceSandbox,
  options: Parameters<typeof expectEqualToUpstream>[1] = {},
): Promise<void> {
  const database = await openDatabase(join(data, 'warehouse.duckdb'));
  const query: TestWorkspace['query'] = (sql) => database.exclusive((session) => session.all(sql));
  try {
    const opened: Pick<TestWorkspace, 'sandbox' | 'catalogue' | 'query'> = { sandbox, catalogue, query };
    await expectEqualToUpstream(opened as TestWorkspace, options);
  } finally {
    await database.close();
  }
}
