import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import { MART_SCHEMA, marts } from '../../src/analytics/marts/marts.ts';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import { ensureViews } from '../../src/warehouse/views.ts';
import { openWarehouse } from '../../src/warehouse/warehouse.ts';
import { temporaryFolder } from '../support/folders.ts';

const BRAND = '11111111-1111-4111-8111-111111111111';
const THREAD = '22222222-2222-4222-8222-222222222222';

test('a thread that was deleted and restored in the same state has two periods in it', async () => {
  const path = join(await temporaryFolder(), 'warehouse.duckdb');
  const warehouse = await openWarehouse(path, createCatalogue(declarations), {});
  onTestFinished(() => warehouse.close());
  const { database } = warehouse;
  await ensureViews(database, MART_SCHEMA, marts());
  const versions: readonly (readonly [change: string, status: string, from: string, to: string | null])[] = [
    ['inserted', 'new', '2026-01-01', '2026-01-02'],
    // Another column changed.
    ['updated', 'new', '2026-01-02', '2026-01-04'],
    ['deleted', 'new', '2026-01-04', '2026-01-04'],
    ['restored', 'new', '2026-01-10', '2026-01-11'],
    ['updated', 'saved', '2026-01-11', '2026-01-13'],
    ['updated', 'new', '2026-01-13', null],
  ];
  await database.exclusive(async (session) => {
    await session.run(`INSERT INTO brands (id) VALUES ('${BRAND}')`);
    for (const [change, status, from, to] of versions) {
      const until = to === null ? 'NULL' : `'${to}'`;
      await session.run(`INSERT INTO forum_opportunities_history (brand_id, id, change, status, valid_from, valid_to)
        VALUES ('${BRAND}', '${THREAD}', '${change}', '${status}', '${from}', ${until})`);
    }
    await session.run(`INSERT INTO sync.coverage (chain, resource, brand_id, pass_id, run_id, closed_at, rows)
      VALUES ('a chain', 'forum_opportunities', '${BRAND}', '${BRAND}', '${BRAND}', '2026-01-14 12:00:00', 1)`);
  });
  const found = await database.exclusive((session) =>
    session.query(
      `SELECT status, strftime(since, '%d'), strftime(until, '%d'), hours, is_first, next_status, ended_by
       FROM ${MART_SCHEMA}.forum_states ORDER BY since`,
    ),
  );
  expect(found).toEqual([
    ['new', '01', '04', 72, true, null, 'gone'],
    ['new', '10', '11', 24, false, 'saved', 'change'],
    ['saved', '11', '13', 48, false, 'new', 'change'],
    ['new', '13', null, 36, false, null, null],
  ]);
});
