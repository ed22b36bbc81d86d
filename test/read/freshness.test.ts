import { describe, expect, it } from 'vitest';
import { DAY_MS, dayOf } from '../../src/contract/time.ts';
import { defaultConventions } from '../../src/metrics/calibration/conventions.ts';
import { runMetrics } from '../../src/read/metrics/run-metrics.ts';
import { readEmptyDays } from '../../src/warehouse/ledger/empty-days.ts';
import { NOW_MS } from '../support/clocks.ts';
import { sampleOf } from '../support/counts.ts';
import { askService, itemsOf, type Mirror, openMirror, sourceOf } from './mirror.ts';

const noParameters = new URLSearchParams();

describe('freshness of a response', () => {
  it('is the time of the newest responses in metrics, also if days are only known to be empty by an older list', async () => {
    const choices = { createdDaysBefore: 30 };
    const mirror = await openMirror({ brands: 1, prompts: 1, days: 3, choices, conventions: defaultConventions });
    await mirror.sync({ only: ['brands', 'responses', 'metrics_daily'] });
    mirror.sandbox.world.advance({ days: 1 });
    await mirror.sync({ only: ['responses'] });
    await mirror.publishOnly();
    const source = await sourceOf(mirror);
    const { nowMs, catalogue } = source;
    const brandId = await brandOf(mirror);
    const empty = await source.replica.replica.work((query) =>
      readEmptyDays(query, catalogue, catalogue.get('responses')),
    );
    expect(empty.get(brandId)?.size).toBeGreaterThan(0);
    const { asOf } = await runMetrics(source, new URLSearchParams({ metrics: 'responses', brand: brandId }));
    expect(Math.abs(Date.parse(asOf ?? '') - nowMs)).toBeLessThan(2_000);
  });

  it('has partial coverage for days after the last sync, and for the day of the sync once that day is over', async () => {
    const mirror = await openMirror({ world: 'tiny', conventions: defaultConventions });
    const path = `/brands/${await brandOf(mirror)}/metrics`;
    expect(await isPartial(mirror, path)).toBe(false);
    mirror.sandbox.world.advance({ days: 2 });
    expect(await isPartial(mirror, path)).toBe(true);
    const [lastSync, dayBefore] = [dayOf(NOW_MS), dayOf(NOW_MS - DAY_MS)];
    expect(await isPartial(mirror, `${path}?to=${lastSync}`)).toBe(true);
    expect(await isPartial(mirror, `${path}?to=${dayBefore}`)).toBe(false);
    await mirror.sync({ only: ['responses', 'metrics_daily', 'competitors', 'prompts'] });
    await mirror.publishOnly();
    expect(await isPartial(mirror, path)).toBe(false);
  });

  it('has partial coverage if the sync read only some days or left out a list', async () => {
    const mirror = await openMirror({ brands: 1, prompts: 2, days: 8, conventions: defaultConventions });
    const range = { from: dayOf(NOW_MS - 3 * DAY_MS), to: dayOf(NOW_MS - 2 * DAY_MS) };
    await mirror.sync({ only: ['responses'], range });
    await mirror.publishOnly();
    const brand = `/brands/${await brandOf(mirror)}`;
    expect(await isPartial(mirror, `${brand}/responses?from=${range.from}&to=${range.to}`)).toBe(false);
    expect(await isPartial(mirror, `${brand}/responses`)).toBe(true);
    expect(await isPartial(mirror, `${brand}/metrics?from=${range.from}&to=${range.to}`)).toBe(true);
    expect(await isPartial(mirror, `${brand}/alerts`)).toBe(true);
    expect(await isPartial(mirror, '/brands')).toBe(false);
    expect(await mirror.mirror('/credits')).toMatchObject({ status: 503, body: { error: { code: 'no_data' } } });
  });
});

