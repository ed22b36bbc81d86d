import { rm } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { DAY_MS, dayOf } from '../../src/contract/time.ts';
import { makeFolder } from '../cli/helpers.ts';
import { startStillSandbox } from '../support/still-sandbox.ts';
import { readTotals } from '../support/upstream-truth.ts';
import { describeLies, expectSameTables, readTables, syncAt } from './attack.ts';
import { sampleLies } from './lies/sample.ts';

describeLies({ 'nothing in particular': sampleLies });

test('the comparison of tables rejects totals that differ from those of upstream, of any range', async () => {
  const now = Date.now();
  const sandbox = await startStillSandbox({ brands: 1, prompts: 4, days: 4 }, now);
  onTestFinished(() => sandbox.close());
  const folder = await makeFolder();
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  expect(await syncAt(folder, sandbox.baseUrl)).toMatchObject({ code: 0 });
  const tables = await readTables(folder);
  const [stored = '{}'] = tables['traffic_totals'] ?? [];
  const { brand_id: brand } = JSON.parse(stored);
  // No sync asks for this range.
  const range = { from: dayOf(now - 200 * DAY_MS), to: dayOf(now - DAY_MS) };
  const row = { ...JSON.parse(stored), ...(await readTotals(sandbox, 'traffic_totals', brand, range)) };
  const compare = (extra: object): Promise<void> => {
    const rows = [...(tables['traffic_totals'] ?? []), JSON.stringify(extra)];
    return expectSameTables({ ...tables, traffic_totals: rows }, tables, sandbox.baseUrl);
  };
  expect(row).toMatchObject({ range_from: range.from, site_sessions: expect.any(Number) });
  await compare(row);
  const difference = expect.stringMatching(/^traffic_totals: 0 missing , 1 surplus/);
  await expect(compare({ ...row, site_sessions: row.site_sessions + 1 })).rejects.toMatchObject({
    actual: [difference],
  });
});
