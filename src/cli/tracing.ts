import { readTraceSettings } from '../base/config/environment.ts';
import { startTracing } from '../base/trace/trace-start.ts';
import { say } from './output/output.ts';
import { terminal } from './output/terminal.ts';

/** Starts tracing if the OpenTelemetry variables configure it. Returns a function that sends the remaining spans. */
export function beginTracing(): Promise<() => Promise<void>> {
  return startTracing(readTraceSettings(terminal().folder), say);
}
