import type { Attributes, ProxyTracerProvider, Span as SdkSpan } from '@opentelemetry/api';
import { context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { SightlineError } from './errors.ts';
import { VERSION } from './version.ts';

/** Time limit for sending the last spans. */
const LAST_MS = 2_000;

/** Attributes of a span; null and undefined are left out. Never pass ids, query values or headers. */
export type SpanValues = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** A span of work in progress. Without an OpenTelemetry SDK, which the user loads, it has no effect. */
export interface Span {
  set(values: SpanValues): void;
  event(name: string, values: SpanValues): void;
  /** Marks the span as failed with the error's type. The message is left out because it may contain private data. */
  fail(thrown: unknown): void;
  /** Runs `work` with this span as the parent of its spans. */
  within<T>(work: () => T): T;
  rename(name: string): void;
  end(): void;
}

/** Runs the work within a span. */
export async function inSpan<T>(
  name: string,
  values: SpanValues,
  work: (span: Span) => Promise<T>,
  kind: keyof typeof SpanKind = 'INTERNAL',
): Promise<T> {
  const span = spanOf(tracer().startSpan(name, { kind: SpanKind[kind], attributes: present(values) }));
  try {
    return await span.within(() => work(span));
  } catch (thrown) {
    span.fail(thrown);
    throw thrown;
  } finally {
    span.end();
  }
}

/** Begins the span of an incoming request. Its parent is the caller's span if the headers name one (W3C Trace Context). */
export function beginSpan(name: string, headers: Readonly<Record<string, unknown>>): Span {
  const parent = propagation.extract(ROOT_CONTEXT, headers);
  return spanOf(tracer().startSpan(name, { kind: SpanKind.SERVER }, parent), parent);
}

/** Binds the work to the current span, so that spans of a later call have it as their parent. */
export function inThisSpan<T extends (...given: never[]) => unknown>(work: T): T {
  return context.bind(context.active(), work);
}

/** Sends the remaining spans before the process ends. Does not throw. */
export async function sendLastSpans(): Promise<void> {
  const provider = trace.getTracerProvider() as Partial<ProxyTracerProvider>;
  const sdk = provider.getDelegate?.() as { forceFlush?: () => Promise<void> } | undefined;
  if (sdk?.forceFlush === undefined) return;
  const late = new Promise<void>((resolve) => setTimeout(resolve, LAST_MS).unref());
  await Promise.race([sdk.forceFlush().catch(() => undefined), late]);
}

const tracer = () => trace.getTracer('sightline', VERSION);

function spanOf(span: SdkSpan, parent = context.active()): Span {
  return {
    set: (values) => void span.setAttributes(present(values)),
    event: (name, values) => void span.addEvent(name, present(values)),
    fail: (thrown) => {
      const type = thrown instanceof SightlineError ? thrown.code : thrown instanceof Error ? thrown.name : 'error';
      span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR });
    },
    within: (work) => context.with(trace.setSpan(parent, span), work),
    rename: (name) => void span.updateName(name),
    end: () => span.end(),
  };
}

function present(values: SpanValues): Attributes {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value != null)) as Attributes;
}
