import { describe, expect, test } from 'vitest';
import type { Advance } from '../../schemas/fixtures/world/model.ts';
import { addDays, dayOf } from '../../src/contract/time.ts';
import { parseFaults } from '../../src/sandbox/faults.ts';
import { countDays } from '../../src/sync/plan/plan-next.ts';
import { expectEqualToUpstream } from '../support/compare.ts';
import { IS_ENDURANCE, sampleOf } from '../support/counts.ts';
import { openWorkspace, type TestWorkspace } from '../support/workspace.ts';
import { insertLate } from './altered.ts';

describe('nightly syncs over months', () => {
  test('each end with a warehouse equal to upstream, despite faults, kills and changes', async () => {
    const all = Array.from({ length: 30 }, (_, index) => index + 1);
    const workspace = await openWorkspace(
      IS_ENDURANCE ? { seed: 41, brands: 2, prompts: 4, days: 30 } : { world: 'tiny' },
    );
    const { sandbox } = workspace;
    if (IS_ENDURANCE) await workspace.sync();
    // The fifth has a stop and faults.
    for (const night of sampleOf(all, 1, 4)) {
      sandbox.world.advance(changesOf(night));
      if (night % 4 === 1) await stopMidway(workspace, night % 12);
      if (night % 3 === 2) sandbox.setFaults(parseFaults('500=6x,reset=3x,truncate=2x,429=2x'));
      const summary = await untilComplete(workspace);
      expect(summary.failures, `night ${night}`).toEqual([]);
      sandbox.setFaults([]);
      await expectEqualToUpstream(workspace);
      await expectCountsOfToday(workspace);
    }
  });

  test('read the lists and the recent days, and one more page for a response nine days late', async () => {
    const workspace = await openWorkspace({ seed: 42, brands: 1, prompts: 1, days: 20 });
    const first = await workspace.sync();
    const quiet = await workspace.sync();
    const lists = workspace.catalogue.resources.filter(({ change }) => change.kind !== 'detail').length;
    expect(quiet.requests).toBeLessThan(first.requests / 2);
    // Each endpoint once, four groupings and two row modes of one, three days of totals, one window, the OpenAPI
    // description.
    expect(quiet.requests).toBeLessThanOrEqual(lists + 3 + 1 + 3 + 1 + 1);
    insertLate(workspace, addDays(dayOf(workspace.sandbox.world.now()), -9));
    const late = await workspace.sync();
    expect(late.tables['responses']).toMatchObject({ inserted: 1, updated: 0, deleted: 0 });
    expect(late.requests).toBe(quiet.requests + 1);
    await expectEqualToUpstream(workspace);
  });

  test('miss nothing when every run ends early at its allowance', async () => {
    const workspace = await openWorkspace({ seed: 43, brands: 1, prompts: 1, days: 3 });
    const allowance = { maxRequests: 15, deadline: null };
    let runs = 0;
    for (let status = 'partial'; status !== 'complete'; runs++) {
      const before = await workspace.query('SELECT count(*) AS n FROM sync.requests');
      const summary = await workspace.sync({ allowance });
      status = summary.status;
      if (status !== 'complete') expect(summary.allowance).toContain('15 requests');
      expect(summary.requests).toBeLessThanOrEqual(15);
      const after = await workspace.query('SELECT count(*) AS n FROM sync.requests');
      expect(Number(after[0]?.['n']) - Number(before[0]?.['n'])).toBe(summary.requests);
      expect(runs).toBeLessThan(40);
    }
    expect(runs).toBeGreaterThan(2);
    await expectEqualToUpstream(workspace);
  });
});

// Checks that stored figures of days that were not counted again equal a new count.
async function expectCountsOfToday({ catalogue, sandbox, warehouse }: TestWorkspace): Promise<void> {
  const { database } = warehouse();
  const today = dayOf(sandbox.world.now());
  const [counted] = catalogue.resources.filter(({ change }) => change.kind === 'window');
  if (counted === undefined) throw new Error('no resource is read by windows');
  for (const { id } of sandbox.world.brands) {
    const brand = { id, since: null, name: null };
    const { days, audits } = await countDays({ catalogue, database }, counted, brand, today);
    const again = days.filter((day) => audits.get(day.day) !== day);
    expect(again.length, 'days counted again').toBeLessThan(days.length / 2);
    await database.exclusive((session) => session.run('UPDATE sync.audits SET mark = NULL WHERE brand_id = $1', [id]));
    const fresh = await countDays({ catalogue, database }, counted, brand, today);
    // Stored audits contain retries besides the figures.
    expect(days).toMatchObject(fresh.days);
  }
}

// All kinds of changes from time to time. Changes of responses must change a figure, because other changes are
// invisible outside the days read every night.
function changesOf(night: number): Advance {
  return {
    days: 1,
    ...(night % 2 === 0 ? { lateAnswers: 3 } : {}),
    ...(night % 3 === 0 ? { deletedResponses: 2 } : {}),
    ...(night % 4 === 0 ? { regroupedPrompts: 1, forumStatusChanges: 2 } : {}),
    ...(night % 5 === 0 ? { articleProgress: 1, actionsDone: 1 } : {}),
    ...(night % 20 === 7 ? { pausedPrompts: 1 } : {}),
    ...(night % 30 === 9 ? { deletedPrompts: 1 } : {}),
    ...(night % 40 === 12 ? { deletedCompetitors: 1 } : {}),
  };
}

// Stops a run after some requests, then closes and reopens the warehouse as the next process would.
async function stopMidway(workspace: TestWorkspace, night: number): Promise<void> {
  const stop = new AbortController();
  const summary = await workspace.sync({
    signal: stop.signal,
    onProgress: ({ requests }) => {
      if (requests >= 5 + night) stop.abort(new Error('stopped'));
    },
  });
  expect(summary.status).toBe('interrupted');
  await workspace.reopen();
}

async function untilComplete(workspace: TestWorkspace) {
  for (let run = 1; ; run++) {
    const summary = await workspace.sync();
    if (summary.status === 'complete' || run === 4) return summary;
  }
}
