import { toSightlineError } from './errors.ts';
import { toTraceWish } from './trace-wish.ts';

/**
 * Has spans made and sent where the variables ask for it, and gives what sends the last of them. Does not throw: what
 * stands in the way is said once.
 */
export async function startTracing(
  environment: Readonly<Record<string, string | undefined>>,
  say: (sentence: string) => void,
): Promise<() => Promise<void>> {
  const wish = toTraceWish(environment);
  if (wish.kind === 'none') return async () => undefined;
  try {
    if (wish.kind === 'refused') throw new Error(wish.why);
    // Some megabytes that few need: loaded only here.
    const { openTracer } = await import('./trace-sdk.ts');
    return await openTracer(wish, say);
  } catch (thrown) {
    const isMissing = (thrown as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND';
    const missing =
      'its packages are not installed: npm install @opentelemetry/sdk-trace-node@2 @opentelemetry/resources@2 ' +
      '@opentelemetry/exporter-trace-otlp-proto@0.223 @opentelemetry/exporter-trace-otlp-http@0.223';
    say(`No traces are sent: ${isMissing ? missing : toSightlineError(thrown).message}.`);
    return async () => undefined;
  }
}
