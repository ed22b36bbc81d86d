#!/usr/bin/env node
import { EXIT, SightlineError } from '../base/errors.ts';
import type { Invocation } from './invocation.ts';
import { say } from './output.ts';
import { parseArguments } from './program.ts';
import { runArguments } from './run-arguments.ts';
import { withTerminal } from './terminal.ts';

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
  // Files of the data folder are for their owner alone from the moment they are created, also those that DuckDB creates.
  const umask = process.umask(0o077);
  const run = async ({ action, carried }: Invocation): Promise<number> => {
    process.umask(await readUmask());
    const exitCode =
      carried === null ? null : await (await import('./carried.ts')).askOwner(argv, carried, stop.signal);
    if (exitCode !== null) return exitCode;
    const endTracing = await (await import('./tracing.ts')).beginTracing();
    return action(stop.signal).finally(endTracing);
  };
  return withTerminal({ umask }, () => runArguments(parseArguments, argv, run));
}

// Settings that cannot be read are reported by the command.
async function readUmask(): Promise<number> {
  const [{ dataUmask }, { readSurroundings }] = await Promise.all([
    import('../base/config.ts'),
    import('./context.ts'),
  ]);
  try {
    return dataUmask(readSurroundings());
  } catch {
    return 0o077;
  }
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
