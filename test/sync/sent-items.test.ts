import { expect, test } from 'vitest';
import { openWorkspace } from '../support/workspace.ts';
import { alteredBody } from './altered.ts';

test('an item that upstream writes in another form replaces the stored text, and is not a new version', async () => {
  const articles = alteredBody('articles');
  const workspace = await openWorkspace({ world: 'tiny', fixtures: articles.fixtures });
  await workspace.sync({ only: ['articles'] });
  const textOf = async (): Promise<string> =>
    String((await workspace.query('SELECT _item FROM articles ORDER BY id LIMIT 1'))[0]?.['_item']);
  const columns = "SELECT COLUMNS(c -> c[1] <> '_') FROM articles ORDER BY id";
  const versions = 'SELECT id, valid_from, change FROM articles_history ORDER BY ALL';
  const before = [await workspace.query(columns), await workspace.query(versions)];
  const item = JSON.parse(await textOf()) as Record<string, unknown>;
  articles.alter(({ data, ...others }) => ({
    ...others,
    data: data.map((each: object) => Object.fromEntries(Object.entries(each).toReversed())),
  }));
  await workspace.sync({ only: ['articles'] });
  expect(await textOf()).toBe(JSON.stringify(Object.fromEntries(Object.entries(item).toReversed())));
  expect([await workspace.query(columns), await workspace.query(versions)]).toEqual(before);
});
