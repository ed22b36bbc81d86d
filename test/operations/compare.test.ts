import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { type CompareRequest, compareWorkspace } from '../../src/operations/compare/compare.ts';
import { type Context, openContext, sync } from '../../src/operations/sightline.ts';
import { readWorkspaceStatus } from '../../src/operations/status.ts';
import { temporaryFolder } from '../support/folders.ts';
import { startStillSandbox } from '../support/still-sandbox.ts';
import { NOW_MS } from '../support/workspace.ts';
import { type Deviation, deviations } from './planted-deviations.ts';

const clock = { ...systemClock, now: () => NOW_MS };

interface Upstream {
  readonly baseUrl: string;
  readonly key: string;
  /** Alters all further responses. */
  deviate(deviation: Deviation | null): void;
  close(): Promise<void>;
}

/** A sandbox behind a proxy that can alter its responses. */
async function startUpstream(seed: number): Promise<Upstream> {
  const sandbox = await startStillSandbox(
    { seed, brands: 2, prompts: 9, days: 24, choices: { connected: 'all' } },
    NOW_MS,
  );
  let current: Deviation | null = null;
  const server = createServer((request, response) => {
    void forward(request.url ?? '').then(({ status, headers, body }) => {
      response.writeHead(status, headers).end(body);
    });
  });
  const forward = async (path: string) => {
    const url = new URL(`${new URL(sandbox.baseUrl).origin}${path}`);
    const answer = await fetch(url, { headers: { authorization: `Bearer ${sandbox.key}` } });
    const text = await answer.text();
    const headers = {
      'content-type': 'application/json',
      date: answer.headers.get('date') ?? '',
      'x-ratelimit-limit': '10000',
    };
    if (current === null || answer.status !== 200 || !current.path.test(url.pathname))
      return { status: answer.status, headers, body: text };
    const altered = current.alter(JSON.parse(text), url);
    if (typeof altered === 'number') return { status: altered, headers, body: '{"error":{"code":"x","message":"x"}}' };
    return { status: 200, headers, body: JSON.stringify(altered) };
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    key: sandbox.key,
    deviate: (deviation) => {
      current = deviation;
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await sandbox.close();
    },
  };
}

async function contextFor({ baseUrl, key }: Upstream): Promise<Context> {
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

test.each([11, 12])('a synced workspace answers as upstream does (world %i)', async (seed) => {
  const upstream = await startUpstream(seed);
  onTestFinished(() => upstream.close());
  const context = await contextFor(upstream);
  await sync(context);
  const { questions, requests, error } = await compare(context, { requests: 80, seed });
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
  const upstream = await startUpstream(13);
  onTestFinished(() => upstream.close());
  const context = await contextFor(upstream);
  await sync(context);
  const found: Record<string, unknown> = {};
  for (const deviation of deviations) {
    upstream.deviate(deviation);
    const { questions, error } = await compare(context, { requests: 25, resources: [deviation.resource], seed: 3 });
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
      deviations.map(({ name, resource }) => [name, { error: null, resources: [resource], isNamed: true }]),
    ),
  );
});
