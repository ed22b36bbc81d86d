import {
  type Context,
  context,
  DiagLogLevel,
  diag,
  propagation,
  ROOT_CONTEXT,
  type Span as SdkSpan,
  SpanKind as SdkSpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanExporter,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { SightlineError } from '../errors.ts';
import { VERSION } from '../version.ts';
import { visible } from '../visible.ts';
import { type OpenSpan, type Span, type SpanKind, type SpanValues, type Tracer, useTracer } from './trace.ts';
import type { TraceWish } from './trace-settings.ts';

/** Time limit for sending the last spans at shutdown, and the limit if the collector is failing. */
const LAST_MS = 2_000;
const LAST_MS_FAILING = 100;

const kinds: Readonly<Record<SpanKind, SdkSpanKind>> = {
  internal: SdkSpanKind.INTERNAL,
  client: SdkSpanKind.CLIENT,
  server: SdkSpanKind.SERVER,
};

/**
 * Starts the OpenTelemetry tracer as its OTEL_ variables configure it. Returns a function that sends the last spans and shuts
 * the tracer down.
 */
export async function openTracer(
  wish: Exclude<TraceWish, { kind: 'none' | 'refused' }>,
  say: (sentence: string) => void,
): Promise<() => Promise<void>> {
  const collector = watchCollector(say);
  const named = resourceFromAttributes({ 'service.name': 'sightline', 'service.version': VERSION });
  const resource = defaultResource()
    .merge(named)
    .merge(detectResources({ detectors: [envDetector] }));
  const provider = new NodeTracerProvider({ resource, spanProcessors: [await processorOf(wish)] });
  provider.register();
  useTracer(createTracer());
  return async () => {
    useTracer(null);
    let timer: NodeJS.Timeout | undefined;
    const failedOrLate = new Promise<void>((resolve) => {
      const stopWaiting = (): void => {
        collector.sayUnreached();
        resolve();
      };
      timer = setTimeout(stopWaiting, collector.isFailing() ? LAST_MS_FAILING : LAST_MS);
      collector.onFailure(resolve);
    });
    await Promise.race([provider.shutdown().catch(() => undefined), failedOrLate]);
    clearTimeout(timer);
  };
}

async function processorOf(wish: Exclude<TraceWish, { kind: 'none' | 'refused' }>): Promise<SpanProcessor> {
  if (wish.kind === 'console') return new SimpleSpanProcessor(createConsoleExporter());
  const { OTLPTraceExporter } =
    wish.protocol === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto');
  return new BatchSpanProcessor(new OTLPTraceExporter());
}

// OpenTelemetry's console exporter writes to stdout, which is reserved for the command's output: JSON, rows or MCP.
function createConsoleExporter(): SpanExporter {
  const write = (span: ReadableSpan): void => {
    const { traceId, spanId } = span.spanContext();
    const line = {
      span: span.name,
      traceId,
      spanId,
      parentSpanId: span.parentSpanContext?.spanId,
      startTime: new Date(hrTimeToMs(span.startTime)).toISOString(),
      durationMs: hrTimeToMs(span.duration),
      failed: span.status.code === SpanStatusCode.ERROR,
      attributes: span.attributes,
      events: span.events.map(({ name, attributes }) => ({ name, attributes })),
    };
    process.stderr.write(`${visible(JSON.stringify(line))}\n`);
  };
  return {
    export: (spans, done) => {
      spans.forEach(write);
      done({ code: 0 });
    },
    shutdown: async () => undefined,
  };
}

function hrTimeToMs([seconds, nanoseconds]: readonly [number, number]): number {
  return Math.round(seconds * 1_000_000 + nanoseconds / 1_000) / 1_000;
}

// The exporter reports failures only to its own log. Report them once, without the collector's URL.
function watchCollector(say: (sentence: string) => void) {
  let isFailing = false;
  let isSaid = false;
  let listener: () => void = () => undefined;
  const note = (message: string): void => {
    if (message.startsWith('Export succeeded')) isFailing = false;
    if (!/^(Scheduling export retry|Export failed|Export retry time)/.test(message)) return;
    isFailing = true;
    listener();
    sayUnreached();
  };
  const sayUnreached = (): void => {
    if (isSaid) return;
    isSaid = true;
    say('Traces do not reach the collector that the OTEL_ variables configure; the command continues without traces.');
  };
  const quiet = (): void => undefined;
  const logger = { error: quiet, warn: quiet, info: note, debug: quiet, verbose: note };
  diag.setLogger(logger, { logLevel: DiagLogLevel.VERBOSE, suppressOverrideMessage: true });
  return {
    isFailing: () => isFailing,
    sayUnreached,
    onFailure: (listen: () => void) => {
      listener = listen;
    },
  };
}

function createTracer(): Tracer {
  const tracer = trace.getTracer('sightline', VERSION);
  return {
    run: (name, kind, values, work) =>
      tracer.startActiveSpan(name, { kind: kinds[kind], attributes: present(values) }, async (inner) => {
        const span = spanOf(inner);
        try {
          return await work(span);
        } catch (thrown) {
          span.fail(thrown);
          throw thrown;
        } finally {
          inner.end();
        }
      }),
    begin: (name, headers) => {
      const parent: Context = propagation.extract(ROOT_CONTEXT, headers);
      const inner = tracer.startSpan(name, { kind: SdkSpanKind.SERVER }, parent);
      const within = trace.setSpan(parent, inner);
      return {
        ...spanOf(inner),
        within: (work) => context.with(within, work),
        rename: (next) => void inner.updateName(next),
        end: () => inner.end(),
      } satisfies OpenSpan;
    },
    bind: (work) => context.bind(context.active(), work),
  };
}

function spanOf(inner: SdkSpan): Span {
  return {
    set: (values) => void inner.setAttributes(present(values)),
    event: (name, values) => void inner.addEvent(name, present(values)),
    fail: (thrown) => {
      const type = thrown instanceof SightlineError ? thrown.code : thrown instanceof Error ? thrown.name : 'error';
      inner.setAttribute('error.type', type);
      inner.setStatus({ code: SpanStatusCode.ERROR });
    },
  };
}

function present(values: SpanValues): Record<string, string | number | boolean> {
  const there = Object.entries(values).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(there) as Record<string, string | number | boolean>;
}
