import { Command } from 'commander';

/** A complete command line and its purpose, for help and the manual. */
export type Example = readonly [line: string, about: string];

/** A command of the program with its examples. */
export class ProgramCommand extends Command {
  /** Examples of the command itself; empty for one with subcommands. */
  examples: readonly Example[] = [];
  /** Exit codes with a special meaning, as a sentence; '' if there are none. */
  exits = '';

  /** The subcommand that runs if none is named. */
  standard: ProgramCommand | null = null;

  override createCommand(name?: string): ProgramCommand {
    return new ProgramCommand(name);
  }
}

/** The commands without subcommands, below a command or the command itself. */
export function leavesOf(command: ProgramCommand): ProgramCommand[] {
  return command.commands.length === 0 ? [command] : (command.commands as ProgramCommand[]).flatMap(leavesOf);
}

/** The examples of a command; for one with subcommands, the first of each. */
export function examplesOf({ examples, commands }: ProgramCommand): readonly Example[] {
  return commands.length === 0
    ? examples
    : (commands as ProgramCommand[]).flatMap((below) => below.examples.slice(0, 1));
}

/** The examples of a command, as the last part of its help. */
export function examplesText(command: ProgramCommand): string {
  const lines = examplesOf(command).flatMap(([line, about]) => [`  ${line}`, `      ${about}`]);
  return lines.length === 0 ? '' : `\nExamples:\n${lines.join('\n')}`;
}

/** The names of a command and of those above it, such as `state reset`. */
export function pathOf(command: Command): string {
  const above = command.parent?.parent == null ? [] : [pathOf(command.parent)];
  return [...above, command.name()].join(' ');
}
