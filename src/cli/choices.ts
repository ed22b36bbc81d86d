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
