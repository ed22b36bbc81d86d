#!/usr/bin/env node
import { EXIT, SightlineError } from '../base/errors.ts';
import { say } from './output.ts';
import { parseArguments } from './program.ts';
import { runArguments } from './run-arguments.ts';

// The one place that ends the process.
async function main(argv: readonly string[]): Promise<number> {
  const stop = new AbortController();
  const interrupt = (): void => {
    // A second signal does not wait: every page is a transaction, so nothing is left half-written.
    if (stop.signal.aborted) process.exit(EXIT.interrupted);
    say('Stopping after what is under way; press Ctrl-C again to stop at once.');
    stop.abort(new SightlineError('interrupted', 'stopped'));
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt);
  return runArguments(parseArguments, argv, async ({ action, carried }) => {
    const exitCode =
      carried === null ? null : await (await import('./carried.ts')).askOwner(argv, carried, stop.signal);
    if (exitCode !== null) return exitCode;
    const endTracing = await (await import('./tracing.ts')).beginTracing();
    return action(stop.signal).finally(endTracing);
  });
}

// A reader that has seen enough, such as head, closes the pipe; that is no error. A terminal that was closed gives EIO.
process.stdout.on('error', (thrown: NodeJS.ErrnoException) => {
  if (thrown.code === 'EPIPE') process.exit(EXIT.done);
  if (thrown.code === 'EIO') return;
  throw thrown;
});

// Nobody listens any more; what the command does is worth finishing.
process.stderr.on('error', () => undefined);

// Writing to a pipe takes as long as its reader does, and exiting would cut it off.
function written(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => stream.write('', () => resolve()));
}

const exitCode = await main(process.argv.slice(2));
await Promise.all([written(process.stdout), written(process.stderr)]);
process.exit(exitCode);
