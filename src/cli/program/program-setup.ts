import { type Command, Option } from 'commander';
import type { InitFlags } from '../commands/init-command.ts';
import type { Choose } from '../invocation.ts';
import { argumentOf } from './choices.ts';

/** Adds the commands for setting up an installation. */
export function addSetup(program: Command, onWorkspace: (command: Command) => Command, choose: Choose): void {
  onWorkspace(program.command('init'))
    .description('ask for the base URL and key of a workspace, test them, and write the settings')
    .option('--base-url <url>', 'root of the versioned API, with or without /v1 (default: ask)')
    .option('--key-stdin', 'read the key from standard input')
    .option('--budget-share <number>', 'fraction of the rate limit to use, for a key with other users')
    .option('--force', 'replace an existing key')
    .option('--no-plan', 'do not estimate the requests of the first sync')
    .option('--yes', 'do not ask questions')
    .addHelpText(
      'after',
      `
The key cannot be given as a flag, because other users of the machine could see it. Without a terminal:
  printf %s "$KEY" | sightline init --base-url https://api.example.com/v1 --key-stdin`,
    )
    .action((flags: InitFlags) =>
      choose(flags.json === true, async (signal) => (await import('../commands/init-command.ts')).init(flags, signal)),
    );
  program
    .command('completion')
    .description('print the shell script that completes commands, flags and values')
    .addArgument(argumentOf('[shell]', 'name of the shell', ['bash', 'zsh', 'fish']))
    .argument('[words...]', 'after --: the words typed so far, used by the script itself')
    .addOption(new Option('--json', 'print the result as JSON'))
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
        (await import('../commands/completion-command.ts')).completion(program, shell, words, flags),
      ),
    );
}
