import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Attributes,
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { SightlineError } from '../../src/base/errors.ts';
import { inSpan } from '../../src/base/trace.ts';
import { serverBefore } from '../serve/http/support.ts';
import { runCommand } from '../support/run-command.ts';
import { openWorkspace } from '../support/workspace.ts';

interface Recorded {
  name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string | undefined;
  readonly attributes: Attributes;
  readonly events: string[];
  isEnded: boolean;
}

const spans: Recorded[] = [];
const sent = { flushes: 0 };

// What an SDK that a user loads registers: spans that are kept, their context, and the format of `traceparent`.
const storage = new AsyncLocalStorage<Context>();
const active = (): Context => storage.getStore() ?? ROOT_CONTEXT;
context.setGlobalContextManager({
  active,
  with: (inner, work, self, ...given) => storage.run(inner, () => work.apply(self as never, given)),
  bind: (inner, work) =>
    typeof work === 'function'
      ? (((...given: unknown[]) => storage.run(inner, () => work(...given))) as typeof work)
      : work,
  enable: () => context as never,
  disable: () => context as never,
});
propagation.setGlobalPropagator({
  inject: () => undefined,
  fields: () => ['traceparent'],
  extract: (inner, carrier: Record<string, unknown>) => {
    const [, traceId, spanId] = String(carrier['traceparent'] ?? '').split('-');
    return traceId === undefined || spanId === undefined
      ? inner
      : trace.setSpanContext(inner, { traceId, spanId, traceFlags: 1, isRemote: true });
  },
});
const startSpan: Tracer['startSpan'] = (name, options = {}, parent = active()) => {
  const { traceId, spanId: parentId } = trace.getSpanContext(parent) ?? {};
  const spanId = String(spans.length + 1).padStart(16, '0');
  const attributes: Attributes = { ...options.attributes };
  const recorded = {
    name,
    traceId: traceId ?? spanId.repeat(2),
    spanId,
    parentId,
    attributes,
    events: [],
    isEnded: false,
  };
  spans.push(recorded as Recorded);
  return recorder(recorded);
};
trace.setGlobalTracerProvider({
  getTracer: () => ({ startSpan, startActiveSpan: () => expect.unreachable() }),
  forceFlush: async () => {
    sent.flushes += 1;
    throw new Error('the collector is away');
  },
} as never);

function recorder(recorded: Recorded): Span {
  const span: Span = {
    spanContext: () => ({ traceId: recorded.traceId, spanId: recorded.spanId, traceFlags: 1 }),
    setAttribute: (name, value) => span.setAttributes({ [name]: value }),
    setAttributes: (values) => {
      Object.assign(recorded.attributes, values);
      return span;
    },
    addEvent: (name) => {
      recorded.events.push(name);
      return span;
    },
    setStatus: ({ code }) => span.setAttributes({ status: code }),
    updateName: (name) => {
      recorded.name = name;
      return span;
    },
    end: () => {
      recorded.isEnded = true;
    },
    addLink: () => span,
    addLinks: () => span,
    isRecording: () => true,
    recordException: () => expect.unreachable(),
  };
  return span;
}

beforeEach(() => void spans.splice(0));
afterAll(() => {
  trace.disable();
  context.disable();
  propagation.disable();
});

const named = (name: string): Recorded[] => spans.filter((span) => span.name === name);
const server = serverBefore();

it('a sync is one trace of its slices, requests and commits, without IDs, keys and queries', async () => {
  const { sandbox, sync } = await openWorkspace({ world: 'tiny', faults: [{ kind: '500', times: 1 }] });
  expect(await sync({ full: true })).toMatchObject({ status: 'complete' });
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  expect(spans.filter(({ isEnded }) => !isEnded)).toEqual([]);
  const [root] = named('sync');
  const slices = named('sync.slice');
  expect(new Set(slices.map(({ parentId }) => parentId))).toEqual(new Set([root?.spanId]));
  const requests = spans.filter(({ name }) => name.startsWith('GET '));
  expect(requests.length).toBeGreaterThan(slices.length);
  expect(named('GET /brands/{brandId}/responses').length).toBeGreaterThan(0);
  expect(named('sync.commit').length).toBeGreaterThan(0);
  expect(requests.flatMap(({ events }) => events).sort()).toEqual(['answered', 'failed attempt']);
  const text = JSON.stringify(spans);
  for (const secret of [sandbox.key, sandbox.world.brands[0]?.id ?? '', 'cursor=', 'limit=', 'authorization'])
    expect(text.includes(secret), secret).toBe(false);
  expect(JSON.stringify(sandbox.requests)).not.toContain('traceparent');
});

it('a served request continues the trace of the client, and its query is within it', async () => {
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const headers = { authorization: `Bearer ${server().key}`, traceparent: `00-${traceId}-b7ad6b7169203331-01` };
  expect((await server().get('/brands?made-up=1', { headers })).status).toBe(400);
  expect((await server().get('/brands', { headers })).status).toBe(200);
  const parent = { traceId, parentId: 'b7ad6b7169203331', isEnded: true };
  expect(named('GET /v1/brands')).toMatchObject([parent, parent]);
  expect(named('query')).toMatchObject([{ traceId, parentId: named('GET /v1/brands')[1]?.spanId }]);
  expect(JSON.stringify(spans)).not.toContain('made-up');
});

it('a span of failed work has the code of the error and not its message', async () => {
  const failing = inSpan('work', { rows: 1, none: null }, async () => {
    throw new SightlineError('unreachable', 'private data');
  });
  await expect(failing).rejects.toThrow('private data');
  expect(named('work')).toMatchObject([{ attributes: { rows: 1, 'error.type': 'unreachable' }, isEnded: true }]);
  expect(JSON.stringify(spans)).not.toContain('private data');
});

it('a command sends its last spans, and does not fail if the collector is away', async () => {
  const before = sent.flushes;
  await runCommand(['completion', 'bash'], { cwd: '.' });
  expect(sent.flushes).toBe(before + 1);
});
