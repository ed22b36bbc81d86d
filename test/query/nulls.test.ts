import { expect, test } from 'vitest';
import { defaultConventions } from '../../src/analytics/calibration/conventions.ts';
import { isRecord, toExactJson } from '../../src/base/json.ts';
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
  const extra = `UPDATE responses SET _extra = CAST($2 AS JSON) WHERE id = CAST($1 AS UUID)`;
  await warehouse().database.exclusive(async ({ run }) => {
    for (const { id } of [first, second]) {
      await run('DELETE FROM response_citations WHERE response_id = CAST($1 AS UUID)', [String(id)]);
    }
    await run(extra, [String(first.id), '{"citations":null}']);
    await run(extra, [String(third.id), '{"serial":12345678901234567890}']);
    await run('DELETE FROM traffic_daily');
    await run(
      `UPDATE traffic_totals SET connected = false, property = NULL, currency = NULL, ${TOTALS.map((name) => `${name} = NULL`).join()}`,
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
