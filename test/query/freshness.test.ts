import { rm } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { defaultConventions } from '../../src/analytics/calibration/conventions.ts';
import { DAY_MS } from '../../src/contract/time.ts';
import { runMetrics } from '../../src/query/metrics/run-metrics.ts';
import { readEmptyDays } from '../../src/warehouse/ledger/empty-days.ts';
import { NOW_MS } from '../support/clocks.ts';
import { sampleOf } from '../support/counts.ts';
import { askService, type Mirror, openMirror } from './mirror.ts';

const noParameters = new URLSearchParams();

describe('freshness of a response', () => {
  it('is unknown until the first sync has ended, and available afterwards without a restart', async () => {
    const mirror = await openMirror({ world: 'tiny', conventions: defaultConventions });
    const path = '/brands';
    await rm(mirror.copy);
    expect(await mirror.mirror(path)).toMatchObject({ status: 503, body: { error: { code: 'no_data' } } });
    expect(await mirror.service.freshness()).toMatchObject({ ready: false, dataVersion: null });
    await mirror.publishOnly();
    expect((await mirror.mirror(path)).status).toBe(200);
    expect(await mirror.service.freshness()).toMatchObject({ ready: true, status: 'complete' });
  });

  it('is the time of the last sync, and coverage is complete after one', async () => {
    const mirror = await openMirror({ world: 'tiny' });
    const brandId = await brandOf(mirror);
    for (const resource of mirror.catalogue.resources.filter(({ change }) => change.kind !== 'detail')) {
      const question = await mirror.service.ask(resource, resource.scope === 'brand' ? { brandId } : {}, noParameters);
      expect(question.partial, resource.name).toBe(false);
      // Upstream's clock has whole seconds.
      expect(Math.abs((question.asOf ?? 0) - NOW_MS), resource.name).toBeLessThan(2_000);
    }
    const { resources } = await mirror.service.freshness();
    expect(resources.filter(({ partial, asOf }) => partial || asOf === null)).toEqual([]);
  });

  it('is the time of the newest responses in metrics, also if days are only known to be empty by an older list', async () => {
    const mirror = await openMirror({ brands: 1, prompts: 1, days: 3, choices: { createdDaysBefore: 30 } });
    await mirror.sync({ only: ['brands', 'responses', 'metrics_daily'] });
    mirror.sandbox.world.advance({ days: 1 });
    await mirror.sync({ only: ['responses'] });
    await mirror.publishOnly();
    const replica = await mirror.service.newest();
    const brandId = await brandOf(mirror);
    const nowMs = mirror.clock.now();
    const responses = mirror.catalogue.get('responses');
    const empty = await replica.replica.work((query) => readEmptyDays(query, mirror.catalogue, responses));
    expect(empty.get(brandId)?.size).toBeGreaterThan(0);
    const source = { replica, catalogue: mirror.catalogue, nowMs };
    const { asOf } = await runMetrics(source, new URLSearchParams({ metrics: 'responses', brand: brandId }));
    expect(Math.abs(Date.parse(asOf ?? '') - nowMs)).toBeLessThan(2_000);
  });

  it('has partial coverage for days after the last sync, and for the day of the sync once that day is over', async () => {
    const mirror = await openMirror({ world: 'tiny', conventions: defaultConventions });
    const path = `/brands/${await brandOf(mirror)}/metrics`;
    expect(await isPartial(mirror, path)).toBe(false);
    mirror.sandbox.world.advance({ days: 2 });
    expect(await isPartial(mirror, path)).toBe(true);
    const [lastSync, dayBefore] = [dayAt(NOW_MS), dayAt(NOW_MS - DAY_MS)];
    expect(await isPartial(mirror, `${path}?to=${lastSync}`)).toBe(true);
    expect(await isPartial(mirror, `${path}?to=${dayBefore}`)).toBe(false);
    await mirror.publish();
    expect(await isPartial(mirror, path)).toBe(false);
  });

  it('has partial coverage if the sync read only some days or left out a list', async () => {
    const mirror = await openMirror({ brands: 1, prompts: 2, days: 8, conventions: defaultConventions });
    const range = { from: dayAt(NOW_MS - 3 * DAY_MS), to: dayAt(NOW_MS - 2 * DAY_MS) };
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

describe('the version of a response', () => {
  it('is stable without changes, even over a sync, and differs by request and by data', async () => {
    const mirror = await openMirror({ world: 'tiny' });
    const brand = `/brands/${await brandOf(mirror)}`;
    const paths = [
      `${brand}/metrics`,
      `${brand}/metrics?branded=branded`,
      `${brand}/responses`,
      `${brand}/prompts`,
      '/brands',
    ];
    const before = await versionsOf(mirror, paths);
    expect(new Set(before).size).toBe(paths.length);
    await mirror.publish();
    expect(await versionsOf(mirror, paths)).toEqual(before);
    mirror.sandbox.world.advance({ lateAnswers: 1 });
    await mirror.publish();
    const after = await versionsOf(mirror, paths);
    const changed = paths.filter((_path, index) => after[index] !== before[index]);
    expect(changed).toEqual([`${brand}/metrics`, `${brand}/metrics?branded=branded`, `${brand}/responses`]);
  });

  it('does not depend on how the request is written', async () => {
    const mirror = await openMirror({ world: 'tiny' });
    const id = await brandOf(mirror);
    const today = dayAt(NOW_MS);
    const [bare, ...others] = await versionsOf(mirror, [
      `/brands/${id}/responses`,
      `/brands/${id.toUpperCase()}/responses`,
      `/brands/${id}/responses?limit=25`,
      `/brands/${id}/responses?to=${today}`,
    ]);
    expect(others).toEqual([bare, bare, bare]);
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
    const after = new Set(await idsOf(mirror, `${path}&from=${dayAt(NOW_MS - 29 * DAY_MS)}&to=${dayAt(NOW_MS)}`));
    const throughout = before.filter((id) => after.has(id));
    expect(throughout.length).toBeGreaterThan(100);
    expect(after.size).toBeGreaterThan(throughout.length);
    expect(new Set(seen).size).toBe(seen.length);
    expect(throughout.filter((id) => !seen.includes(id))).toEqual([]);
  });

  it('rejects a cursor for another brand, filter, limit or endpoint, and accepts it with an explicit range', async () => {
    const mirror = await openMirror({ world: 'small' });
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
    const range = `from=${dayAt(NOW_MS - 29 * DAY_MS)}&to=${dayAt(NOW_MS)}`;
    const plain = await mirror.mirror(`${path}&cursor=${nextCursor}`);
    expect(plain.status).toBe(200);
    expect(await mirror.mirror(`${path}&${range}&cursor=${nextCursor}`)).toEqual(plain);
  });
});

function dayAt(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 10);
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

async function versionsOf(mirror: Mirror, paths: readonly string[]): Promise<string[]> {
  return Promise.all(paths.map(async (path) => (await askService(mirror.service, path)).version));
}

async function idsOf(mirror: Mirror, path: string): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const { body } = await mirror.mirror(cursor === '' ? path : `${path}&cursor=${cursor}`);
    const page = body as { data: { id: string }[]; nextCursor: string | null };
    ids.push(...page.data.map(({ id }) => id));
    cursor = page.nextCursor;
  }
  return ids;
}
