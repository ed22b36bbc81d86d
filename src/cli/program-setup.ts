import { type Command, Option } from 'commander';
import { argumentOf } from './choices.ts';
import type { InitFlags } from './commands/init.ts';
import type { Choose } from './invocation.ts';

/** Adds the commands that prepare an installation. */
export function addSetup(program: Command, onWorkspace: (command: Command) => Command, choose: Choose): void {
  onWorkspace(program.command('init'))
    .description('ask for the address and the key of a workspace, try them, and write the settings')
    .option('--base-url <url>', 'root of the versioned API, with or without /v1 (default: asked for)')
    .option('--key-stdin', 'read the key from standard input')
    .option('--budget-share <number>', 'part of the rate limit to use, for a key that has other users')
    .option('--force', 'replace another key')
    .option('--no-plan', 'do not look at what the first sync will cost')
    .option('--yes', 'ask nothing')
    .addHelpText(
      'after',
      `
The key is never taken from a flag, where other users of the machine could see it. Without a terminal:
  printf %s "$KEY" | sightline init --base-url https://api.example.com/v1 --key-stdin`,
    )
    .action((flags: InitFlags) =>
      choose(flags.json === true, async (signal) => (await import('./commands/init.ts')).init(flags, signal)),
    );
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
