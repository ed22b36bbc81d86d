import { expect, test } from 'vitest';
import { readCalendars } from '../../src/read/calendar.ts';
import { readEmptyDays } from '../../src/warehouse/ledger/empty-days.ts';
import { readStatus } from '../../src/warehouse/ledger/warehouse-status.ts';
import { NOW_MS } from '../support/clocks.ts';
import { openWorkspace } from '../support/workspace.ts';

const DAYS = 35;

test('days that upstream reports as empty are complete, and missing days are counted per brand', async () => {
  const { sync, catalogue, warehouse } = await openWorkspace({
    prompts: 1,
    days: DAYS,
    responsesPerDay: 1,
    choices: { createdDaysBefore: 400 },
  });
  // The day counts are known, the responses are not.
  await sync({ only: ['metrics_daily'] });
  const responses = catalogue.get('responses');
  const status = await warehouse().database.exclusive(({ query }) => readStatus(query, catalogue, NOW_MS));
  const { gapDays, gapBrands } = status.resources.find(({ resource }) => resource === responses.name) ?? {};
  expect(gapBrands?.map(({ days }) => days)).toEqual([DAYS - 1, DAYS - 1]);
  expect(gapDays).toBe(2 * (DAYS - 1));

  const brands = status.brands.map(({ brandId }) => ({ id: brandId, since: '2025-01-01' }));
  const read = () => warehouse().database.exclusive(({ query }) => readCalendars(query, catalogue, brands, NOW_MS));
  expect((await read()).map(({ counts }) => counts.missing)).toEqual([DAYS - 1, DAYS - 1]);

  expect((await sync({ only: ['responses'] })).status).toBe('complete');
  expect((await read()).map(({ counts }) => counts.missing)).toEqual([0, 0]);
  const after = await warehouse().database.exclusive(({ query }) => readStatus(query, catalogue, NOW_MS));
  expect(after.resources.every((resource) => resource.gapDays === 0)).toBe(true);
});

test('a day with stored rows, or counted before its end, is not empty', async () => {
  const { catalogue, warehouse, query } = await openWorkspace({ world: 'tiny' });
  const responses = catalogue.get('responses');
  const empty = () => warehouse().database.exclusive((session) => readEmptyDays(session.query, catalogue, responses));
  const [[brand, before] = []] = [...(await empty())];
  expect(before?.has('2026-03-15')).toBe(false);
  expect(before?.has('2026-03-10')).toBe(true);
  const days = [...(before?.keys() ?? [])].toSorted();
  const ends = { min: `${days[0]} 00:00:00`, max: `${days.at(-1)} 23:59:59.999` };
  for (const [end, time] of Object.entries(ends)) {
    await query(
      `UPDATE responses SET created_at = TIMESTAMP '${time}' WHERE id = (SELECT ${end}(id) FROM responses WHERE brand_id = '${brand}')`,
    );
  }
  const [after] = [...(await empty()).values()];
  expect([...(after?.keys() ?? [])].toSorted()).toEqual(days.slice(1, -1));
});
