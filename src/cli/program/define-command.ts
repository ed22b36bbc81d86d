import { Argument, type Command, Option } from 'commander';
import { suggestion } from '../../base/choose-name.ts';
import type { WorkspaceConfig } from '../../base/config/config.ts';
import { SightlineError } from '../../base/errors.ts';
import type { Context } from '../../workspace/workspace.ts';
import type { WorkspaceFlags } from '../context.ts';
import type { Choose, Parse } from '../invocation.ts';
import type { Given, Kind } from './option-kinds.ts';
import { type Example, examplesText, type ProgramCommand, pathOf } from './program-command.ts';

/** Adds the arguments, options and action of a command. */
export type AddTo = (command: ProgramCommand, parts: ProgramParts) => void;

/** What commands need of the program. */
export interface ProgramParts {
  /** Called with the command that a parsed command line selects. */
  readonly choose: Choose;
  readonly parse: Parse;
  /** Builds the program with the commands of these names, or with all commands. */
  readonly programFor: (names?: readonly string[]) => Promise<Command>;
}

/** Surroundings of a running command. */
export interface Call extends Omit<ProgramParts, 'choose'> {
  /** The options that select the workspace and its settings. */
  readonly flags: WorkspaceFlags;
  /** Whether to print the result as JSON. */
  readonly json: boolean;
  readonly signal: AbortSignal;
  /** Loads the settings of the workspace. Throws `config_invalid` and `usage`. */
  config(): Promise<WorkspaceConfig>;
  /** Loads the settings of the workspace for an operation on it. */
  context(): Promise<Context>;
}

type Kinds = Readonly<Record<string, Kind<unknown>>>;

/** The values of the options and arguments, without those of `WorkspaceFlags`. */
export type Values<Declared extends Kinds> = {
  readonly [Key in Exclude<keyof Declared, keyof WorkspaceFlags>]: Declared[Key] extends Kind<infer Value>
    ? Value
    : never;
};

/** Values that a command left unread: none. */
export type NoneUnread = Readonly<Record<string, never>>;

/** Declaration of a command. */
export interface CommandDeclaration<Options extends Kinds, Arguments extends Kinds> {
  readonly options: Options;
  readonly arguments?: Arguments;
  /** Text after the list of options in the help. */
  readonly help?: string;
  /** Exit codes with a special meaning, as a sentence. */
  readonly exits?: string;
  /** Command lines that show the usual and a special use. */
  readonly examples: readonly [Example, Example];
  /**
   * Runs the command and returns its exit code. It takes the values it reads and passes the rest to `begin`, which compiles only
   * if nothing is left. Operations are imported here, so that help does not load them.
   */
  run(values: Values<Options & Arguments>, begin: (unread: NoneUnread) => Call): Promise<number>;
}

/**
 * Declares a command. Its option values are validated while the command line is parsed.
 *
 * @example
 * export const backup = defineCommand({
 *   options: { ...workspaceOptions, force: flag('overwrite an existing file') },
 *   arguments: { file: argument('<file>', 'path of a new file') },
 *   examples: [['sightline backup b.duckdb', 'write a backup'], ['sightline backup b.duckdb --force', 'replace it']],
 *   run: async ({ file, force, ...unread }, begin) => {
 *     const { context, json } = begin(unread);
 *   },
 * });
 */
