import { expect, test } from 'vitest';
import type { Advance } from '../../schemas/fixtures/world/model.ts';
import { NOW_MS } from '../support/clocks.ts';
import { expectConsistent, fingerprint } from '../support/compare.ts';
import { openWorkspace } from '../support/workspace.ts';

test('each change of upstream gives a version of the changed row with the earlier values, and no version of another row', async () => {
  const workspace = await openWorkspace({ world: 'small' });
  const { catalogue, query, sandbox } = workspace;
  const begun = await query(`SELECT DISTINCT change, epoch_ms(valid_from) AS at, valid_to FROM prompts_history`);
  expect(begun).toEqual([{ change: 'inserted', at: BigInt(NOW_MS), valid_to: null }]);
  expect(await query('SELECT 1 FROM responses_history')).toEqual([]);

  /** Applies changes an hour later and syncs. Returns the changed ids by kind. */
  const happen = async (change: Advance): Promise<Record<string, string[]>> => {
    const ids: Record<string, string[]> = {};
    for (const { kind, ids: changed } of sandbox.advance({ days: 1 / 24, ...change }))
      ids[kind] = [...(ids[kind] ?? []), ...changed];
    expect(await workspace.sync()).toMatchObject({ status: 'complete', failures: [] });
    await expectConsistent(workspace);
    return ids;
  };
  /** Keys of a table's rows with a new version of a kind. */
  const changedIn = async (table: string, change: string): Promise<string[]> => {
    const { name, rowKey } = catalogue.histories.find(({ of }) => of === table) ?? { name: '', rowKey: [] };
    const key = rowKey.filter((column) => column !== 'brand_id' || rowKey.length === 1)[0] ?? '';
    const rows = await query(`SELECT CAST("${key}" AS VARCHAR) AS key FROM "${name}"
      WHERE change = '${change}' AND epoch_ms(valid_from) >= ${sandbox.world.now() - 60_000}`);
    return rows.map((row) => String(row['key'])).sort();
  };
  const tagsAt = (moment: number) =>
    query(`SELECT CAST(id AS VARCHAR) AS id, _children->>'$.prompt_tags[*].name' AS tags
      FROM prompts_history WHERE valid_from <= make_timestamp(${moment} * 1000)
        AND (valid_to IS NULL OR valid_to > make_timestamp(${moment} * 1000))
        AND json_array_length(_children->'prompt_tags') > 0 ORDER BY 1`);
  const tagsNow = () =>
    query(`SELECT CAST(prompt_id AS VARCHAR) AS id, list(name ORDER BY ordinal) AS tags FROM prompt_tags
      WHERE _deleted_at IS NULL GROUP BY 1 ORDER BY 1`);

  const tagsThen = await tagsNow();
  const ids = await happen({
    lateAnswers: 1,
    editedResponses: 3,
    pausedPrompts: 2,
    regroupedPrompts: 4,
    forumStatusChanges: 2,
    articleProgress: 2,
    actionsDone: 2,
  });
  const tables: Record<string, (string[] | undefined)[]> = {
    prompts: [ids['pausedPrompts'], ids['regroupedPrompts']],
    responses: [ids['editedResponses']],
    forum_opportunities: [ids['forumStatusChanges']],
    articles: [ids['articleProgress']],
  };
  for (const [table, changed] of Object.entries(tables)) {
    for (const kind of changed) expect(kind?.length, table).toBeGreaterThan(1);
    expect(await changedIn(table, 'updated'), table).toEqual(
      [...new Set(changed.flatMap((kind) => kind ?? []))].sort(),
    );
  }
  expect(await tagsAt(NOW_MS)).toEqual(tagsThen);
  expect(await tagsAt(sandbox.world.now())).toEqual(await tagsNow());
  expect(await tagsNow()).not.toEqual(tagsThen);
  const done = ids['actionsDone']?.toSorted() ?? [];
  const flags = await query(`SELECT DISTINCT action->>'id' AS id, valid_to IS NULL AS now, action->>'done' AS done
    FROM (SELECT valid_to, unnest(CAST(_children->'action_plan_actions' AS JSON[])) AS action FROM action_plans_history)
    WHERE id IN (${done.map((id) => `'${id}'`).join(', ')}) ORDER BY id, now`);
  expect(done.length).toBe(2);
  expect(flags).toEqual(
    done.flatMap((id) => [
      { id, now: false, done: 'false' },
      { id, now: true, done: 'true' },
    ]),
  );
  const late = ids['lateAnswers']?.[0];
  const days = await query(`SELECT change, valid_to IS NULL AS now, responses FROM metrics_daily_history
    WHERE (brand_id, date) = (SELECT (brand_id, CAST(created_at AS DATE)) FROM responses WHERE id = '${late}')
      AND entity_type = 'brand' AND row_mode = 'none' ORDER BY valid_from`);
  expect(days).toEqual([
    { change: 'inserted', now: false, responses: expect.any(BigInt) },
    { change: 'updated', now: true, responses: (days[0]?.['responses'] as bigint) + 1n },
  ]);

  const before = await fingerprint(workspace);
  expect(await workspace.sync()).toMatchObject({ status: 'complete' });
  expect(await fingerprint(workspace), 'a sync without changes writes no versions').toEqual(before);

  // Lists of a deleted brand are not read any more.
  const { deletedCompetitors = [], deletedBrand = [] } = await happen({ deletedCompetitors: 2, deletedBrand: true });
  const [brand] = deletedBrand;
  expect(await changedIn('brands', 'deleted')).toEqual([brand]);
  const read = await query(`SELECT CAST(id AS VARCHAR) AS id FROM competitors WHERE brand_id <> '${brand}'`);
  const gone = deletedCompetitors.filter((id) => read.some((row) => row['id'] === id));
  expect(gone.length).toBe(1);
  expect(await changedIn('competitors', 'deleted')).toEqual(gone);
  const [row] = await query(`SELECT epoch_ms(valid_to) AS ended FROM brands_history
    WHERE id = '${brand}' AND change = 'inserted'`);
  expect(row).toEqual({ ended: BigInt(sandbox.world.now()) });
});
