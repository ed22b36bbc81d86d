import { readTraceSettings } from '../base/config.ts';
import { startTracing } from '../base/trace-start.ts';
import { say } from './output.ts';

/** Has traces sent where the variables of OpenTelemetry ask for it, and gives what sends the last of them. */
export function beginTracing(): Promise<() => Promise<void>> {
  return startTracing(readTraceSettings(process.cwd()), say);
}
