import type { Command } from 'commander';
import { chooseName } from '../../../base/choose-name.ts';
import { EXIT } from '../../../base/errors.ts';
import { defineCommand } from '../../program/define-command.ts';
import { argument } from '../../program/option-kinds.ts';

/** `help state reset` prints the same text as `state reset --help`. */
export const help = defineCommand({
  arguments: { words: argument('[command...]', 'names of the command and its subcommand (default: all commands)') },
  options: {},
  examples: [
    ['sightline help sync', 'show the options of `sync`'],
    ['sightline help state reset', 'show the options of `state reset`'],
  ],
  run: async ({ words, ...unread }, begin) => {
    const { parse, programFor } = begin(unread);
    let command: Command = await programFor(words);
    const path: string[] = [];
    for (const word of words) {
      const names = command.commands.map((below) => below.name());
      const name = chooseName('command', word, names);
      path.push(name);
      command = command.commands.find((below) => below.name() === name) as Command;
    }
    await parse([...path, '--help']);
    return EXIT.done;
  },
});
