#!/usr/bin/env node
import { EXIT, SightlineError } from '../base/errors.ts';
import type { Invocation } from './invocation.ts';
import { say } from './output/output.ts';
import { withTerminal } from './output/terminal.ts';
import { parseArguments } from './program/program.ts';
import { runArguments } from './run-arguments.ts';

// The only place that ends the process.
async function main(argv: readonly string[]): Promise<number> {
  const stop = new AbortController();
  const interrupt = (): void => {
    // A second signal exits at once. Every page is a transaction, so nothing is left half-written.
    if (stop.signal.aborted) process.exit(EXIT.interrupted);
    say('Stopping after the current work; press Ctrl-C again to stop at once.');
    stop.abort(new SightlineError('interrupted', 'stopped'));
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt);
  // New files of the data folder are private from the moment they are created, including those that DuckDB creates.
  const umask = process.umask(0o077);
  const run = async ({ action, forwardable }: Invocation): Promise<number> => {
    process.umask(await readUmask());
    const exitCode =
      forwardable === null
        ? null
        : await (await import('./forwarding.ts')).forwardToOwner(argv, forwardable, stop.signal);
    if (exitCode !== null) return exitCode;
    const endTracing = await (await import('./tracing.ts')).beginTracing();
    return action(stop.signal).finally(endTracing);
  };
  return withTerminal({ umask }, () => runArguments(parseArguments, argv, run));
}

// The command itself reports settings that cannot be read.
async function readUmask(): Promise<number> {
  const [{ dataUmask }, { readSurroundings }] = await Promise.all([
    import('../base/config/config.ts'),
    import('./context.ts'),
  ]);
  try {
    return dataUmask(readSurroundings());
  } catch {
    return 0o077;
  }
}

// EPIPE is not an error: a reader such as head closes the pipe early. A closed terminal gives EIO.
process.stdout.on('error', (thrown: NodeJS.ErrnoException) => {
  if (thrown.code === 'EPIPE') process.exit(EXIT.done);
  if (thrown.code === 'EIO') return;
  throw thrown;
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
