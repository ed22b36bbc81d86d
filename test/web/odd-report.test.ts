import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { MART_SCHEMA, marts } from '../../src/analytics/marts/marts.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { WorkspaceConfig } from '../../src/base/config/config.ts';
import { reportWorkspace } from '../../src/operations/write-report.ts';
import { catalogue } from '../../src/session/workspace.ts';
import { publishAnalytics } from '../../src/warehouse/replica.ts';
import { ensureViews } from '../../src/warehouse/views.ts';
import { openWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts';
import { readBrandReport } from '../../src/web/report/brand-report.ts';
import { temporaryFolder } from '../support/folders.ts';

/** Time-ordered ids, as some databases generate them: ids created at the same time share their first digits. */
const [FIRST, SECOND] = ['0199a0b0-1111-7000-8000-000000000001', '0199a0b0-2222-7000-8000-000000000002'] as const;

/** Two brands with the same name and without a website; half of their responses have no engine. */
async function openWarehouseOf(folder: string): Promise<Warehouse> {
  const warehouse = await openWarehouse(join(folder, 'warehouse.duckdb'), catalogue, {});
  onTestFinished(() => warehouse.close());
  await ensureViews(warehouse.database, MART_SCHEMA, marts());
  await warehouse.database.exclusive((session) =>
    session.run(`INSERT INTO brands (id, name) VALUES ('${FIRST}', '日本'), ('${SECOND}', '日本');
      INSERT INTO responses (id, brand_id, engine, created_at, brand_mentioned)
        SELECT uuid(), '${FIRST}', if(n % 2 = 0, 'one', NULL), TIMESTAMP '2026-10-05' + n * INTERVAL 3 HOUR, n % 3 = 0
        FROM range(300) t(n);
      INSERT INTO response_citations (response_id, brand_id, engine, created_at, ordinal, url, domain)
        SELECT id, brand_id, engine, created_at, 0, 'https://own.example/', 'own.example' FROM responses`),
  );
  return warehouse;
}

test('each brand has its own report, even with equal names and similar ids', async () => {
  const folder = await temporaryFolder();
  const { database } = await openWarehouseOf(folder);
  await publishAnalytics(database, join(folder, 'analytics.duckdb'));
  const config = { name: 'odd', folder, remote: { kind: 'local' } } as WorkspaceConfig;
  const written = await reportWorkspace(config, systemClock, { brands: null, weeks: 8, output: null });
  expect(written.map(({ brandId }) => brandId).sort()).toEqual([FIRST, SECOND]);
  expect(new Set(written.map(({ page }) => page)).size).toBe(2);
  for (const { page } of written) expect(await readFile(page, 'utf8')).toContain('日本');
});

test('unknown values are not reported as zero', async () => {
  const { database } = await openWarehouseOf(await temporaryFolder());
  const report = await database.exclusive(({ query }) => readBrandReport(query, { id: FIRST, name: '日本' }, 8));
  const figures = new Map(report.figures.map((figure) => [figure.measure, figure]));
  expect(figures.get('visibility')?.recent.whole).toBeGreaterThan(100);
  // Without a website, the brand's own pages are unknown. No response has a position or a sentiment.
  expect([...figures.keys()].sort()).toEqual(['share_of_voice', 'visibility']);
  expect(report.engines.map(({ name }) => name).sort()).toEqual(['one', 'unknown']);
  for (const { values } of report.engines) expect(values.every((value) => value !== null)).toBe(true);
});
