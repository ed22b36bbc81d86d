import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { dayOf } from '../../src/contract/time.ts';
import { planSync } from '../../src/sync/plan/estimate.ts';
import { listRawFiles, openRawLog, retainRawFiles } from '../../src/sync/raw/raw-log.ts';
import { readAudits } from '../../src/warehouse/ledger/audits.ts';
import { NOW_MS } from '../support/clocks.ts';
import { expectEqualToUpstream } from '../support/compare.ts';
import { temporaryFolder } from '../support/folders.ts';
import { openWorkspace, type TestWorkspace } from '../support/workspace.ts';
import { daysKept, KEEP_ALL, keepPages } from './kept.ts';

const options = { only: null, range: null, brands: null };

/** Writes rows and records with wrong dates. */
async function poison({ query }: TestWorkspace): Promise<void> {
  const [brand] = await query('SELECT CAST(id AS VARCHAR) AS id FROM brands ORDER BY id LIMIT 1');
  const id = `CAST('${String(brand?.['id'])}' AS UUID)`;
  const statements = [
    `UPDATE responses SET created_at = TIMESTAMP '0001-01-01 00:00:00' WHERE id = (SELECT min(id) FROM responses)`,
    `UPDATE responses SET created_at = TIMESTAMP '9999-12-31 23:59:59' WHERE id = (SELECT max(id) FROM responses)`,
    `UPDATE alerts SET detected_at = TIMESTAMP '9999-12-31 00:00:00' WHERE id = (SELECT max(id) FROM alerts)`,
    `UPDATE prompts SET _synced_at = TIMESTAMP '9999-12-31 00:00:00'`,
    `UPDATE brands SET created_at = TIMESTAMP '0001-01-01 00:00:00', _row_hash = 'poisoned'`,
    `INSERT INTO metrics_daily (brand_id, row_mode, date, engine, entity_type, responses)
       VALUES (${id}, 'engine', DATE '0001-01-01', 'x', 'brand', 5), (${id}, 'engine', DATE '9999-12-31', 'x', 'brand', 5)`,
    `INSERT INTO metrics (brand_id, range_from, range_to, entity_type) VALUES (${id}, DATE '9999-12-02', DATE '9999-12-31', 'brand')`,
    `INSERT INTO sync.coverage
       SELECT concat('responses brand=', ${id}, ' ', d), 'responses', ${id}, CAST(d AS DATE), CAST(d AS DATE) + 365, uuid(), uuid(),
         TIMESTAMP '9999-12-31 00:00:00', 1, NULL
       FROM range(TIMESTAMP '0001-01-01', TIMESTAMP '9998-01-01', INTERVAL 366 DAY) t(d)`,
    `UPDATE sync.coverage SET closed_at = TIMESTAMP '9999-12-31 00:00:00', state = '253402214400000' WHERE resource = 'alerts'`,
    `INSERT INTO sync.audits (resource, brand_id, day, checked_at, agreed, upstream, stored, figures)
       SELECT 'responses', ${id}, day, TIMESTAMP '9999-12-31 00:00:00', true, 0, 0, ''
       FROM (VALUES (DATE '0001-01-01'), (DATE '9999-12-31')) t(day)`,
    `INSERT INTO sync.checkpoints SELECT 'x', 'responses', ${id}, DATE '9999-12-31', DATE '9999-12-31', uuid(), 1, 'responses', 'c',
       [], 0, TIMESTAMP '9999-12-31 00:00:00'`,
  ];
  for (const statement of statements) await query(statement);
}

