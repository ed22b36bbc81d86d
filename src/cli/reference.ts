import type { Argument, Command, Option } from 'commander';
import { EXIT } from '../base/errors.ts';
import { defaultOf } from './completion/candidates.ts';

/** What each exit code means, whichever command ends with it. */
const meanings: Readonly<Record<keyof typeof EXIT, string>> = {
  done: 'done',
  failed: 'failed; the error says why and what to do',
  usage: 'wrong usage or configuration; nothing was done',
  partial: 'partial: something is left or not proven, and the next run goes on',
  locked: 'another process owns the warehouse',
  interrupted: 'interrupted by Ctrl-C or a signal; nothing is lost',
};

/** What exit codes mean to commands that give one of them a meaning of its own. */
export const particularExits: Readonly<Record<string, string>> = {
  sync: '3 when something could not be read, or a limit was reached; with `--all` the worst of all workspaces: 130, then 1, 2, 4, 3, 0.',
  verify: '0 when all agrees, 3 when something differs.',
  replay: '3 when what was built lacks rows that the warehouse has, which is then left as it is.',
  doctor: '1 when a check failed; warnings alone end with 0.',
  serve: '0 when it was stopped.',
  sandbox: '0 when it was stopped.',
  worker:
    '0 when it was stopped, or all was done; with `--once` 130 when it was stopped before. What failed is in the log.',
  'cluster enqueue': '1 when the settings of a workspace are wrong; the others are in the queue.',
  'jobs run': 'that of its steps which most needs a person: 130, then 1, 2, 4, 3, 0.',
};

/** The reference of the whole command line, as Markdown: every command that `program` has, with all that it takes. */
export function toReference(program: Command): string {
  const commands = program.commands.flatMap((command) => listBelow(command));
  const shared = sharedOptions(commands);
  const codes = Object.entries(EXIT).map(([name, code]) => `| ${code} | ${meanings[name as keyof typeof EXIT]} |`);
  return [
    '# The command line',
    'Written by `npm run docs` from the program itself; `sightline COMMAND --help` says the same.',
    program.description(),
    '    sightline COMMAND [arguments] [flags]',
    table(['flag', 'meaning'], [...shared, ...program.options].map(flagRow)),
    [
      'All but the last are taken by most commands, and are named with a command only where they are not. Flags that take',
      'several values take them one after the other, or separated by commas.',
    ].join('\n'),
    '## Exit codes',
    ['| code | meaning |', '|---|---|', ...codes].join('\n'),
    '## Commands',
    commands.map((command) => `- [\`${pathOf(command)}\`](#${anchorOf(command)}): ${command.description()}`).join('\n'),
    ...commands.flatMap((command) => describe(command, shared)),
  ]
    .join('\n\n')
    .concat('\n');
}

function listBelow(command: Command): Command[] {
  return [command, ...command.commands.flatMap(listBelow)];
}

// What nearly every command takes is said once.
function sharedOptions(commands: readonly Command[]): Option[] {
  const counts = new Map<string, { option: Option; times: number }>();
  const actual = commands.filter(({ commands: below }) => below.length === 0);
  for (const option of actual.flatMap(({ options }) => options)) {
    const key = `${option.flags}\n${option.description}`;
    counts.set(key, { option, times: (counts.get(key)?.times ?? 0) + 1 });
  }
  return [...counts.values()].filter(({ times }) => times > actual.length / 2).map(({ option }) => option);
}

function describe(command: Command, shared: readonly Option[]): string[] {
  const path = pathOf(command);
  const isShared = (option: Option): boolean =>
    shared.some(({ flags, description }) => flags === option.flags && description === option.description);
  const own = command.options.filter((option) => !option.hidden && !isShared(option));
  const lacking = command.commands.length > 0 ? [] : shared.filter((option) => !command.options.some(same(option)));
  const takesShared = lacking.length < shared.length && command.commands.length === 0;
  const described = argumentsOf(command);
  const exits = particularExits[path];
  const below = command.commands.map((each) => `\`${each.name()}\``).join(', ');
  const standard = defaultOf(command)?.name();
  return [
    `### ${path}`,
    `${sentence(command.description())}`,
    `    ${usageOf(command, own.length > 0 || takesShared)}`,
    ...(below === '' ? [] : [`Commands: ${below}${standard === undefined ? '' : `; alone it is \`${standard}\``}.`]),
    ...(described.length === 0 ? [] : [table(['argument', 'meaning'], described.map(argumentRow))]),
    ...(own.length === 0 ? [] : [table(['flag', 'meaning'], own.map(flagRow))]),
    ...(takesShared && lacking.length > 0
      ? [`Does not take ${lacking.map(({ long }) => `\`${long}\``).join(', ')}.`]
      : []),
    ...(exits === undefined ? [] : [`Exit code: ${exits}`]),
  ];
}

function same(option: Option): (other: Option) => boolean {
  return (other) => other.long === option.long;
}

function pathOf(command: Command): string {
  const above = command.parent?.parent == null ? [] : [pathOf(command.parent)];
  return [...above, command.name()].join(' ');
}

function anchorOf(command: Command): string {
  return pathOf(command).replaceAll(' ', '-');
}

function usageOf(command: Command, takesFlags: boolean): string {
  const words = argumentsOf(command).map((argument) => {
    const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
    return argument.required ? `<${name}>` : `[${name}]`;
  });
  return ['sightline', pathOf(command), ...words, ...(takesFlags ? ['[flags]'] : [])].join(' ');
}

// One that is not described is there to be refused with a better message.
function argumentsOf(command: Command): readonly Argument[] {
  return command.registeredArguments.filter(({ description }) => description !== '');
}

function argumentRow(argument: Argument): string[] {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return [`\`${argument.required ? `<${name}>` : `[${name}]`}\``, meaningOf(argument)];
}

function flagRow(option: Option): string[] {
  return [`\`${option.flags}\``, meaningOf(option)];
}

function meaningOf({ description, argChoices, defaultValue }: Option | Argument): string {
  const allowed = argChoices === undefined ? '' : `: ${argChoices.map((value) => `\`${value}\``).join(', ')}`;
  // A flag that turns something off is on by default, which says nothing.
  const standard = typeof defaultValue === 'string' ? ` (default: \`${defaultValue}\`)` : '';
  return `${description}${allowed}${standard}`;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
