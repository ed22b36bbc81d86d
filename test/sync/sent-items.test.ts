import { expect, test } from 'vitest';
import { defaultConventions } from '../../src/metrics/calibration/conventions.ts';
import { restoreItems } from '../../src/warehouse/write/restored-items.ts';
import { openMirror } from '../read/mirror.ts';
import { openWorkspace } from '../support/workspace.ts';
import { alteredBody, alteredRows } from './altered.ts';

type Item = Record<string, unknown>;

const reversed = (item: object): object => Object.fromEntries(Object.entries(item).toReversed());

test('an item with its members in another order changes nothing, and its detail is not read again', async () => {
  const articles = alteredBody('articles');
  const workspace = await openWorkspace({ world: 'tiny', fixtures: articles.fixtures });
  const only = ['articles', 'article'];
  const stored = (): Promise<unknown> => workspace.query('SELECT * FROM articles ORDER BY id');
  const [before, { requests }] = [await stored(), await workspace.sync({ only })];
  articles.alter(({ data, ...others }) => ({ ...others, data: data.map(reversed) }));
  const again = await workspace.sync({ only });
  expect(again.requests).toBe(requests);
  expect(await stored()).toEqual(before);
});

test('an item that upstream writes in another form replaces the stored text, and is not a new version', async () => {
  const responses = alteredRows('responses');
  const workspace = await openWorkspace({ world: 'tiny', fixtures: responses.fixtures });
  const textOf = async (): Promise<Item> =>
    JSON.parse(
      String((await workspace.query('SELECT _item FROM responses ORDER BY id LIMIT 1'))[0]?.['_item']),
    ) as Item;
  const columns = "SELECT COLUMNS(c -> c[1] <> '_') FROM responses ORDER BY id";
  const before = await workspace.query(columns);
  const item = await textOf();
  const upper = (one: object): object => ({ ...one, id: String((one as Item)['id']).toUpperCase() });
  responses.alter((rows) => [...rows].map((row) => ({ ...row, item: () => upper(row.item() as object) })));
  await workspace.sync({ only: ['responses'], full: true });
  expect(await textOf()).toEqual(upper(item));
  expect(await workspace.query(columns)).toEqual(before);
  expect(await workspace.query('SELECT * FROM responses_history')).toEqual([]);
});

test('a detail has the values of its list if the list changed within the same second', async () => {
  const articles = alteredBody('articles');
  const mirror = await openMirror({ world: 'tiny', fixtures: articles.fixtures, conventions: defaultConventions });
  await mirror.sync({ only: ['articles', 'article'], full: true });
  const change = (each: Item): Item => ({ ...each, title: 'changed' });
  articles.alter(({ data, ...others }) => ({ ...others, data: (data as Item[]).map(change) }));
  await mirror.sync({ only: ['articles'] });
  await mirror.publishOnly();
  const [row] = await mirror.query(
    `SELECT CAST(brand_id AS VARCHAR) AS brand, CAST(id AS VARCHAR) AS id FROM articles
     WHERE _detail_item IS NOT NULL AND _detail_synced_at = _synced_at LIMIT 1`,
  );
  const { body } = await mirror.mirror(`/brands/${String(row?.['brand'])}/articles/${String(row?.['id'])}`);
  expect(JSON.stringify(body)).toContain('"title":"changed"');
});

test('restored items have their details and null members, and the next sync adds no versions', async () => {
  const mirror = await openMirror({ world: 'tiny', conventions: defaultConventions });
  const [row] = await mirror.query(
    `SELECT CAST(brand_id AS VARCHAR) AS brand, CAST(id AS VARCHAR) AS id, markdown FROM articles
     WHERE markdown IS NOT NULL ORDER BY id LIMIT 1`,
  );
  await mirror.query('UPDATE articles SET _detail_hash = NULL');
  for (const table of ['articles', 'responses', 'prompts']) await mirror.query(`UPDATE ${table} SET _item = NULL`);
  await mirror.query('UPDATE articles SET _detail_item = NULL');
  await mirror.warehouse().database.transaction((session) => restoreItems(session, mirror.catalogue));
  await mirror.publishOnly();
  const { body } = await mirror.mirror(`/brands/${String(row?.['brand'])}/articles/${String(row?.['id'])}`);
  expect(body).toMatchObject({ markdown: row?.['markdown'] });
  await mirror.sync({ only: ['articles', 'article', 'responses', 'prompts'], full: true });
  expect(await mirror.query('SELECT * FROM responses_history')).toEqual([]);
});
