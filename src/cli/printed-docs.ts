import type { Argument, Option } from 'commander';
import { VERSION } from '../base/version.ts';
import { describeTables, toMarkdown } from '../operations/dictionary.ts';
import { builtInCatalogue } from '../workspace/catalogues.ts';
import { jsonSchemaOf } from './json/json-outputs.ts';
import { commandGroups } from './program/command-list.ts';
import { exitCodes } from './program/exit-codes.ts';
import { examplesOf, leavesOf, type ProgramCommand, pathOf } from './program/program-command.ts';
import { createProgram } from './program/program.ts';

/**
 * Returns the documents that the build writes into `dist/docs`, by path: the manual page, the data dictionary, and the JSON Schema of
 * each command with JSON output.
 */
export async function printedDocs(): Promise<ReadonlyMap<string, string>> {
  const program = await createProgram();
  const schemas = leavesOf(program).flatMap((command) => {
    const schema = jsonSchemaOf(pathOf(command));
    const file = `json/${pathOf(command).replaceAll(' ', '-')}.schema.json`;
    return schema === null ? [] : [[file, `${JSON.stringify(schema, null, 2)}\n`] as const];
  });
  return new Map([
    ['sightline.1', toManual(program)],
    ['data-dictionary.md', toMarkdown(await describeTables(builtInCatalogue))],
    ...schemas,
  ]);
}

// The manual page of `program` (section 1), in the macros of man(7).
function toManual(program: ProgramCommand): string {
  const lines = [
    `.TH SIGHTLINE 1 "" "sightline ${VERSION}" "User Commands"`,
    '.SH NAME',
    'sightline \\- mirror AI-visibility data into a DuckDB warehouse',
    '.SH SYNOPSIS',
    '.B sightline',
    '.I command',
    '[arguments] [flags]',
    '.SH DESCRIPTION',
    text(program.description()),
    ...commandGroups.flatMap(({ title, commands }) => [
      `.SH ${text(title.toUpperCase())}`,
      ...(program.commands as ProgramCommand[])
        .filter((command) => Object.hasOwn(commands, command.name()))
        .flatMap((command) => leavesOf(command).flatMap(describe)),
    ]),
    '.SH OPTIONS OF ALL COMMANDS',
    ...program.options.flatMap((option) => tagged(program, option)),
    '.SH EXIT STATUS',
    ...exitCodes.flatMap(([code, meaning]) => ['.TP', `.B ${code}`, text(meaning)]),
    '.SH ENVIRONMENT',
    'Settings come from flags, the environment, .env and sightline.config.json, in this order.',
    '.SH SEE ALSO',
    '.BR duckdb (1)',
  ];
  return `${lines.join('\n')}\n`;
}

function describe(command: ProgramCommand): string[] {
  const help = command.createHelp();
  const described = [
    ...help.visibleArguments(command),
    ...help.visibleOptions(command).filter(({ long }) => long !== '--help'),
  ];
  return [
    `.SS ${text(help.commandUsage(command))}`,
    text(`${command.description().charAt(0).toUpperCase()}${command.description().slice(1)}.`),
    ...described.flatMap((one) => tagged(command, one)),
    ...(command.exits === '' ? [] : ['.PP', text(`Exit code: ${command.exits}`)]),
    ...examplesOf(command).flatMap(([line, about]) => [
      '.PP',
      text(`${about}:`),
      '.PP',
      '.RS',
      '.nf',
      text(line),
      '.fi',
      '.RE',
    ]),
  ];
}

function tagged(command: ProgramCommand, taker: Option | Argument): string[] {
  const help = command.createHelp();
  const about = 'flags' in taker ? help.optionDescription(taker) : help.argumentDescription(taker);
  return ['.TP', `.B ${text('flags' in taker ? taker.flags : taker.name())}`, text(about)];
}

// Escapes text for roff: a backslash, a leading control character, and hyphens, which would be typeset as dashes.
function text(plain: string): string {
  const escaped = plain
    .replaceAll('`', '')
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll("'", '\\(aq')
    .replaceAll('"', '\\(dq');
  return /^[.']/.test(escaped) ? `\\&${escaped}` : escaped;
}
