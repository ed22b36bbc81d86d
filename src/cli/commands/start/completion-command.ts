import { suggestion } from '../../../base/choose-name.ts';
import { EXIT, SightlineError } from '../../../base/errors.ts';
import { complete } from '../../completion/completion-candidates.ts';
import { formatCompletion, SHELLS, scriptOf, wordsOf } from '../../completion/shells.ts';
import { valuesHere } from '../../completion/values.ts';
import { printData, printJson } from '../../output/output.ts';
import { defineCommand } from '../../program/define-command.ts';
import { argument, flag } from '../../program/option-kinds.ts';

/**
 * Prints the script that a shell loads or, given the words typed so far, the candidates for the next word.
 */
export const completion = defineCommand({
  arguments: {
    given: argument('[shell]', 'name of the shell', SHELLS),
    words: argument('[words...]', 'after --: the words typed so far, used by the script itself'),
  },
  options: { json: flag('print the result as JSON') },
  help: `Once, for the shell you use (sightline must be on the PATH, as after npm install --global):
  bash   echo 'source <(sightline completion bash)' >> ~/.bashrc
  zsh    echo 'source <(sightline completion zsh)' >> ~/.zshrc      (after the line with compinit)
  fish   sightline completion fish > ~/.config/fish/completions/sightline.fish`,
  examples: [
    ['sightline completion bash', 'print the script for bash'],
    ['sightline completion fish', 'print the script for fish'],
  ],
  run: async ({ given, words, ...unread }, begin) => {
    const { json, programFor } = begin(unread);
    const shell = SHELLS.find((candidate) => candidate === given);
    if (shell === undefined) {
      const problem = given === null ? 'requires a shell' : `does not support ${JSON.stringify(given)}`;
      const meant = given === null ? '' : suggestion(given, SHELLS);
      throw new SightlineError('usage', `completion ${problem}; allowed: ${SHELLS.join(', ')}${meant}`);
    }
    if (words.length === 0) {
      const script = scriptOf(shell);
      if (json) printJson('completion', { shell, script });
      else printData(script);
      return EXIT.done;
    }
    const typed = wordsOf(shell, words);
    const text = formatCompletion(shell, await complete(await programFor(typed), typed, valuesHere));
    if (text !== '') printData(text);
    return EXIT.done;
  },
});
