import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { NOW_MS } from '../support/clocks.ts';
import { openCli, type Running, serve, startCli, startedLine, until } from './helpers.ts';

interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly attributes: readonly { readonly key: string; readonly value: Record<string, unknown> }[];
  readonly events?: readonly { readonly name: string }[];
}

/** A collector on loopback that stores all received spans. */
async function collect() {
  const spans: OtlpSpan[] = [];
  const resources: unknown[] = [];
  const types: string[] = [];
  const { origin, close } = await serve((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const sent = Buffer.concat(chunks);
      types.push(`${request.url} ${request.headers['content-type']}`);
      if (request.headers['content-type'] === 'application/json') {
        const text = (request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent).toString();
        const body = JSON.parse(text) as {
          resourceSpans: { resource: unknown; scopeSpans: { spans: OtlpSpan[] }[] }[];
        };
        resources.push(...body.resourceSpans.map(({ resource }) => resource));
        spans.push(...body.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)));
      }
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  return { origin, close, spans, resources, types };
}

it('sends the trace of a sync before the command ends, even if stopped, without IDs, keys and queries', async () => {
  const collector = await collect();
  const workspace = await openCli({ world: 'tiny', faults: [{ kind: '500', times: 1 }] });
  const { sandbox, folder: cwd, env } = workspace;
  const settings = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
  };
  const start = (args: readonly string[], variables: Record<string, string> = settings): Running =>
    startCli(args, { cwd, env: { ...env, ...variables }, nowMs: NOW_MS });
  const run = (args: readonly string[], variables?: Record<string, string>) => start(args, variables).finished;
  const synced = await run(['sync', '--full']);
  expect(synced.code, synced.stderr).toBe(0);
  const named = (name: string): OtlpSpan[] => collector.spans.filter((span) => span.name === name);
  const [root] = named('sync');
  expect(named('sync')).toHaveLength(1);
  expect(new Set(collector.spans.map(({ traceId }) => traceId)).size).toBe(1);
  const slices = named('sync.chain');
  expect(new Set(slices.map(({ parentSpanId }) => parentSpanId))).toEqual(new Set([root?.spanId]));
  const requests = collector.spans.filter(({ name }) => name.startsWith('GET '));
  expect(requests.length).toBeGreaterThan(slices.length);
  expect(named('sync.commit').length).toBeGreaterThan(0);
  expect(named('GET /brands/{brandId}/responses').length).toBeGreaterThan(0);
  expect(requests.flatMap(({ events = [] }) => events.map(({ name }) => name)).sort()).toEqual([
    'answered',
    'failed attempt',
  ]);
  const text = JSON.stringify([collector.spans, collector.resources]);
  for (const secret of [sandbox.key, sandbox.world.brands[0]?.id ?? '', 'cursor=', 'limit=', 'authorization']) {
    expect(text.includes(secret), secret).toBe(false);
  }
  expect(text).toContain('deployment.environment.name');
  expect(sandbox.requests.length).toBeGreaterThan(0);
  expect(JSON.stringify(sandbox.requests)).not.toContain('traceparent');

  collector.spans.splice(0);
  sandbox.setFaults([{ kind: 'hang' }]);
  const asked = sandbox.requests.length;
  const stopped = start(['sync']);
  await until('it asks', () => sandbox.requests.length > asked);
  stopped.process.kill('SIGINT');
  expect((await stopped.finished).code).toBe(130);
  expect(named('sync').map(({ attributes }) => JSON.stringify(attributes))).toEqual([
    expect.stringContaining('interrupted'),
  ]);

  // An export of spans in protobuf, the default.
  const endpoint = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.origin}/v1/traces` };
  expect((await run(['export'], endpoint)).code).toBe(0);
  expect(collector.types.at(-1)).toBe('/v1/traces application/x-protobuf');
  await collector.close();

  // An unreachable collector is reported once and has no other effect.
  const alone = await run(['export']);
  expect(alone.code, alone.stderr).toBe(0);
  expect(alone.stderr.match(/Traces do not reach/g)).toHaveLength(1);
  // Standard output contains only the result of the command.
  const shown = await run(['export', '--json'], { OTEL_TRACES_EXPORTER: 'console' });
  expect(JSON.parse(shown.stdout)).toHaveProperty('snapshotId');
  expect(JSON.parse(shown.stderr.split('\n').find((line) => line.startsWith('{')) ?? '')).toMatchObject({
    span: 'export',
    failed: false,
  });
  const wrong = await run(['status', '--json'], { ...settings, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' });
  expect(wrong).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('allowed: http/protobuf, http/json') as string,
  });
});

it('adds served requests to the trace of the client', async () => {
  const collector = await collect();
  const { folder: cwd, env, run } = await openCli({ world: 'tiny' });
  const key = (await run('keys', 'create', 'test')).stdout.trim();
  const traces = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' };
  const server = startCli(['serve', '--json', '--port', '0', '--no-jobs'], { cwd, env: { ...env, ...traces } });
  const { baseUrl } = await startedLine<{ baseUrl: string }>(server);
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const headers = { authorization: `Bearer ${key}`, traceparent: `00-${traceId}-b7ad6b7169203331-01` };
  expect((await fetch(`${baseUrl}/brands?made-up=1`, { headers })).status).toBe(400);
  expect((await fetch(`${baseUrl}/brands`, { headers })).status).toBe(200);
  server.process.kill('SIGTERM');
  const { code, stderr } = await server.finished;
  expect(code, stderr).toBe(0);
  const served = collector.spans.filter(({ name }) => name === 'GET /v1/brands');
  expect(served.map((span) => [span.traceId, span.parentSpanId])).toEqual([
    [traceId, 'b7ad6b7169203331'],
    [traceId, 'b7ad6b7169203331'],
  ]);
  const queries = collector.spans.filter(({ name }) => name === 'query');
  expect(queries.map(({ parentSpanId }) => parentSpanId)).toEqual([served.at(-1)?.spanId]);
  expect(JSON.stringify(collector.spans)).not.toContain('made-up');
  await collector.close();
});
