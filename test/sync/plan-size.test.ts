import { expect, test } from 'vitest';
import { checkPlanSize, PLAN_REQUESTS_MIN } from '../../src/contract/plausibility/plan-size.ts';
import { addDays, dayOf } from '../../src/contract/time.ts';
import { planSync } from '../../src/sync/plan/estimate.ts';
import { NOW_MS } from '../support/clocks.ts';
import { expectEqualToUpstream } from '../support/compare.ts';
import { openWorkspace } from '../support/workspace.ts';
import { alteredBody } from './altered.ts';

test('a plan may have 2,000 requests or 20 times the requests of the last complete run', () => {
  for (const [planned, last] of [
    [PLAN_REQUESTS_MIN, 1],
    [10_000, 500],
    [1e9, null],
  ] as const)
    expect(() => checkPlanSize(planned, last)).not.toThrow();
  expect(() => checkPlanSize(PLAN_REQUESTS_MIN + 1, 1)).toThrow(
    'the last complete sync needed 1; allowed: at most 2000',
  );
  expect(() => checkPlanSize(10_001, 500)).toThrow('allowed: at most 10000');
});

test('a sync is rejected if the day counts grow a million times, unless the plan is accepted', async () => {
  const daily = alteredBody('metrics_daily');
  const workspace = await openWorkspace({ brands: 1, prompts: 3, days: 8, fixtures: daily.fixtures });
  const sync = (acceptPlan = false) => workspace.sync({ only: ['responses'], acceptPlan });
  expect((await sync()).status).toBe('complete');
  const day = addDays(dayOf(NOW_MS), -6);
  daily.alter((body) => {
    for (const row of body.data) if (row.date === day) row.responses *= 1_000_000;
    return body;
  });
  const refused = await sync();
  expect(refused).toMatchObject({ status: 'failed', error: { code: 'plan_too_large' } });
  expect(refused.error?.message).toMatch(
    /plans at least \d+ requests, but the last complete sync needed \d+; allowed: at most 2000/,
  );
  expect((await sync(true)).error).toBeNull();
  daily.alter(null);
  expect((await sync()).status).toBe('complete');
  await expectEqualToUpstream(workspace, { only: ['responses'] });
});

test('planning stops when it is interrupted', async () => {
  const { catalogue, clock, warehouse } = await openWorkspace({ world: 'tiny' });
  const stop = new AbortController();
  const parts = { catalogue, clock, connections: 8, signal: stop.signal, warehouse: warehouse() };
  setImmediate(() => stop.abort(new Error('Ctrl-C')));
  await expect(planSync(parts, { only: null, range: null, brands: null })).rejects.toThrow('Ctrl-C');
});
