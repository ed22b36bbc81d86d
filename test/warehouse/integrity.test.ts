import { expect, test } from 'vitest';
import { findFlaws } from '../../src/warehouse/file/integrity.ts';
import { openWorkspace } from '../support/workspace.ts';

test('finds repeated keys, orphans, overlapping versions and gaps between versions, and nothing else', async () => {
  const { sandbox, catalogue, warehouse, sync } = await openWorkspace({ brands: 1, prompts: 3, days: 4 });
  await sync();
  sandbox.world.advance({ days: 1, editedResponses: 2, deletedResponses: 1, pausedPrompts: 2 });
  await sync();
  const { database } = warehouse();
  const find = () => database.exclusive((session) => findFlaws(session.query, catalogue));
  const flawsAfter = async (sql: string) => {
    await database.exclusive((session) => session.run(`BEGIN; ${sql}`));
    try {
      return await find();
    } finally {
      await database.exclusive((session) => session.run('ROLLBACK'));
    }
  };
  expect(await find()).toEqual([]);
  expect(await flawsAfter('INSERT INTO competitors SELECT * FROM competitors LIMIT 1')).toEqual([
    { table: 'competitors', kind: 'repeated key', count: 1 },
  ]);
  const orphan = `DELETE FROM responses WHERE id = (SELECT response_id FROM response_citations LIMIT 1)`;
  const orphans = await flawsAfter(orphan);
  expect(orphans).toContainEqual({ table: 'response_citations', kind: 'no parent', count: expect.any(Number) });
  expect(orphans.every(({ kind }) => kind === 'no parent')).toBe(true);
  const changed = `(SELECT id FROM prompts_history GROUP BY id HAVING count(*) > 1 LIMIT 1)`;
  const gap = { table: 'prompts_history', kind: 'gap or overlap of versions', count: 1 };
  const shift = (by: string): string =>
    `UPDATE prompts_history SET valid_to = valid_to ${by} WHERE id = ${changed} AND valid_to IS NOT NULL`;
  expect(await flawsAfter(shift('- INTERVAL 1 SECOND'))).toEqual([gap]);
  expect(await flawsAfter(shift('+ INTERVAL 1 SECOND'))).toEqual([gap]);
  expect(await flawsAfter(`UPDATE prompts_history SET valid_to = NULL WHERE id = ${changed}`)).toEqual([
    { table: 'prompts_history', kind: 'several open versions', count: 1 },
    gap,
  ]);
});
