import type { Command } from 'commander';
import { suggestion } from '../../../base/choose-name.ts';
import { EXIT, SightlineError } from '../../../base/errors.ts';
import { printData } from '../../output/output.ts';
import { defineCommand } from '../../program/define-command.ts';
import { argument } from '../../program/option-kinds.ts';
import { type ProgramCommand, pathOf } from '../../program/program-command.ts';

/** Scripts by shell. Zsh runs the script of bash. */
const scripts = {
  bash: bashScript,
  zsh: (program: Command) => `autoload -U +X bashcompinit && bashcompinit\n${bashScript(program)}`,
  fish: fishScript,
} as const;

const SHELLS = Object.keys(scripts) as (keyof typeof scripts)[];

/** Prints a static script with the commands and flags of the program. */
export const completion = defineCommand({
  arguments: { given: argument('[shell]', 'name of the shell', SHELLS) },
  options: {},
  help: `Once, for the shell you use (sightline must be on the PATH, as after npm install --global):
  bash   echo 'source <(sightline completion bash)' >> ~/.bashrc
  zsh    echo 'source <(sightline completion zsh)' >> ~/.zshrc      (after the line with compinit)
  fish   echo 'sightline completion fish | source' >> ~/.config/fish/config.fish`,
  examples: [
    ['sightline completion bash', 'print the script for bash'],
    ['sightline completion fish', 'print the script for fish'],
  ],
  run: async ({ given, ...unread }, begin) => {
    const { programFor } = begin(unread);
    const shell = SHELLS.find((candidate) => candidate === given);
    if (shell === undefined) {
      const problem = given === null ? 'requires a shell' : `does not support ${JSON.stringify(given)}`;
      const meant = given === null ? '' : suggestion(given, SHELLS);
      throw new SightlineError('usage', `completion ${problem}; allowed: ${SHELLS.join(', ')}${meant}`);
    }
    printData(scripts[shell](await programFor()));
    return EXIT.done;
  },
});

// Matches the words before the cursor. Subcommands come before the command above them. Files are completed if nothing else matches.
function bashScript(program: Command): string {
  const cases = commandsBelow(program).map((command) => {
    const words = [...wordsOf(command), ...flagsOf(command)].join(' ');
    return `    '${pathOf(command)} '*) words='${words}' ;;\n`;
  });
  return `_sightline() {
  local words=''
  case "\${COMP_WORDS[*]:1:$((COMP_CWORD - 1))} " in
${cases.join('')}    ' ') words='${program.commands.map((command) => command.name()).join(' ')}' ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _sightline sightline
`;
}

function fishScript(program: Command): string {
  const line = (condition: string, offer: string, about: string): string =>
    `complete -c sightline -n '${condition}' ${offer} -d '${about.replaceAll(/['\\]/g, '\\$&')}'\n`;
  const names = program.commands.map((command) =>
    line('__fish_use_subcommand', `-f -a ${command.name()}`, command.description()),
  );
  const below = commandsBelow(program).flatMap((command) => {
    const seen = pathOf(command)
      .split(' ')
      .map((name) => `__fish_seen_subcommand_from ${name}`)
      .join('; and ');
    return [
      ...command.commands.map((one) => line(seen, `-f -a ${one.name()}`, one.description())),
      ...choicesOf(command).map((choice) => line(seen, `-f -a ${choice}`, choice)),
      ...(command.standard ?? command).options.map((option) =>
        line(seen, `-l ${option.long?.slice(2)}${option.required ? ' -r' : ''}`, option.description),
      ),
    ];
  });
  return [...names, ...below].join('');
}

function commandsBelow(command: Command): ProgramCommand[] {
  return (command.commands as readonly ProgramCommand[]).flatMap((below) => [...commandsBelow(below), below]);
}

function wordsOf(command: ProgramCommand): string[] {
  return [...command.commands.map((below) => below.name()), ...choicesOf(command)];
}

// The values of the first argument, or of that of the default subcommand.
function choicesOf(command: ProgramCommand): readonly string[] {
  return (command.standard ?? command).registeredArguments[0]?.argChoices ?? [];
}

function flagsOf(command: ProgramCommand): string[] {
  return [...(command.standard ?? command).options.map(({ long }) => long ?? ''), '--help'];
}
