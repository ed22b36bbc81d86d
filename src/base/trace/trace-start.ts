import { toSightlineError } from '../errors.ts';
import { installLine } from '../optional-packages.ts';
import { toTraceWish } from './trace-settings.ts';

/**
 * Starts tracing if the OTEL_ variables configure it. Returns a function that sends the last spans. Does not throw: a
 * failure is reported once through `say`.
 */
export async function startTracing(
  environment: Readonly<Record<string, string | undefined>>,
  say: (sentence: string) => void,
): Promise<() => Promise<void>> {
  const wish = toTraceWish(environment);
  if (wish.kind === 'none') return async () => undefined;
  try {
    if (wish.kind === 'refused') throw new Error(wish.why);
    // The SDK takes some megabytes that few users need: load it only here.
    const { openTracer } = await import('./trace-sdk.ts');
    return await openTracer(wish, say);
  } catch (thrown) {
    const isMissing = (thrown as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND';
    const missing = `its packages are not installed; run \`${installLine('traces')}\``;
    say(`No traces are sent: ${isMissing ? missing : toSightlineError(thrown).message}.`);
    return async () => undefined;
  }
}
