/** What is said of a span; what is null or undefined is left out. Never an id, a value of a query, or a header. */
export type SpanValues = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** A piece of work under way. */
export interface Span {
  set(values: SpanValues): void;
  event(name: string, values: SpanValues): void;
  /** Marks the work as failed, with the kind of error and not its words, which may name what is nobody's business. */
  fail(thrown: unknown): void;
}

/** A span of work that begins in one call and ends in another. */
export interface OpenSpan extends Span {
  /** Runs `work` as a part of the span. */
  within(work: () => void): void;
  rename(name: string): void;
  end(): void;
}

/** For whom the work is done: for nobody beside, for a server that is asked, for a client that asks. */
export type SpanKind = 'internal' | 'client' | 'server';

/** What makes spans, where traces are wanted. */
export interface Tracer {
  run<T>(name: string, kind: SpanKind, values: SpanValues, work: (span: Span) => Promise<T>): Promise<T>;
  /** `headers` may carry the span of whoever asked, as W3C Trace Context has it. */
  begin(name: string, headers: Readonly<Record<string, unknown>>): OpenSpan;
  bind<T extends (...given: never[]) => unknown>(work: T): T;
}

const nowhere: Span = { set: () => undefined, event: () => undefined, fail: () => undefined };

let tracer: Tracer | null = null;

/** Has spans made from now on, or with null none. */
export function useTracer(next: Tracer | null): void {
  tracer = next;
}

/** Does the work within a span; where no traces are wanted it is only done. */
export function inSpan<T>(
  name: string,
  values: SpanValues,
  work: (span: Span) => Promise<T>,
  kind: SpanKind = 'internal',
): Promise<T> {
  return tracer === null ? work(nowhere) : tracer.run(name, kind, values, work);
}

/** Begins a span for a request; null where no traces are wanted. */
export function beginSpan(name: string, headers: Readonly<Record<string, unknown>>): OpenSpan | null {
  return tracer === null ? null : tracer.begin(name, headers);
}

/** The work as a part of the span in which this is called, whenever it is done. */
export function inThisSpan<T extends (...given: never[]) => unknown>(work: T): T {
  return tracer === null ? work : tracer.bind(work);
}

/** Whether spans are made. */
export function isTracing(): boolean {
  return tracer !== null;
}
