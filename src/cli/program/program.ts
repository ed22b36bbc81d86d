import { CommanderError } from 'commander';
import { SightlineError } from '../../base/errors.ts';
import { removedCommands } from '../../base/removed-names.ts';
import { VERSION } from '../../base/version.ts';
import type { Choose, Invocation } from '../invocation.ts';
import { terminal } from '../output/terminal.ts';
import { commandGroups, commands } from './command-list.ts';
import { exitCodes } from './exit-codes.ts';
import { examplesOf, ProgramCommand, pathOf } from './program-command.ts';

/**
 * Parses the command line. Returns the command to run, or null after printing help or the version. Loads only the named command,
 * so that help is fast.
 *
 * @throws `usage` for unknown and removed commands and options, and for values that are not allowed.
 */
export async function parseArguments(argv: readonly string[]): Promise<Invocation | null> {
  const chosen: { invocation: Invocation | null } = { invocation: null };
  const choose: Choose = (json, action) => {
    chosen.invocation = { json, action };
  };
  const program = await createProgram(choose, [commandIn(argv)]);
  if (argv.length === 0) {
    program.outputHelp();
    return null;
  }
  try {
    await program.parseAsync(argv, { from: 'user' });
  } catch (thrown) {
    const hasPrinted = thrown instanceof CommanderError && thrown.exitCode === 0;
    if (hasPrinted) return null;
    checkRemoved(argv);
    if (!(thrown instanceof CommanderError)) throw thrown;
    const problem = thrown.message.replace(/^error: /, '').replaceAll('\n', ' ');
    const names = program.commands.map((command) => command.name()).join(', ');
    const allowed = thrown.code === 'commander.unknownCommand' ? `; allowed: ${names}` : '';
    const hint = rightForm(commandNamed(program, argv));
    throw new SightlineError('usage', `${problem}${allowed}`, { cause: thrown, ...(hint === null ? {} : { hint }) });
  }
  return chosen.invocation;
}

/**
 * Builds the commander program. `choose` is called with the command that a parsed command line selects. Commands that are not
 * among `loaded` have a name and a description only.
 */
export async function createProgram(
  choose: Choose = () => undefined,
  loaded: readonly string[] = Object.keys(commands),
): Promise<ProgramCommand> {
  const program = new ProgramCommand('sightline')
    .description(
      "Copies a workspace's AI-visibility data into a DuckDB warehouse that you own, exactly and within the API's budget.",
    )
    .version(VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .option('--verbose', 'print the causes and stacks of an error')
    .helpCommand(false)
    .showHelpAfterError(false)
    .exitOverride()
    .configureOutput({ writeOut: (text) => void terminal().stdout.write(text), writeErr: () => undefined })
    .addHelpText(
      'after',
      `
\`sightline help COMMAND\` shows the options of a command, with examples.

Settings come from flags, the environment, .env and sightline.config.json; the first one that is set applies:
  SIGHTLINE_BASE_URL   root of the versioned API, such as https://api.example.com/v1
  SIGHTLINE_API_KEY    the workspace's key; begins with gsk_
  SIGHTLINE_DATA_DIR   data folder (default ./data)

Exit codes:
${exitCodes.map(([code, meaning]) => `  ${code.padEnd(5)}${meaning}`).join('\n')}`,
    );
  const programFor = (names?: readonly string[]) => createProgram(() => undefined, names);
  for (const { title, commands: listed } of commandGroups) {
    program.commandsGroup(`${title}:`);
    for (const [name, { about, load }] of Object.entries(listed)) {
      const command = program.command(name).description(about);
      if (loaded.includes(name)) (await load())(command, { choose, parse: parseArguments, programFor });
    }
  }
  // Commands that are not loaded have no options to show. Set after adding them, because commands inherit these settings.
  return program.configureHelp({ subcommandTerm: (command) => command.name() });
}

// Throws an error that names what replaces a command or option if the rejected command line has a removed one.
function checkRemoved(argv: readonly string[]): void {
  const words = argv.filter((word) => !word.startsWith('-'));
  const flags = argv.map((word) => word.replace(/=.*$/s, ''));
  const removed = removedCommands.find(({ name }) =>
    name.split(' ').every((part, index) => (part.startsWith('-') ? flags.includes(part) : words[index] === part)),
  );
  if (removed === undefined) return;
  throw new SightlineError('usage', `\`${removed.name}\` was removed`, { hint: removed.instead });
}

// The command that the words name, as far as they name one.
function commandNamed(command: ProgramCommand, words: readonly string[]): ProgramCommand {
  const [first = '', ...rest] = words.filter((word) => !word.startsWith('-'));
  const below = (command.commands as readonly ProgramCommand[]).find((one) => one.name() === first);
  return below === undefined ? command : commandNamed(below, rest);
}

// How a command is written; null for the program itself.
function rightForm(command: ProgramCommand): string | null {
  if (command.parent === null) return null;
  const path = pathOf(command);
  const usage = command.commands.length > 0 ? command.commands.map((one) => one.name()).join('|') : command.usage();
  const examples = examplesOf(command).map(([line]) => `\`${line}\``);
  return `Usage: sightline ${path} ${usage}; for example ${examples.join(', ')}. \`sightline help ${path}\` has all options.`;
}

// The options of the program itself have no values, so the first other word names the command.
function commandIn(words: readonly string[]): string {
  return words.find((word) => !word.startsWith('-')) ?? '';
}
