import { expect, test } from 'vitest';
import type { WorkspaceOptions } from '../../schemas/fixtures/start.ts';
import { planSync } from '../../src/sync/plan/estimate.ts';
import { leadsOn } from '../../src/sync/plan/plan-slices.ts';
import { progressOf } from '../../src/sync/progress.ts';
import type { SyncStats } from '../../src/sync/sync-stats.ts';
import { countOf } from '../support/counts.ts';
import { openWorkspace } from '../support/workspace.ts';

const EVERYTHING = { only: null, range: null, brands: null };
const budget = { limit: 120, capacity: 116, left: 116 };

/** Requests after which the estimate of a running sync is compared. */
const SETTLED_REQUESTS = 20;

/** Largest error of the estimate of a running sync. */
const ERROR_MAX = 0.1;

/** The first ones are cheap. */
const worlds: readonly [string, WorkspaceOptions][] = [
  ['no brands', { brands: 0, prompts: 0, days: 1 }],
  [
    '1 brand, 8 days, all traffic, in a time zone where it is tomorrow',
    { brands: 1, prompts: 2, days: 8, choices: { connected: 'all', propertyZone: 'Asia/Tokyo' } },
  ],
  ['1 brand, first day', { brands: 1, prompts: 2, days: 1 }],
  ['1 brand, 8 days', { brands: 1, prompts: 6, days: 8 }],
  ['1 brand without prompts', { brands: 1, prompts: 0, days: 30 }],
  ['2 brands, 45 days', { brands: 2, prompts: 6, days: 45 }],
  [
    '2 brands, 45 days, created a year before',
    { brands: 2, prompts: 6, days: 45, choices: { createdDaysBefore: 400 } },
  ],
  ['2 brands, 60 days, all traffic', { brands: 2, prompts: 5, days: 60, choices: { connected: 'all' } }],
  ['2 brands, 60 days, no traffic', { brands: 2, prompts: 5, days: 60, choices: { connected: 'none' } }],
  [
    '2 brands, 29 days, visitors instead of sessions',
    { brands: 2, days: 29, choices: { connected: 'all', siteTotals: 'unique' } },
  ],
  [
    '3 brands, 366 days, all traffic',
    { brands: 3, prompts: 3, days: 366, responsesPerDay: 1, choices: { connected: 'all' } },
  ],
  [
    '3 brands, 366 days, no traffic',
    { brands: 3, prompts: 3, days: 366, responsesPerDay: 1, choices: { connected: 'none' } },
  ],
  ['1 brand, 500 days', { brands: 1, prompts: 3, days: 500, responsesPerDay: 3 }],
  ['1 brand, 90 days, few responses', { brands: 1, prompts: 4, days: 90, responsesPerDay: 2, seed: 3 }],
  [
    '2 brands, 31 days, bare lists',
    { brands: 2, prompts: 4, days: 31, seed: 4, choices: { listEnvelope: 'bare', openapi: 'absent' } },
  ],
  [
    '3 brands, 100 days, rows for empty days',
    { brands: 3, prompts: 2, days: 100, responsesPerDay: 2, seed: 5, choices: { emptyDays: 'zero' } },
  ],
  ['1 brand, many responses', { brands: 1, prompts: 10, days: 8, responsesPerDay: 260, seed: 6 }],
];

test.each(worlds.slice(0, countOf(2, worlds.length)))(
  'the cost of the first sync is estimated: %s',
  async (_, options) => {
    // A first sync without a plan: its own estimate after 20 requests.
    const direct = await openWorkspace(options);
    let settled = 0;
    const onProgress = (stats: SyncStats): void => {
      if (settled === 0 && stats.requests >= SETTLED_REQUESTS) settled = progressOf(stats, budget, 1_000).expected;
    };
    const { requests: actual, status } = await direct.sync({ connections: 1, onProgress });
    expect(status).toBe('complete');

    // A plan of an empty warehouse, and the sync after it.
    const { sync, catalogue, clock, warehouse } = await openWorkspace(options);
    const leading = catalogue.resources.filter((resource) => leadsOn(catalogue, resource)).map(({ name }) => name);
    await sync({ only: leading, probe: true });
    const { signal } = new AbortController();
    const price = () => planSync({ catalogue, clock, connections: 8, signal, warehouse: warehouse() }, EVERYTHING);
    const plan = await price();
    let begun = 0;
    const note = (stats: SyncStats): void => {
      if (begun === 0 && stats.predicted > 0) begun = progressOf(stats, budget, 1_000).expected;
    };
    const after = await sync({ onProgress: note });
    if (actual > SETTLED_REQUESTS) expect(Math.abs(settled - actual) / actual).toBeLessThanOrEqual(ERROR_MAX);
    expect(Math.abs(plan.requests - after.requests) / after.requests).toBeLessThanOrEqual(0.25);
    expect(after.requests).toBeGreaterThanOrEqual(plan.least);
    expect(after.requests).toBeLessThanOrEqual(plan.most ?? 0);
    expect(begun).toBe(plan.requests);
    const again = await price();
    const { requests } = await sync();
    expect(requests).toBeGreaterThanOrEqual(again.least);
    expect(requests).toBeLessThanOrEqual(again.most ?? 0);
  },
);
