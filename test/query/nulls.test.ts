import { expect, test } from 'vitest';
import { defaultConventions } from '../../src/analytics/calibration/conventions.ts';
import { isRecord, toExactJson } from '../../src/base/json.ts';
import { openMirror, type Reply } from './mirror.ts';

// Responses that the sandbox never sends, but another upstream may.

test('a nested array sent as null is served as null, an empty one as empty', async () => {
  const { publishOnly, warehouse, mirror, brandId } = await open();
  const path = `/brands/${brandId}/responses?limit=100`;
  const [first, second] = listOf(await mirror(path));
  await warehouse().database.exclusive(async (session) => {
    for (const { id } of [first, second]) {
      await session.run('DELETE FROM response_citations WHERE response_id = CAST($1 AS UUID)', [String(id)]);
    }
    const extra = `'{"citations":null}'`;
    await session.run(`UPDATE responses SET _extra = ${extra} WHERE id = CAST($1 AS UUID)`, [String(first.id)]);
  });
  await publishOnly();
  expect(listOf(await mirror(path)).slice(0, 2)).toEqual([
    { ...first, citations: null },
    { ...second, citations: [] },
  ]);
});

test('an unknown number that exceeds a double is served unchanged', async () => {
  const { publishOnly, warehouse, mirror, brandId } = await open();
  const path = `/brands/${brandId}/responses?limit=1`;
  const [first] = listOf(await mirror(path));
  await warehouse().database.exclusive((session) =>
    session.run(`UPDATE responses SET _extra = '{"serial":12345678901234567890}' WHERE id = CAST($1 AS UUID)`, [
      String(first.id),
    ]),
  );
  await publishOnly();
  expect(toExactJson((await mirror(path)).body)).toContain('"serial":12345678901234567890');
});

test('totals sent as null for an unconnected source are served as null', async () => {
  const { publishOnly, warehouse, mirror, brandId } = await open();
  const totals = ['ai_sessions', 'key_events', 'revenue', 'site_sessions', 'share_of_site'];
  await warehouse().database.exclusive(async (session) => {
    await session.run('DELETE FROM traffic_daily');
    await session.run(
      `UPDATE traffic_totals SET connected = false, property = NULL, currency = NULL, ${totals.map((name) => `${name} = NULL`).join()}`,
    );
  });
  await publishOnly();
  const { body } = await mirror(`/brands/${brandId}/traffic`);
  expect(body).toMatchObject({ connected: false, property: null, currency: null, totals: null, data: [] });
});

async function open() {
  const mirror = await openMirror({ world: 'tiny', conventions: defaultConventions });
  const [brand] = listOf(await mirror.upstream('/brands'));
  return { ...mirror, brandId: String(brand?.id) };
}

type Item = Record<string, unknown> & { readonly id: unknown };

function listOf({ body }: Reply): [Item, Item, ...Item[]] {
  return (isRecord(body) ? body['data'] : body) as [Item, Item, ...Item[]];
}