test('a warehouse with wrong dates has a normal plan and equals upstream after a sync', async () => {
  const workspace = await openWorkspace({ world: 'tiny' });
  const { catalogue, clock, query, sync, warehouse } = workspace;
  await poison(workspace);
  await workspace.reopen();
  const { signal } = new AbortController();
  const parts = { catalogue, clock, connections: 8, signal, warehouse: warehouse() };
  expect((await planSync(parts, options)).requests, 'requests of a plan before the repair').toBeLessThan(200);

  const summary = await sync();
  expect(summary).toMatchObject({ status: 'complete', error: null });
  expect(summary.requests).toBeLessThan(200);
  expect(summary.warnings.map(({ message }) => message).join('\n')).toMatch(/6 rows with implausible times/);
  await expectEqualToUpstream(workspace);
  const left =
    await query(`SELECT 'coverage' AS what FROM sync.coverage WHERE range_to > DATE '2026-03-15' OR range_from < DATE '2010-01-01'
      OR closed_at > TIMESTAMP '2026-03-16'
    UNION ALL SELECT 'checkpoint' FROM sync.checkpoints
    UNION ALL SELECT 'synced' FROM prompts WHERE _synced_at > TIMESTAMP '2026-03-16'`);
  expect(left).toEqual([]);
  const [brand] = await query('SELECT CAST(id AS VARCHAR) AS id FROM brands');
  const days = [...(await readAudits(warehouse().database, 'responses', String(brand?.['id']))).keys()];
  expect(days.filter((day) => day < '2015' || day > dayOf(NOW_MS))).toEqual([]);
});

test('raw pages in a folder of the year 9999 are kept in order and expire in their turn', async () => {
  const workspace = await openWorkspace({ brands: 1, prompts: 2, days: 3 });
  const { folder, sync } = await keepPages(workspace);
  const log = await openRawLog(folder, KEEP_ALL);
  await log.append('2026-03-01', 'record', {}, null);
  await log.append('9999-12-31', 'record', {}, null);
  await log.close();
  await sync({ only: ['prompts'] });
  expect(await daysKept(folder)).toEqual(['2026-03-01', '2026-03-15', '9999-12-31']);
  expect((await listRawFiles(folder)).map(({ day }) => day)).toEqual(['2026-03-01', '9999-12-31', '2026-03-15']);
  workspace.sandbox.advance({ days: 29.5 });
  await sync({ only: ['prompts'] });
  expect(await daysKept(folder), 'only the oldest day has expired').toEqual(['2026-03-15', '2026-04-14', '9999-12-31']);
  workspace.sandbox.advance({ days: 1 });
  await sync({ only: ['prompts'] });
  expect(await daysKept(folder)).toEqual(['2026-04-14', '2026-04-15']);
});

test('a clock that jumps ahead removes only one day of raw pages, unless the expiry is accepted', async () => {
  const folder = join(await temporaryFolder(), 'raw');
  for (let day = 1; day <= 9; day++) {
    await mkdir(join(folder, `2026-03-0${day}`), { recursive: true });
    await writeFile(join(folder, `2026-03-0${day}`, `0000000${day}.gz`), '');
  }
  const jumped = { today: '2031-01-01' };
  expect(await retainRawFiles(folder, KEEP_ALL, jumped)).toMatchObject({ expiredDays: 8 });
  expect(await daysKept(folder)).toHaveLength(8);
  expect(await retainRawFiles(folder, KEEP_ALL, { ...jumped, removesAll: true })).toEqual({ kept: [], expiredDays: 0 });
  expect(await daysKept(folder)).toEqual([]);
});

test('a sync warns that the raw pages of many days have expired at once', async () => {
  const workspace = await openWorkspace({ brands: 1, prompts: 2, days: 3 });
  const { folder, sync } = await keepPages(workspace);
  await sync({ only: ['prompts'] });
  workspace.sandbox.advance({ days: 1 });
  await sync({ only: ['prompts'] });
  workspace.sandbox.advance({ days: 100 });
  const { warnings } = await sync({ only: ['prompts'] });
  expect(warnings.map(({ message }) => message)).toEqual([
    expect.stringMatching(/^raw pages of 1 more day have expired.*`sightline sync --accept-expiry`/),
  ]);
  expect(await daysKept(folder)).toEqual(['2026-03-16', '2026-06-24']);
});