describe('a paged scan during a sync', () => {
  it('returns every row that existed throughout exactly once, and keeps its range over midnight', async () => {
    const mirror = await openMirror({ world: 'small', conventions: defaultConventions });
    const path = `/brands/${await brandOf(mirror)}/responses?limit=5`;
    const before = await idsOf(mirror, path);
    const seen: string[] = [];
    let cursor: string | null = null;
    let pages = 0;
    do {
      const reply = await mirror.mirror(cursor === null ? path : `${path}&cursor=${cursor}`);
      const body = reply.body as { data: { id: string }[]; nextCursor: string | null };
      expect(reply.status, JSON.stringify(body)).toBe(200);
      seen.push(...body.data.map(({ id }) => id));
      cursor = body.nextCursor;
      pages += 1;
      if (sampleOf([1, 5, 9], 1, 1).includes(pages)) {
        const change = { lateAnswers: 9, deletedResponses: 4, editedResponses: 6, ...(pages === 5 ? { days: 1 } : {}) };
        mirror.sandbox.world.advance(change);
        await mirror.sync({ only: ['responses'] });
        await mirror.publishOnly();
      }
    } while (cursor !== null);
    expect(pages).toBeGreaterThan(15);
    const after = new Set(await idsOf(mirror, `${path}&from=${dayOf(NOW_MS - 29 * DAY_MS)}&to=${dayOf(NOW_MS)}`));
    const throughout = before.filter((id) => after.has(id));
    expect(throughout.length).toBeGreaterThan(100);
    expect(after.size).toBeGreaterThan(throughout.length);
    expect(new Set(seen).size).toBe(seen.length);
    expect(throughout.filter((id) => !seen.includes(id))).toEqual([]);
  });
});

describe('a replica after a sync', () => {
  it('has fresh and complete lists, versions that do not depend on the form of a request, and cursors of one request', async () => {
    const mirror = await openMirror({ world: 'small' });
    await expectFresh(mirror);
    await expectVersions(mirror);
    await expectCursors(mirror);
  });
});

// The time is that of the last sync.
async function expectFresh(mirror: Mirror): Promise<void> {
  const brandId = await brandOf(mirror);
  for (const resource of mirror.catalogue.resources.filter(({ change }) => change.kind !== 'detail')) {
    const question = await mirror.service.ask(resource, resource.scope === 'brand' ? { brandId } : {}, noParameters);
    expect(question.partial, resource.name).toBe(false);
    // Upstream's clock has whole seconds.
    expect(Math.abs((question.asOf ?? 0) - NOW_MS), resource.name).toBeLessThan(2_000);
  }
  const { resources } = await mirror.service.freshness();
  expect(resources.filter(({ partial, asOf }) => partial || asOf === null)).toEqual([]);
}

async function expectVersions(mirror: Mirror): Promise<void> {
  const id = await brandOf(mirror);
  const paths = [
    `/brands/${id}/responses`,
    `/brands/${id.toUpperCase()}/responses`,
    `/brands/${id}/responses?limit=25`,
    `/brands/${id}/responses?to=${dayOf(NOW_MS)}`,
  ];
  const asked = paths.map(async (path) => (await askService(mirror.service, path)).version);
  expect(new Set(await Promise.all(asked)).size).toBe(1);
}

// A cursor is rejected for another brand, filter, limit or endpoint, and accepted with an explicit range.
async function expectCursors(mirror: Mirror): Promise<void> {
  const [one, two] = [...(await brandsOf(mirror))] as [string, string];
  const path = `/brands/${one}/responses?limit=5`;
  const { nextCursor } = (await mirror.mirror(path)).body as { nextCursor: string };
  const others = [
    `/brands/${two}/responses?limit=5`,
    `/brands/${one}/responses?limit=6`,
    `/brands/${one}/responses?limit=5&brandMentioned=true`,
    `/brands/${one}/responses?limit=5&from=2026-03-01`,
    `/brands/${one}/alerts?limit=5`,
  ];
  for (const other of others) {
    const reply = await mirror.mirror(`${other}&cursor=${nextCursor}`);
    expect(reply, other).toMatchObject({ status: 400, body: { error: { code: 'invalid_parameter' } } });
  }
  const range = `from=${dayOf(NOW_MS - 29 * DAY_MS)}&to=${dayOf(NOW_MS)}`;
  const plain = await mirror.mirror(`${path}&cursor=${nextCursor}`);
  expect(plain.status).toBe(200);
  expect(await mirror.mirror(`${path}&${range}&cursor=${nextCursor}`)).toEqual(plain);
}

async function brandsOf(mirror: Mirror): Promise<string[]> {
  const { body } = await mirror.upstream('/brands');
  return (body as { data: { id: string }[] }).data.map(({ id }) => id);
}

async function brandOf(mirror: Mirror): Promise<string> {
  return (await brandsOf(mirror))[0] as string;
}

async function isPartial(mirror: Mirror, path: string): Promise<boolean> {
  return (await askService(mirror.service, path)).partial;
}

async function idsOf(mirror: Mirror, path: string): Promise<string[]> {
  return (await itemsOf<{ id: string }>(mirror, path)).map(({ id }) => id);
}
