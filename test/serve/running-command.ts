import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { onTestFinished } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import type { JsonValue } from '../../src/cli/json/json-outputs.ts';
import { runCommandLine } from '../../src/cli/run-command-line.ts';
import { expectJson } from '../support/json-outputs.ts';
import type { Finished } from '../support/run-command.ts';
import { stillClock } from './served-world.ts';

/** Surroundings of a running command. */
interface CommandSurroundings {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Default: the time of worlds. */
  readonly clock?: Clock;
}

/** Starts a command line in this process, until its input ends or the test does. The current folder stays that of the test. */
export function startCommand(args: readonly string[], { cwd, env = {}, clock = stillClock }: CommandSurroundings) {
  const [input, output, errors] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const [texts, stopping] = [{ stdout: '', stderr: '' }, new AbortController()];
  output.on('data', (chunk: Buffer) => {
    texts.stdout += chunk.toString();
  });
  errors.on('data', (chunk: Buffer) => {
    texts.stderr += chunk.toString();
  });
  const terminal = {
    clock,
    stdin: input,
    stdout: output,
    stderr: errors,
    folder: cwd,
    variables: { HOME: cwd, ...env },
  };
  const finished = runCommandLine(args, stopping.signal, terminal).then(async (code): Promise<Finished> => {
    // The last chunks are received in the next turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
    return { code, signal: null, ...texts };
  });
  /** Interrupts the command like Ctrl-C, and returns its result. */
  const stop = (): Promise<Finished> => {
    stopping.abort();
    return finished;
  };
  onTestFinished(async () => {
    await stop();
  });
  return { input, output, errorText: () => texts.stderr, finished, stop };
}

/** Returns the checked line that a server prints with `--json` when it is ready; rejects if it ends before. */
export async function startedServer<N extends 'serve' | 'serve --role api' = 'serve'>(
  { output, finished }: ReturnType<typeof startCommand>,
  name = 'serve' as N,
): Promise<JsonValue<N>> {
  const line = await new Promise<string>((resolve, reject) => {
    createInterface({ input: output }).once('line', resolve);
    void finished.then(({ stderr }) => reject(new Error(stderr)));
  });
  return expectJson<JsonValue<N>>(name, line);
}
