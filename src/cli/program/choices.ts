import { Argument, Option } from 'commander';

/**
 * Declares an option with its allowed values for help, completion and the reference. The command itself validates the value,
 * because its error message is more precise than commander's.
 */
export function optionOf(flags: string, description: string, values: readonly string[]): Option {
  const option = new Option(flags, description);
  option.argChoices = [...values];
  return option;
}

/** Declares an argument like `optionOf`. A name in brackets, such as `[shell]`, is optional. */
export function argumentOf(name: string, description: string, values: readonly string[]): Argument {
  const argument = new Argument(name, description);
  argument.argChoices = [...values];
  return argument;
}

/** The `--log-level` option. Repeats the values of `LOG_LEVELS`, because importing the log would slow down every command. */
export function logLevelOption(): Option {
  const levels = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'];
  return optionOf('--log-level <level>', 'least severe level that is logged to standard error', levels).default('info');
}