export function defineCommand<Options extends Kinds, Arguments extends Kinds = Record<never, never>>(
  declaration: CommandDeclaration<Options, Arguments>,
): AddTo {
  const { options, arguments: taken = {} as Arguments, help, exits = '', examples, run } = declaration;
  return (command, { choose, ...parts }) => {
    for (const kind of Object.values(taken)) command.addArgument(toArgument(kind));
    const added = Object.entries(options).map(([key, kind]) => ({ key, kind, option: toOption(key, kind) }));
    for (const { option } of added) command.addOption(option);
    if (help !== undefined) command.addHelpText('after', `\n${help}`);
    if (exits !== '') command.addHelpText('after', `\nExit code: ${exits}`);
    command.exits = exits;
    command.examples = examples;
    command.addHelpText('after', examplesText(command));
    command.action((...given: unknown[]) => {
      // Commander passes the arguments, the options and the command.
      const named = given.at(-2) as Readonly<Record<string, Given>>;
      const all = Object.fromEntries([
        ...Object.entries(taken).map(([key, kind], index) => [key, kind.parse(given[index] as Given, key)]),
        ...added.map(({ key, kind, option }) => [key, kind.parse(named[option.attributeName()], option.long ?? key)]),
      ]);
      const { flags, values } = separate(all);
      const json = flags.json === true;
      const own = values as Values<Options & Arguments>;
      choose(json, (signal) => run(own, () => toCall(pathOf(command), flags, signal, parts)));
    });
  };
}

/**
 * Declares a command with subcommands. Without the name of one, `standard` runs. If `standard` has arguments, other words than the names of
 * commands are its arguments.
 */
export function defineGroup(
  commands: Readonly<Record<string, { readonly about: string; readonly add: AddTo }>>,
  standard?: string,
): AddTo {
  return (group, parts) => {
    const refuse = (given: string | undefined): void => {
      if (given === undefined && standard !== undefined) return;
      const problem = given === undefined ? 'requires a command' : `has no command ${JSON.stringify(given)}`;
      const names = Object.keys(commands);
      const meant = given === undefined ? '' : suggestion(given, names);
      throw new SightlineError('usage', `${group.name()} ${problem}; allowed: ${names.join(', ')}${meant}`);
    };
    for (const [name, { about, add }] of Object.entries(commands)) {
      const command = group.command(name, { isDefault: name === standard }).description(about);
      add(command, parts);
      if (name !== standard) continue;
      group.standard = command;
      // Unknown names are arguments of the default command.
      if (command.registeredArguments.length === 0)
        command.argument('[command]').hook('preAction', () => refuse(command.args[0]));
    }
    if (standard === undefined) group.argument('[command]').action(refuse);
    if (standard !== undefined) group.addHelpText('after', `\n${standardText(group)} runs \`${standard}\`.`);
    group.addHelpText('after', examplesText(group));
  };
}

function standardText({ standard }: ProgramCommand): string {
  const [argument] = standard?.registeredArguments ?? [];
  return argument === undefined ? 'Without a command it' : `<${argument.name()}> without a command`;
}

function toOption(key: string, { placeholder, about, long, short, choices, standard }: Kind<unknown>): Option {
  const name = long ?? key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const flags = `${short === undefined ? '' : `-${short}, `}--${name}${placeholder === '' ? '' : ` ${placeholder}`}`;
  const option = new Option(flags, about);
  if (choices !== undefined) option.argChoices = [...choices];
  return standard === undefined ? option : option.default(standard);
}

function toArgument({ placeholder, about, choices }: Kind<unknown>): Argument {
  const argument = new Argument(placeholder, about);
  if (choices !== undefined) argument.argChoices = [...choices];
  return argument;
}

function separate(all: Readonly<Record<string, unknown>>): { flags: WorkspaceFlags; values: object } {
  const { workspace = null, dataDir = null, baseUrl = null, home = null, json = false, ...values } = all;
  const given = Object.entries({ workspace, dataDir, baseUrl, home }).filter(([, value]) => value !== null);
  return { flags: { ...Object.fromEntries(given), ...(json === true ? { json } : {}) }, values };
}

function toCall(path: string, flags: WorkspaceFlags, signal: AbortSignal, parts: Omit<ProgramParts, 'choose'>): Call {
  return {
    ...parts,
    flags,
    json: flags.json === true,
    signal,
    config: async () => (await import('../context.ts')).loadSettings(flags),
    context: async () => (await import('../context.ts')).loadContext(path, flags, signal),
  };
}
