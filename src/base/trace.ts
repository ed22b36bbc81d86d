/** Attributes of a span; null and undefined are left out. Never pass ids, query values or headers. */
export type SpanValues = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** A span of work in progress. */
export interface Span {
  set(values: SpanValues): void;
  event(name: string, values: SpanValues): void;
  /** Marks the span as failed with the error's type. The message is left out because it may contain private data. */
  fail(thrown: unknown): void;
}

/** A span that begins in one call and ends in another. */
export interface OpenSpan extends Span {
  /** Runs `work` with this span as the parent of its spans. */
  within(work: () => void): void;
  rename(name: string): void;
  end(): void;
}

/** Span kinds of OpenTelemetry: internal work, an outgoing request, an incoming request. */
export type SpanKind = 'internal' | 'client' | 'server';

/** Creates spans when tracing is on. */
export interface Tracer {
  run<T>(name: string, kind: SpanKind, values: SpanValues, work: (span: Span) => Promise<T>): Promise<T>;
  /** `headers` may carry the caller's span (W3C Trace Context). */
  begin(name: string, headers: Readonly<Record<string, unknown>>): OpenSpan;
  bind<T extends (...given: never[]) => unknown>(work: T): T;
}

const nowhere: Span = { set: () => undefined, event: () => undefined, fail: () => undefined };

let tracer: Tracer | null = null;

/** Turns tracing on with this tracer, or off with null. */
export function useTracer(next: Tracer | null): void {
  tracer = next;
}

/** Runs the work within a span; without tracing, only runs the work. */
export function inSpan<T>(
  name: string,
  values: SpanValues,
  work: (span: Span) => Promise<T>,
  kind: SpanKind = 'internal',
): Promise<T> {
  return tracer === null ? work(nowhere) : tracer.run(name, kind, values, work);
}

/** Begins the span of an incoming request; null without tracing. */
export function beginSpan(name: string, headers: Readonly<Record<string, unknown>>): OpenSpan | null {
  return tracer === null ? null : tracer.begin(name, headers);
}

/** Binds the work to the current span, so that spans of a later call have it as their parent. */
export function inThisSpan<T extends (...given: never[]) => unknown>(work: T): T {
  return tracer === null ? work : tracer.bind(work);
}

/** True if tracing is on. */
export function isTracing(): boolean {
  return tracer !== null;
}
