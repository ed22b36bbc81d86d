import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import { MART_SCHEMA, marts } from '../../src/analytics/marts/marts.ts';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import { ensureViews } from '../../src/warehouse/views.ts';
import { openWarehouse } from '../../src/warehouse/warehouse.ts';
import { temporaryFolder } from '../support/folders.ts';

const [LONE, OTHER] = ['00000000-0000-4000-8000-00000000000a', '00000000-0000-4000-8000-00000000000b'] as const;
const RIVAL = '00000000-0000-4000-8000-0000000000ff';

/**
 * Two brands whose responses share ids, as if upstream returned the same response for both. Both brands track the same
 * competitor; the responses of the second brand mention it more often, and the brands' responses cite different pages.
 */
async function openShared(repeats: boolean) {
  const folder = await temporaryFolder();
  const warehouse = await openWarehouse(join(folder, 'warehouse.duckdb'), createCatalogue(declarations), {});
  onTestFinished(() => warehouse.close());
  await ensureViews(warehouse.database, MART_SCHEMA, marts());
  const both = `(VALUES ('${LONE}'::UUID), ('${OTHER}'::UUID)) b(brand_id)`;
  await warehouse.database.exclusive((session) =>
    session.run(`INSERT INTO brands (id, name) SELECT brand_id, 'brand' FROM ${both};
      INSERT INTO competitors (brand_id, id, name) SELECT brand_id, '${RIVAL}', 'rival' FROM ${both};
      INSERT INTO responses (id, brand_id, engine, created_at, brand_mentioned)
        SELECT ('00000000-0000-4000-8000-' || lpad(n::VARCHAR, 12, '0'))::UUID, brand_id, 'one',
          TIMESTAMP '2026-10-05' + n * INTERVAL 6 HOUR, false
        FROM range(40) t(n), ${both};
      INSERT INTO response_competitors (response_id, brand_id, engine, created_at, competitor_id, ordinal)
        SELECT id, brand_id, engine, created_at, '${RIVAL}', 0 FROM responses
        WHERE brand_id = '${OTHER}' OR created_at < TIMESTAMP '2026-10-08';
      INSERT INTO response_citations (response_id, brand_id, engine, created_at, ordinal, domain)
        SELECT id, brand_id, engine, created_at, 0, right(brand_id::VARCHAR, 1) || '.example' FROM responses`),
  );
  if (repeats) {
    await warehouse.database.exclusive((session) =>
      session.run(`INSERT INTO response_competitors SELECT * REPLACE (1 AS ordinal) FROM response_competitors;
        INSERT INTO sync.shapes VALUES ('responses', 'repeats in competitors', 'true')`),
    );
  }
  return (sql: string) => warehouse.database.exclusive(({ query }) => query(sql));
}

test.each([false, true])(
  'a response shared by two brands counts separately for each (competitors listed twice: %s)',
  async (repeats) => {
    const query = await openShared(repeats);
    const mentions = await query(
      `SELECT right(brand_id::VARCHAR, 1) AS brand, count(*) FROM ${MART_SCHEMA}.fct_entity_mention GROUP BY 1 ORDER BY 1`,
    );
    expect(mentions).toEqual([
      ['a', 12],
      ['b', 40],
    ]);
    const gaps = await query(
      `SELECT right(brand_id::VARCHAR, 1), domain, gap_responses, gap_responses_of_all FROM ${MART_SCHEMA}.source_gaps
     WHERE scope = 'all engines' ORDER BY ALL`,
    );
    // The last day is still open.
    expect(gaps).toEqual([
      ['a', 'a.example', 12, 12],
      ['b', 'b.example', 36, 36],
    ]);
  },
);
