import { expect, test } from 'vitest';
import type { ColumnKind } from '../../src/contract/fields.ts';
import type { Column } from '../../src/contract/tables.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { rebuildTables } from '../../src/warehouse/generic/rebuild-tables.ts';

function column(name: string, kind: ColumnKind, pointer?: string): Column {
  const source = { from: 'item', path: [name], ...(pointer === undefined ? {} : { pointer }) } as const;
  return { name, kind, about: '', source };
}

test('a table with other columns keeps its rows in order, and has the values of the stored items', async () => {
  const stored = [column('_content_key', 'text'), column('_item', 'json')];
  const database = await openDatabase(':memory:', {});
  const rows = await database.transaction(async (session) => {
    await session.run('CREATE TABLE things (_content_key VARCHAR, n BIGINT, gone VARCHAR, _item JSON)');
    await session.run(`INSERT INTO things VALUES ('b', 1, 'x', '{"n":1.50,"s":"old"}'), ('a', 2, 'y', '{"n":2}')`);
    const before = [...stored, column('n', 'integer', '/n'), column('gone', 'text', '/gone')];
    const after = [...stored, column('n', 'text', '/n'), column('s', 'text', '/s')];
    await rebuildTables(session, [{ name: 'things', before, after }], async () => {
      await session.run('CREATE TABLE things (_content_key VARCHAR, n VARCHAR, s VARCHAR, _item JSON)');
    });
    return session.all('SELECT * FROM things');
  });
  await database.close();
  expect(rows).toEqual([
    { _content_key: 'b', n: '1.5', s: 'old', _item: '{"n":1.50,"s":"old"}' },
    { _content_key: 'a', n: '2', s: null, _item: '{"n":2}' },
  ]);
});
