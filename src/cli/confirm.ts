import { createInterface } from 'node:readline/promises';
import { SightlineError } from '../base/errors.ts';
import { visible } from '../base/visible.ts';

/**
 * Whether the user wants what cannot be taken back: `--yes` says so, and on a terminal they are asked. Throws `usage`
 * where there is nobody to ask, the signal's reason when it is aborted.
 */
export async function confirm(what: string, yes: boolean, signal: AbortSignal): Promise<boolean> {
  if (yes) return true;
  if (process.stdin.isTTY !== true || process.stderr.isTTY !== true) {
    throw new SightlineError('usage', `${what}; where nobody can be asked, --yes says that this is wanted`);
  }
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await asking.question(visible(`${what}. Go on? [y/N] `), { signal });
    return /^y(es)?$/i.test(answer.trim());
  } catch (thrown) {
    signal.throwIfAborted();
    throw thrown;
  } finally {
    asking.close();
  }
}
