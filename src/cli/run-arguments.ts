import { EXIT } from '../base/errors.ts';
import type { Invocation, Parse } from './invocation.ts';
import { reportError } from './output/output.ts';
import { withTerminal } from './output/terminal.ts';
import { toReported } from './reported.ts';

/** Parses a command line, passes it to `run` and returns the exit code. Reports errors and does not throw. */
export function runArguments(
  parse: Parse,
  argv: readonly string[],
  run: (invocation: Invocation) => Promise<number>,
): Promise<number> {
  return withTerminal({ isVerbose: argv.includes('--verbose') }, () => parseAndRun(parse, argv, run));
}

async function parseAndRun(
  parse: Parse,
  argv: readonly string[],
  run: (invocation: Invocation) => Promise<number>,
): Promise<number> {
  let json = argv.includes('--json');
  try {
    const invocation = await parse(argv);
    if (invocation === null) return EXIT.done;
    json = invocation.json;
    return await run(invocation);
  } catch (thrown) {
    const error = await toReported(thrown);
    reportError(error, json);
    return error.exit;
  }
}
