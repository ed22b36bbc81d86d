import { type Terminal, terminal, withTerminal } from './output/terminal.ts';
import { parseArguments } from './program/program.ts';
import { runArguments } from './run-arguments.ts';

/**
 * Runs a command line, or forwards it to the process that owns the workspace, and returns the exit code. Reports errors and does not
 * throw. Aborting `signal` interrupts the command. `surroundings` replace the streams, folder and environment of this process.
 */
export function runCommandLine(
  argv: readonly string[],
  signal: AbortSignal,
  surroundings: Partial<Terminal> = {},
): Promise<number> {
  return withTerminal(surroundings, () =>
    runArguments(parseArguments, argv, async ({ action, forwardable }) => {
      if (terminal().umask !== null) process.umask(await readUmask());
      if (forwardable !== null) {
        const { forwardToOwner } = await import('./forwarding.ts');
        const exitCode = await forwardToOwner(argv, forwardable, signal);
        if (exitCode !== null) return exitCode;
      }
      return action(signal).finally(async () => (await import('../base/trace.ts')).sendLastSpans());
    }),
  );
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
