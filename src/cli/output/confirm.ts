import { createInterface } from 'node:readline/promises';
import { SightlineError } from '../../base/errors.ts';
import { visible } from '../../base/visible.ts';
import { terminal } from './terminal.ts';

/**
 * Returns whether the user confirms an irreversible change: with `--yes`, or by answering a question on the terminal.
 *
 * @throws `usage` without a terminal, and the signal's reason when it is aborted.
 */
export async function confirm(what: string, yes: boolean, signal: AbortSignal): Promise<boolean> {
  if (yes) return true;
  const { stdin, stderr } = terminal();
  if (stdin.isTTY !== true || stderr.isTTY !== true) {
    throw new SightlineError('usage', `${what}; without a terminal, --yes is required`);
  }
  const asking = createInterface({ input: stdin, output: stderr });
  try {
    const answer = await asking.question(visible(`${what}. Continue? [y/N] `), { signal });
    return /^y(es)?$/i.test(answer.trim());
  } catch (thrown) {
    signal.throwIfAborted();
    throw thrown;
  } finally {
    asking.close();
  }
}
