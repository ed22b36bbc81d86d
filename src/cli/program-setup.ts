import { type Command, Option } from 'commander';
import { argumentOf } from './choices.ts';
import type { Choose } from './invocation.ts';

/** Adds the commands that prepare an installation. */
export function addSetup(program: Command, choose: Choose): void {
  program
    .command('completion')
    .description('print what makes a shell complete the commands, flags and values of sightline')
    .addArgument(argumentOf('[shell]', 'the shell', ['bash', 'zsh', 'fish']))
    .argument('[words...]', "after --: the words typed so far, for the script's own use")
    .addOption(new Option('--json', 'print it as JSON'))
    .addHelpText(
      'after',
      `
Once, for the shell you use (sightline must be on the PATH, as after npm install --global):
  bash   echo 'source <(sightline completion bash)' >> ~/.bashrc
  zsh    echo 'source <(sightline completion zsh)' >> ~/.zshrc      (after the line with compinit)
  fish   sightline completion fish > ~/.config/fish/completions/sightline.fish`,
    )
    .action((shell: string | undefined, words: readonly string[], flags: { json?: boolean }) =>
      choose(flags.json === true, async () =>
        (await import('./commands/completion.ts')).completion(program, shell, words, flags),
      ),
    );
}
