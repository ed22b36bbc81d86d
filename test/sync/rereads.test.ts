import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addDays, DAY_MS, dayOf } from '../../src/contract/time.ts';
import type { Row } from '../../src/sandbox/fixture.ts';
import { planSync } from '../../src/sync/plan/estimate.ts';
import { costOf, planRereads, REREAD_AFTER_MS, type ReadDays } from '../../src/sync/plan/plan-rereads.ts';
import { NOW_MS } from '../support/clocks.ts';
import { expectEqualToUpstream } from '../support/compare.ts';
import { openWorkspace, type RunChanges } from '../support/workspace.ts';
import { alteredRows } from './altered.ts';
import { catalogue, contextAt, NOW, TODAY } from './day-ranges.ts';

const resource = catalogue.get('responses');
const PAGE = resource.query['limit']?.max ?? 1;

// Days before today with items, and the hours since their last read.
const readDays = fc.uniqueArray(
  fc.record({ ago: fc.integer({ min: 0, max: 60 }), items: fc.integer({ min: 0, max: 3 * PAGE }), hours: fc.nat(900) }),
  { selector: ({ ago }) => ago, maxLength: 40 },
);

function listOf(index: number, days: readonly { ago: number; items: number; hours: number }[]): ReadDays {
  const dated = days.map(({ ago, ...rest }) => ({ day: addDays(TODAY, -ago), ...rest }));
  return {
    resource,
    brand: { id: `00000000-0000-4000-8000-00000000000${index}`, since: null, name: null },
    days: dated.map(({ day, items }) => ({ day, upstream: items, stored: items, agreed: true, figures: `${items}` })),
    readAt: new Map(dated.map(({ day, hours }) => [day, NOW - hours * 3_600_000])),
  };
}

describe('the plan of rereads', () => {
  const before = NOW - REREAD_AFTER_MS;
  const context = contextAt();

  test('costs at most the given requests, and contains only days with items that were read before the limit', () => {
    fc.assert(
      fc.property(fc.array(readDays, { maxLength: 3 }), fc.integer({ min: 0, max: 30 }), (brands, requests) => {
        const lists = brands.map((days, index) => listOf(index, days));
        const planned = planRereads(lists, { requests, before, context });
        expect(costOf(planned)).toBeLessThanOrEqual(requests);
        for (const [list, slices] of planned) {
          const read = list.days.filter(({ day }) =>
            slices.some(({ from, to }) => String(from) <= day && day <= String(to)),
          );
          expect(read.length).toBeGreaterThan(0);
          for (const { day, upstream } of read) {
            expect(upstream).toBeGreaterThan(0);
            expect(list.readAt.get(day)).toBeLessThan(before);
          }
        }
      }),
    );
  });

  test('contains the least recently read days, half of the requests for the last 14 days', () => {
    const days = Array.from({ length: 60 }, (_, ago) => ({ ago, items: PAGE, hours: 24 * (ago + 1) }));
    const [slices = []] = [...planRereads([listOf(0, days)], { requests: 8, before, context }).values()];
    const ago = (day: string | null): number => (Date.parse(TODAY) - Date.parse(day ?? '')) / DAY_MS;
    const read = slices.flatMap(({ from, to }) => days.filter((day) => ago(to) <= day.ago && day.ago <= ago(from)));
    expect(read.map((day) => day.ago).sort((a, b) => a - b)).toEqual([11, 12, 13, 14, 56, 57, 58, 59]);
  });
});

describe('an edit that changes no count', () => {
  const editedDay = addDays(dayOf(NOW_MS), -5);

  function edited(row: Row): unknown {
    const item = row.item() as { citations: object[] };
    return { ...item, citations: item.citations.map((citation) => ({ ...citation, title: 'Edited' })) };
  }

  test('is found within a week by nightly syncs with 2 re-read requests, and not by syncs without them', async () => {
    const list = alteredRows('responses');
    const few = { brands: 1, prompts: 2, days: 9, responsesPerDay: 60 };
    const workspace = await openWorkspace({ ...few, fixtures: list.fixtures });
    const only = ['responses'];
    await workspace.sync({ only });
    // Another title for every citation of a day.
    list.alter((rows) =>
      [...rows].map((row) => (dayOf(row.atMs) === editedDay ? { ...row, item: () => edited(row) } : row)),
    );
    const isFound = async (): Promise<boolean> =>
      (await workspace.query("SELECT 1 FROM response_citations WHERE title = 'Edited'")).length > 0;
    const syncNextNight = async (changes: RunChanges): Promise<void> => {
      workspace.sandbox.advance({ days: 1 });
      expect((await workspace.sync(changes)).status).toBe('complete');
    };
    await syncNextNight({ only });
    expect(await isFound()).toBe(false);
    let nights = 0;
    while (nights < 7 && !(await isFound())) {
      await syncNextNight({ rereads: 2 });
      nights += 1;
    }
    expect(await isFound()).toBe(true);
    await expectEqualToUpstream(workspace);
  });
});

test('a plan counts the requests for re-reads and states their reason', async () => {
  const workspace = await openWorkspace({ world: 'small' });
  workspace.sandbox.advance({ days: 1 });
  await workspace.sync({ only: ['metrics_daily'], probe: true });
  const { catalogue, clock, warehouse } = workspace;
  const parts = { catalogue, clock, connections: 8, signal: new AbortController().signal, warehouse: warehouse() };
  const options = { only: null, range: null, brands: null };
  const [without, plan] = [await planSync(parts, options), await planSync(parts, { ...options, rereads: 20 })];
  const planned = plan.resources.flatMap(({ name, reasons }) => reasons.map((one) => ({ ...one, name })));
  const rereads = planned.filter(({ reason }) => reason.startsWith('least recently read'));
  expect(rereads).toMatchObject([{ name: 'responses', reason: 'least recently read, may have been edited' }]);
  const added = rereads[0]?.requests ?? 0;
  expect(added).toBeGreaterThanOrEqual(2);
  expect(plan.requests - without.requests).toBe(added);
  const { requests } = await workspace.sync({ rereads: 20 });
  expect(Math.abs(plan.requests - requests)).toBeLessThanOrEqual(0.1 * requests);
});
