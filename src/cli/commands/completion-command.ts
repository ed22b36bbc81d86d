import type { Command } from 'commander';
import { EXIT, SightlineError } from '../../base/errors.ts';
import { complete } from '../completion/completion-candidates.ts';
import { formatCompletion, SHELLS, scriptOf, wordsOf } from '../completion/shells.ts';
import { valuesHere } from '../completion/values.ts';
import { printData } from '../output/output.ts';

/**
 * Runs `sightline completion`. Prints the script that a shell loads or, given the words typed so far, the candidates for the
 * next word.
 */
export async function completion(
  program: Command,
  given: string | undefined,
  words: readonly string[],
  flags: { readonly json?: boolean },
): Promise<number> {
  const shell = SHELLS.find((candidate) => candidate === given);
  if (shell === undefined) {
    const problem = given === undefined ? 'requires a shell' : `does not support ${JSON.stringify(given)}`;
    throw new SightlineError('usage', `completion ${problem}; allowed: ${SHELLS.join(', ')}`);
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
