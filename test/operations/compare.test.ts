import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { type CompareRequest, compareWorkspace } from '../../src/operations/compare/compare.ts';
import { type Context, openContext, sync } from '../../src/operations/sightline.ts';
import { readWorkspaceStatus } from '../../src/operations/status.ts';
import { NOW_MS } from '../support/clocks.ts';
import { sampleOf } from '../support/counts.ts';
import { temporaryFolder } from '../support/folders.ts';
import { type DeviatingUpstream, startDeviatingUpstream } from './deviating-upstream.ts';
import { deviations } from './planted-deviations.ts';

const clock = { ...systemClock, now: () => NOW_MS };

async function contextFor({ baseUrl, key }: DeviatingUpstream): Promise<Context> {
  const folder = await temporaryFolder();
  return openContext({
    folder,
    dataDir: folder,
    baseUrl,
    environment: { SIGHTLINE_API_KEY: key, SIGHTLINE_RAW_DAYS: '0' },
    clock,
  });
}

const all: CompareRequest = { requests: 40, brands: null, resources: null, seed: 1 };
const compare = (context: Context, request: Partial<CompareRequest> = {}) =>
  compareWorkspace(context, { ...all, ...request }, () => undefined);

test('a synced workspace answers as upstream does', async () => {
  const upstream = await startDeviatingUpstream(11);
  onTestFinished(() => upstream.close());
  const context = await contextFor(upstream);
  await sync(context);
  const { questions, requests, error } = await compare(context, { requests: 80, seed: 11 });
  expect(error).toBeNull();
  expect(questions.filter(({ verdict }) => verdict !== 'equal')).toEqual([]);
  expect(questions).toHaveLength(80);
  expect(requests).toBe(80);
  expect(new Set(questions.map(({ resource }) => resource)).size).toBeGreaterThan(15);
  const { data } = await readWorkspaceStatus(context.config, clock);
  expect(data?.comparison).toEqual({
    at: new Date(NOW_MS).toISOString(),
    compared: 80,
    equal: 80,
    skipped: 0,
    differing: [],
  });
});

test('each of the planted deviations is found, in its resource and field only', { timeout: 600_000 }, async () => {
  const upstream = await startDeviatingUpstream(13);
  onTestFinished(() => upstream.close());
  const context = await contextFor(upstream);
  await sync(context);
  const found: Record<string, unknown> = {};
  const planted = sampleOf(deviations, Math.ceil(deviations.length / 2));
  for (const deviation of planted) {
    await upstream.deviate(deviation);
    const { questions, error } = await compare(context, { requests: 14, resources: [deviation.resource], seed: 3 });
    const differing = questions.filter(({ verdict }) => verdict === 'differs');
    const fields = differing.flatMap(({ fields }) => fields);
    found[deviation.name] = {
      error,
      resources: [...new Set(differing.map(({ resource }) => resource))],
      isNamed: fields.some((field) => field.includes(deviation.field)),
    };
  }
  expect(deviations.length).toBeGreaterThanOrEqual(30);
  expect(found).toEqual(
    Object.fromEntries(
      planted.map(({ name, resource }) => [name, { error: null, resources: [resource], isNamed: true }]),
    ),
  );
});
