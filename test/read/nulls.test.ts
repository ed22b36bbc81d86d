import { expect, test } from 'vitest';
import { ExactNumber, isRecord, toExactJson } from '../../src/base/json.ts';
import { defaultConventions } from '../../src/metrics/calibration/conventions.ts';
import { openMirror, type Reply } from './mirror.ts';

const TOTALS = ['ai_sessions', 'key_events', 'revenue', 'site_sessions', 'share_of_site'];

// The sandbox never sends such values, but another upstream may.
test('null arrays, null totals and unknown numbers that exceed a double are served as upstream sent them', async () => {
  const { publishOnly, warehouse, mirror, upstream } = await openMirror({
    world: 'tiny',
    conventions: defaultConventions,
  });
  const [brand] = listOf(await upstream('/brands'));
  const path = `/brands/${brand.id}/responses?limit=100`;
  const [first, second, third] = listOf(await mirror(path));
  const change = (item: Item): string[] => [String(item.id), toExactJson(item)];
  const update = 'UPDATE responses SET _item = $2 WHERE id = CAST($1 AS UUID)';
  await warehouse().database.exclusive(async ({ run }) => {
    await run(update, change({ ...first, citations: null }));
    await run(update, change({ ...second, citations: [] }));
    await run(update, change({ ...third, serial: new ExactNumber('12345678901234567890') }));
    await run('DELETE FROM traffic_daily');
    await run(
      `UPDATE traffic_totals SET connected = false, property = NULL, currency = NULL, _item = '{"totals":null}',
         ${TOTALS.map((name) => `${name} = NULL`).join()}`,
    );
  });
  await publishOnly();
  const reply = await mirror(path);
  expect(listOf(reply).slice(0, 2)).toEqual([
    { ...first, citations: null },
    { ...second, citations: [] },
  ]);
  expect(toExactJson(reply.body)).toContain('"serial":12345678901234567890');
  const { body } = await mirror(`/brands/${brand.id}/traffic`);
  expect(body).toMatchObject({ connected: false, property: null, currency: null, totals: null, data: [] });
});

type Item = Record<string, unknown> & { readonly id: unknown };

function listOf({ body }: Reply): [Item, Item, Item, ...Item[]] {
  return (isRecord(body) ? body['data'] : body) as [Item, Item, Item, ...Item[]];
}
