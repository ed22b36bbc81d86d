import type { Command } from 'commander';
import { chooseName } from '../../../base/choose-name.ts';
import { EXIT, errorTable, SightlineError } from '../../../base/errors.ts';
import { printData } from '../../output/output.ts';
import { wrapped } from '../../output/text-table.ts';
import { defineCommand } from '../../program/define-command.ts';
import { argument, flag } from '../../program/option-kinds.ts';

/** `help state reset` prints the same text as `state reset --help`. */
export const help = defineCommand({
  arguments: { words: argument('[command...]', 'names of the command and its subcommand (default: all commands)') },
  options: {
    schema: flag('print the JSON Schema of what the command prints with --json'),
    errors: flag('list the error codes, with exit code, HTTP status and cause'),
    settings: flag('list the settings, with variable, allowed values and default'),
  },
  examples: [
    ['sightline help state reset', 'show the options of `state reset`'],
    ['sightline help sync --schema', 'print the JSON Schema of `sync --json`'],
  ],
  run: async ({ words, schema, errors, settings, ...unread }, begin) => {
    const { parse, programFor } = begin(unread);
    if ((errors || settings) && (schema || words.length > 0 || errors === settings)) {
      const flags = errors ? ['--errors', '--settings'] : ['--settings', '--errors'];
      throw new SightlineError('usage', `${flags[0]} cannot be combined with --schema, ${flags[1]} or a command`);
    }
    if (errors || settings) {
      const { settingList } = await import('../../../base/config/setting-list.ts');
      printData(toLines(errors ? errorList() : settingList()));
      return EXIT.done;
    }
    let command: Command = await programFor(words);
    const path: string[] = [];
    for (const word of words) {
      const names = command.commands.map((below) => below.name());
      const name = chooseName('command', word, names);
      path.push(name);
      command = command.commands.find((below) => below.name() === name) as Command;
    }
    if (schema) printData(await schemaText(command, path.join(' ')));
    else await parse([...path, '--help']);
    return EXIT.done;
  },
});

// Descriptions are indented, and broken at the width of the terminal.
function toLines(text: string): string {
  const lines = text.split('\n');
  return lines.map((line) => (line.startsWith('    ') ? wrapped(line.slice(4), '    ') : line)).join('\n');
}

async function schemaText(command: Command, path: string): Promise<string> {
  if (command.commands.length > 0) {
    const names = command.commands.map((below) => below.name()).join(', ');
    const asked = ['help', path, '--schema'].filter((word) => word !== '').join(' ');
    throw new SightlineError('usage', `${asked} requires the name of a command; allowed: ${names}`);
  }
  const { jsonSchemaOf } = await import('../../json/json-outputs.ts');
  const found = jsonSchemaOf(path);
  if (found === null)
    throw new SightlineError('usage', `${path} has no JSON output; --schema requires a command with --json`);
  return `${JSON.stringify(found, null, 2)}\n`;
}

function errorList(): string {
  const lines = Object.entries(errorTable).flatMap(([code, kind]) => {
    const status = 'status' in kind ? `, HTTP ${kind.status}` : '';
    return [`${code} (exit ${kind.exit}${status})`, `    ${kind.about}`];
  });
  return `${lines.join('\n')}\n`;
}
