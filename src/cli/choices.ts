import { Argument, Option } from 'commander';

/**
 * An option whose values are known. Help, completion and the reference show them; that nothing else is given is checked by
 * the command itself, whose message says more.
 */
export function optionOf(flags: string, description: string, values: readonly string[]): Option {
  const option = new Option(flags, description);
  option.argChoices = [...values];
  return option;
}

/** As `optionOf`, for an argument, which may be left out when its name stands in brackets. */
export function argumentOf(name: string, description: string, values: readonly string[]): Argument {
  const argument = new Argument(name, description);
  argument.argChoices = [...values];
  return argument;
}

/** How much is logged, of commands that keep a log; the values are the log's, which loads much that most commands do not need. */
export function logLevelOption(): Option {
  const levels = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'];
  return optionOf('--log-level <level>', 'how much is logged to standard error', levels).default('info');
}
