import { EXIT } from '../base/errors.ts';
import { reportError } from './output/output.ts';
import { type Terminal, withTerminal } from './output/terminal.ts';
import { parseArguments } from './program/program.ts';
import { toReported } from './reported.ts';

/**
 * Runs a command line and returns the exit code. Reports errors and does not throw. Aborting `signal` interrupts the command.
 * `surroundings` replace the streams, folder and environment of this process.
 */
export function runCommandLine(
  argv: readonly string[],
  signal: AbortSignal,
  surroundings: Partial<Terminal> = {},
): Promise<number> {
  return withTerminal({ ...surroundings, isVerbose: argv.includes('--verbose') }, () => parseAndRun(argv, signal));
}

async function parseAndRun(argv: readonly string[], signal: AbortSignal): Promise<number> {
  let json = argv.includes('--json');
  try {
    const invocation = await parseArguments(argv);
    if (invocation === null) return EXIT.done;
    json = invocation.json;
    return await invocation.action(signal).finally(sendLastSpans);
  } catch (thrown) {
    const error = await toReported(thrown);
    reportError(error, json);
    return error.exit;
  }
}

// An SDK is registered under this symbol. Without one, the API of OpenTelemetry is not loaded, which takes 15 ms.
async function sendLastSpans(): Promise<void> {
  if (Symbol.for('opentelemetry.js.api.1') in globalThis) await (await import('../base/trace.ts')).sendLastSpans();
}
