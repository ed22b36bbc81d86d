import type { Command } from 'commander';
import { EXIT, SightlineError } from '../../base/errors.ts';
import { complete } from '../completion/candidates.ts';
import { formatCompletion, SHELLS, scriptOf, wordsOf } from '../completion/shells.ts';
import { valuesHere } from '../completion/values.ts';
import { printData } from '../output.ts';

/**
 * Runs `sightline completion`: prints what a shell has to read once or, given the words typed so far, what may follow them
 * on the command line of `program`.
 */
export async function completion(
  program: Command,
  given: string | undefined,
  words: readonly string[],
  flags: { readonly json?: boolean },
): Promise<number> {
  const shell = SHELLS.find((candidate) => candidate === given);
  if (shell === undefined) {
    const what = given === undefined ? 'needs a shell' : `knows no shell ${JSON.stringify(given)}`;
    throw new SightlineError('usage', `completion ${what}; allowed: ${SHELLS.join(', ')}`);
  }
  if (words.length === 0) {
    const script = scriptOf(shell);
    printData(flags.json === true ? JSON.stringify({ shell, script }) : script);
    return EXIT.done;
  }
  const text = formatCompletion(shell, await complete(program, wordsOf(shell, words), valuesHere));
  if (text !== '') printData(text);
  return EXIT.done;
}
