#!/usr/bin/env node
import { EXIT, SightlineError } from '../base/errors.ts';
import { say } from './output/output.ts';
import { runCommandLine } from './run-command-line.ts';

// The only place that ends the process.
async function main(argv: readonly string[]): Promise<number> {
  const stop = new AbortController();
  const interrupt = (): void => {
    // A second signal exits at once. Every page is a transaction, so nothing is left half-written.
    if (stop.signal.aborted) process.exit(EXIT.interrupted);
    // Removes the progress from the screen.
    stop.abort(new SightlineError('interrupted', 'stopped'));
    say('Stopping after the current work; press Ctrl-C again to stop at once.');
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt);
  // New files of the data folder are private from the moment they are created, including those that DuckDB creates.
  const umask = process.umask(0o077);
  return runCommandLine(argv, stop.signal, { umask, ownsProcess: true });
}

// EPIPE is not an error: a reader such as head closes the pipe early. A closed terminal gives EIO.
process.stdout.on('error', (thrown: NodeJS.ErrnoException) => {
  if (thrown.code === 'EPIPE') process.exit(EXIT.done);
  if (thrown.code === 'EIO') return;
  const why = thrown.code === 'ENOSPC' ? 'its disk is full' : (thrown.code ?? thrown.message);
  say(`sightline: cannot write to standard output: ${why}`);
  process.exit(EXIT.failed);
});

// If standard error is closed, finish the command without messages.
process.stderr.on('error', () => undefined);

// Wait for slow readers of a pipe, because exiting would truncate the output.
function written(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => stream.write('', () => resolve()));
}

const exitCode = await main(process.argv.slice(2));
await Promise.all([written(process.stdout), written(process.stderr)]);
process.exit(exitCode);
