/** Protocols in which spans can be sent. */
export const TRACE_PROTOCOLS = ['http/protobuf', 'http/json'] as const;

/** Exporter of traces that the standard OTEL_ variables configure. */
export type TraceWish =
  | { readonly kind: 'none' }
  | { readonly kind: 'otlp'; readonly protocol: (typeof TRACE_PROTOCOLS)[number] }
  | { readonly kind: 'console' }
  | { readonly kind: 'refused'; readonly why: string };

/**
 * Reads the exporter from the OTEL_ variables; `none` unless a variable names an exporter or an endpoint
 * (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/).
 */
export function toTraceWish(environment: Readonly<Record<string, string | undefined>>): TraceWish {
  const read = (name: string): string => environment[name]?.trim() ?? '';
  const exporter = read('OTEL_TRACES_EXPORTER').toLowerCase();
  const hasAddress = read('OTEL_EXPORTER_OTLP_ENDPOINT') !== '' || read('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') !== '';
  if (read('OTEL_SDK_DISABLED').toLowerCase() === 'true' || exporter === 'none') return { kind: 'none' };
  if (exporter === '' && !hasAddress) return { kind: 'none' };
  if (exporter === 'console') return { kind: 'console' };
  if (exporter !== '' && exporter !== 'otlp') {
    return {
      kind: 'refused',
      why: `OTEL_TRACES_EXPORTER is ${JSON.stringify(exporter)}; allowed: otlp, console, none`,
    };
  }
  const asked = read('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL') || read('OTEL_EXPORTER_OTLP_PROTOCOL') || TRACE_PROTOCOLS[0];
  const protocol = TRACE_PROTOCOLS.find((name) => name === asked);
  if (protocol !== undefined) return { kind: 'otlp', protocol };
  const allowed = TRACE_PROTOCOLS.join(', ');
  return { kind: 'refused', why: `OTEL_EXPORTER_OTLP_PROTOCOL is ${JSON.stringify(asked)}; allowed: ${allowed}` };
}
