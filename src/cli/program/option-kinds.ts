import { suggestion } from '../../base/choose-name.ts';
import { SightlineError } from '../../base/errors.ts';
import { toDay } from '../../contract/time.ts';

/** Value that commander passes for an option or an argument: undefined if it is not given and has no default. */
export type Given = string | readonly string[] | boolean | undefined;

/** Declaration of an option or an argument: its help, and the validation of its value. */
export interface Kind<Value> {
  /** Placeholder of the value, such as `<number>` or `<tables...>`; empty for an option without a value. */
  readonly placeholder: string;
  readonly about: string;
  /** Name on the command line if it is not derived from the key. `no-jobs` declares an option that sets `jobs` to false. */
  readonly long?: string;
  readonly short?: string;
  /** Allowed values, for help. */
  readonly choices?: readonly string[];
  /** Default, as it would be given. */
  readonly standard?: string;
  /** Returns the typed value. `flag` is the name for messages. Throws `usage`. */
  parse(given: Given, flag: string): Value;
}

/** An option with a value that `parse` validates; null if it is not given. */
export function option<T>(
  placeholder: string,
  about: string,
  parse: (text: string, flag: string) => T,
): Kind<T | null> {
  return { placeholder, about, parse: (given, flag) => (given === undefined ? null : parse(String(given), flag)) };
}

/** An option with any text as its value, which is not empty. */
export function text(placeholder: string, about: string): Kind<string | null> {
  return option(placeholder, about, toText);
}

/** An option without a value: false unless it is given. */
export function flag(about: string): Kind<boolean> {
  return { placeholder: '', about, parse: (given) => given === true };
}

/** An option such as `--no-jobs`: true unless it is given. `long` is its name with `no-`. */
export function negated(long: `no-${string}`, about: string): Kind<boolean> {
  return { placeholder: '', long, about, parse: (given) => given !== false };
}

/** An option with an integer from `least` to `most`. */
export function integer(placeholder: string, about: string, least: number, most: number): Kind<number | null> {
  return option(placeholder, about, (given, name) => toInteger(name, given, least, most));
}

/** An option with an integer, or without a value: then `all`. */
export function optionalInteger(
  placeholder: `[${string}]`,
  about: string,
  least: number,
  most: number,
): Kind<number | 'all' | null> {
  const parse = (given: Given, name: string): number | 'all' | null => {
    if (given === undefined) return null;
    return given === true ? 'all' : toInteger(name, String(given), least, most);
  };
  return { placeholder, about, parse };
}

/** An option with an existing day, YYYY-MM-DD. */
export function day(about: string): Kind<string | null> {
  return option('<day>', about, (given, name) => toExistingDay(name, given));
}

/** An option with names that are separated by spaces or commas. */
export function list(placeholder: `<${string}...>`, about: string): Kind<readonly string[] | null> {
  return { placeholder, about, parse: (given, name) => (Array.isArray(given) ? toNames(name, given) : null) };
}

/** An option with several values, each validated by `parse`; empty if it is not given. */
export function texts(placeholder: `<${string}...>`, about: string): Kind<readonly string[]>;
export function texts<T>(
  placeholder: `<${string}...>`,
  about: string,
  parse: (text: string, flag: string) => T,
): Kind<readonly T[]>;
export function texts(
  placeholder: `<${string}...>`,
  about: string,
  parse: (text: string, flag: string) => unknown = toText,
): Kind<readonly unknown[]> {
  const all = (given: Given): readonly string[] => (Array.isArray(given) ? given : []);
  return { placeholder, about, parse: (given, name) => all(given).map((one) => parse(one, name)) };
}

/** An option with one of `choices` as its value. */
export function oneOf<const T extends string>(
  placeholder: string,
  about: string,
  choices: readonly T[],
): Kind<T | null> {
  return { ...option(placeholder, about, (given, name) => toChoice(name, given, choices)), choices };
}

/** Gives an option a default, which help shows. */
export function withDefault<T>(kind: Kind<T | null>, standard: string): Kind<T> {
  // Commander passes the default if the option is not given, so the value is never null.
  return { ...kind, standard } as Kind<T>;
}

/** Gives an option another long name than its key, and a short one. */
export function withNames<T>(long: string, short: string, kind: Kind<T>): Kind<T> {
  return { ...kind, long, short };
}

/** An option with a number of requests per minute up to `most`, or `off`; default: 120, as upstream. */
export function rateLimit(about: string, most: number): Kind<number | 'off'> {
  const parse = (given: string, name: string): number | 'off' => {
    const rate = /^\d+$/.test(given) ? Number(given) : 0;
    if (given === 'off') return given;
    if (rate >= 1 && rate <= most) return rate;
    throw refused(name, given, `off, or a whole number from 1 to ${most}`);
  };
  return withDefault(option('<number>', about, parse), '120');
}

/** An argument: required as `<file>`, optional as `[file]`, several as `[words...]`. Its allowed values are not validated. */
export function argument(placeholder: `[${string}...]`, about: string): Kind<readonly string[]>;
export function argument(placeholder: `[${string}]`, about: string, choices?: readonly string[]): Kind<string | null>;
export function argument(placeholder: `<${string}>`, about: string): Kind<string>;
export function argument(placeholder: string, about: string, choices?: readonly string[]): Kind<Given | null> {
  return { placeholder, about, ...(choices === undefined ? {} : { choices }), parse: (given) => given ?? null };
}

/** Parses an integer from `least` to `most`. Throws `usage` with these bounds. */
export function toInteger(name: string, given: string, least: number, most: number): number {
  const value = /^-?\d+$/.test(given) ? Number(given) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw refused(name, given, `a whole number from ${least} to ${most}`);
}

/** Validates a day, YYYY-MM-DD. Throws `usage`. */
export function toExistingDay(name: string, given: string): string {
  if (/^\d{4}-\d{2}-\d{2}$/.test(given) && toDay(given) !== null) return given;
  throw refused(name, given, 'an existing day, as YYYY-MM-DD');
}

/** The error of an option with a value that is not allowed. */
export function refused(name: string, given: string, allowed: string): SightlineError {
  return new SightlineError('usage', `${name} is ${JSON.stringify(given)}; allowed: ${allowed}`);
}

function toText(given: string, name: string): string {
  if (given.trim() !== '') return given;
  // An unset variable of a shell script is an empty value.
  throw new SightlineError('usage', `${name} is empty; allowed: a value, or leave the option out`);
}

function toNames(name: string, given: readonly string[]): string[] {
  const parts = given.flatMap((value) => value.split(',').filter((part) => part !== ''));
  if (parts.length === 0) throw new SightlineError('usage', `${name} is empty; allowed: one or more names`);
  return parts;
}

function toChoice<T extends string>(name: string, given: string, choices: readonly T[]): T {
  const known = choices.find((choice) => choice === given);
  if (known !== undefined) return known;
  throw refused(name, given, `${choices.join(', ')}${suggestion(given, choices)}`);
}
