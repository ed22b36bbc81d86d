import { expect, test } from 'vitest';
import type { Advance } from '../../schemas/fixtures/world/model.ts';
import { NOW_MS } from '../support/clocks.ts';
import { expectConsistent, fingerprint } from '../support/compare.ts';
import { openWorkspace, type TestWorkspace } from '../support/workspace.ts';

/** Reports of daily numbers, which most changes affect too. */
const reported = /^(metrics|traffic|cited)/;

interface Told {
  readonly table: string;
  readonly change: string;
  readonly key: string;
}

/** Versions in all histories since upstream's time `sinceMs`, except those of reports. */
async function versionsSince({ catalogue, query }: TestWorkspace, sinceMs: number): Promise<Told[]> {
  const told: Told[] = [];
  for (const { name, of, rowKey } of catalogue.histories) {
    if (reported.test(of)) continue;
    const key = rowKey.filter((column) => column !== 'brand_id' || rowKey.length === 1)[0] ?? 'NULL';
    const rows = await query(
      `SELECT change, CAST("${key}" AS VARCHAR) AS key FROM "${name}" WHERE epoch_ms(valid_from) >= ${sinceMs} ORDER BY ALL`,
    );
    for (const row of rows) told.push({ table: of, change: String(row['change']), key: String(row['key']) });
  }
  return told;
}

/** A workspace after its first sync, with a function that applies a change an hour later and syncs again. */
async function openSynced(seed: number) {
  const workspace = await openWorkspace({ seed, prompts: 4, days: 3 });
  expect(await workspace.sync()).toMatchObject({ status: 'complete' });
  const happen = async (change: Advance): Promise<{ ids: string[]; told: Told[] }> => {
    const ids = workspace.sandbox.advance({ days: 1 / 24, ...change }).flatMap((changed) => [...changed.ids]);
    expect(await workspace.sync()).toMatchObject({ status: 'complete', failures: [] });
    await expectConsistent(workspace);
    return { ids: ids.sort(), told: await versionsSince(workspace, workspace.sandbox.world.now() - 60_000) };
  };
  return { workspace, happen };
}

const one = (told: readonly Told[], table: string): Pick<Told, 'change' | 'key'>[] =>
  told.filter((row) => row.table === table).map(({ change, key }) => ({ change, key }));

test('history records each change for the changed row and for no other row of its table', async () => {
  const { workspace, happen } = await openSynced(41);
  const { query } = workspace;
  const begun = await query(`SELECT DISTINCT change, epoch_ms(valid_from) AS at, valid_to FROM prompts_history`);
  expect(begun).toEqual([{ change: 'inserted', at: BigInt(NOW_MS), valid_to: null }]);

  expect(await query('SELECT 1 FROM responses_history')).toEqual([]);

  const expected: readonly [Advance, string, string][] = [
    [{ regroupedPrompts: 2 }, 'prompts', 'updated'],
    [{ pausedPrompts: 2 }, 'prompts', 'updated'],
    [{ forumStatusChanges: 2 }, 'forum_opportunities', 'updated'],
    [{ articleProgress: 2 }, 'articles', 'updated'],
    [{ editedResponses: 3 }, 'responses', 'updated'],
    [{ deletedCompetitors: 2 }, 'competitors', 'deleted'],
  ];
  for (const [change, table, kind] of expected) {
    const { ids, told } = await happen(change);
    expect(ids.length, table).toBeGreaterThan(0);
    const changed = one(told, table).filter((row) => row.change === kind);
    expect(changed.map(({ key }) => key).sort(), JSON.stringify(change)).toEqual(ids);
  }
});

test('history keeps earlier tags, actions and texts', async () => {
  const { workspace, happen } = await openSynced(42);
  const { query } = workspace;
  const tagsThen = await query(
    `SELECT CAST(prompt_id AS VARCHAR) AS id, list(name ORDER BY ordinal) AS tags FROM prompt_tags GROUP BY 1 ORDER BY 1`,
  );
  const regrouped = await happen({ regroupedPrompts: 4 });
  const tagsAt = (moment: number) =>
    query(`SELECT CAST(id AS VARCHAR) AS id, _children->>'$.prompt_tags[*].name' AS tags
      FROM prompts_history WHERE valid_from <= make_timestamp(${moment} * 1000)
        AND (valid_to IS NULL OR valid_to > make_timestamp(${moment} * 1000))
        AND json_array_length(_children->'prompt_tags') > 0 ORDER BY 1`);
  expect(regrouped.ids.length).toBeGreaterThan(0);
  expect(await tagsAt(NOW_MS)).toEqual(tagsThen);
  expect(await tagsAt(workspace.sandbox.world.now())).toEqual(
    await query(`SELECT CAST(prompt_id AS VARCHAR) AS id, list(name ORDER BY ordinal) AS tags FROM prompt_tags
      WHERE _deleted_at IS NULL GROUP BY 1 ORDER BY 1`),
  );
  expect(await tagsAt(workspace.sandbox.world.now())).not.toEqual(tagsThen);

  const done = await happen({ actionsDone: 2 });
  const flags = `SELECT DISTINCT action->>'id' AS id, change, valid_to IS NULL AS now, action->>'done' AS done
    FROM (SELECT change, valid_to, unnest(CAST(_children->'action_plan_actions' AS JSON[])) AS action FROM action_plans_history)
    WHERE id IN (${done.ids.map((id) => `'${id}'`).join(', ')}) AND (valid_to IS NULL OR epoch_ms(valid_to) =
      (SELECT max(epoch_ms(valid_to)) FROM action_plans_history)) ORDER BY id, now`;
  expect(done.ids.length).toBeGreaterThan(0);
  expect(await query(flags)).toEqual(
    done.ids.flatMap((id) => [
      expect.objectContaining({ id, now: false, done: 'false' }),
      { id, change: 'updated', now: true, done: 'true' },
    ]),
  );
});

test('deleting a brand ends its history, and a sync without changes writes no versions', async () => {
  const { workspace, happen } = await openSynced(43);
  const before = await fingerprint(workspace);
  expect(await workspace.sync()).toMatchObject({ status: 'complete' });
  expect(await fingerprint(workspace)).toEqual(before);
  const { ids, told } = await happen({ deletedBrand: true });
  expect(one(told, 'brands')).toEqual(ids.map((key) => ({ change: 'deleted', key })));
  const [brand] = await workspace.query(`SELECT epoch_ms(valid_to) AS ended FROM brands_history
    WHERE id = '${ids[0]}' AND change = 'inserted'`);
  expect(brand).toEqual({ ended: BigInt(workspace.sandbox.world.now()) });
});

test('history keeps the earlier numbers of a day that upstream restates', async () => {
  const { workspace, happen } = await openSynced(44);
  const { ids } = await happen({ lateAnswers: 1 });
  const days = await workspace.query(
    `SELECT strftime(created_at, '%Y-%m-%d') AS day FROM responses WHERE id = '${ids[0]}'`,
  );
  const said = await workspace.query(`SELECT change, valid_to IS NULL AS now, responses FROM metrics_daily_history
    WHERE date = '${days[0]?.['day']}' AND entity_type = 'brand' AND row_mode = 'none'
      AND brand_id = (SELECT brand_id FROM responses WHERE id = '${ids[0]}') ORDER BY valid_from`);
  expect(said).toEqual([
    { change: 'inserted', now: false, responses: expect.any(BigInt) },
    { change: 'updated', now: true, responses: (said[0]?.['responses'] as bigint) + 1n },
  ]);
});
