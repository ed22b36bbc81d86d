import type { Argument, Command, Option } from 'commander';

/** A word that can be completed, with its description. */
export interface Candidate {
  readonly word: string;
  readonly about: string;
}

/** Completions at the cursor: words, and paths of the file system if allowed. */
export interface Completion {
  readonly candidates: readonly Candidate[];
  readonly paths: 'none' | 'files' | 'folders';
}

/** Returns values that depend on the installation, by the name of their placeholder: `workspace`, `table`. */
export type ValuesOf = (kind: string) => Promise<readonly Candidate[]>;

/** Placeholders for paths. */
const PATHS: Readonly<Record<string, Completion['paths']>> = { file: 'files', source: 'files', folder: 'folders' };

/** Parser state after the words before the cursor. */
interface Place {
  readonly command: Command;
  /** Number of arguments before the cursor. */
  readonly given: number;
  /** The option that takes the next value, and whether that value is required; null if there is none. */
  readonly open: { readonly option: Option; readonly isDue: boolean } | null;
  readonly used: ReadonlySet<Option>;
  /** Whether `--` was given, after which no word is an option. */
  readonly isPlain: boolean;
}

/**
 * Returns the completions of the last of `words`, which follow the program's name; the last may be empty. Candidates are the
 * program's subcommands, options and allowed values, and the values of placeholders.
 */
export async function complete(program: Command, words: readonly string[], valuesOf: ValuesOf): Promise<Completion> {
  const current = words.at(-1) ?? '';
  const place = walk(program, words.slice(0, -1));
  const { command, open, isPlain } = place;
  const inline = /^(--[^=]+=)(.*)$/s.exec(current);
  if (!isPlain && inline !== null && open?.isDue !== true) {
    const [, flag = '', begun = ''] = inline;
    const option = optionCalled(command, flag.slice(0, -1));
    return option === undefined ? nothing : prefixed(flag, await valuesFor(option, option.variadic, begun, valuesOf));
  }
  if (open?.isDue === true) return valuesFor(open.option, open.option.variadic, current, valuesOf);
  if (!isPlain && current.startsWith('-')) return matching(optionsOf(place), current);
  const more = open === null ? nothing : await valuesFor(open.option, true, current, valuesOf);
  const argument = argumentAt(command, place.given);
  const own = argument === undefined ? nothing : await valuesFor(argument, argument.variadic, current, valuesOf);
  const commands = place.given === 0 ? subcommandsOf(command) : [];
  const candidates = [...matching(commands, current).candidates, ...own.candidates, ...more.candidates];
  const paths = own.paths === 'none' ? more.paths : own.paths;
  // If nothing else can follow, offer the options.
  if (candidates.length === 0 && paths === 'none' && current === '' && !isPlain) return matching(optionsOf(place), '');
  return { candidates, paths };
}

const nothing: Completion = { candidates: [], paths: 'none' };

function walk(program: Command, words: readonly string[]): Place {
  let place: Place = { command: program, given: 0, open: null, used: new Set(), isPlain: false };
  for (const word of words) place = step(place, word);
  return place;
}

function step(place: Place, word: string): Place {
  const { command, open, used } = place;
  if (open?.isDue === true) return { ...place, open: open.option.variadic ? { ...open, isDue: false } : null };
  if (place.isPlain) return { ...place, given: place.given + 1 };
  if (word === '--') return { ...place, open: null, isPlain: true };
  if (word.startsWith('-') && word !== '-') {
    const [name = '', value] = word.split('=', 2);
    const option = optionCalled(command, name);
    if (option === undefined) return { ...place, open: null };
    const takesValue = (option.required || option.optional) && value === undefined;
    return { ...place, open: takesValue ? { option, isDue: true } : null, used: new Set([...used, option]) };
  }
  if (open !== null) return place;
  const next = place.given === 0 ? command.commands.find((candidate) => candidate.name() === word) : undefined;
  return next === undefined
    ? { ...place, given: place.given + 1 }
    : { command: next, given: 0, open: null, used: new Set(), isPlain: false };
}

/** The default subcommand of a command, if there is one. */
export function defaultOf(command: Command): Command | undefined {
  const { _defaultCommandName: name } = command as Command & { readonly _defaultCommandName?: string | null };
  return command.commands.find((candidate) => candidate.name() === name);
}

function allOptions(command: Command): readonly Option[] {
  return [...command.options, ...(defaultOf(command)?.options ?? [])].filter(({ hidden }) => !hidden);
}

function optionCalled(command: Command, name: string): Option | undefined {
  return allOptions(command).find((option) => option.long === name || option.short === name);
}

function optionsOf({ command, used }: Place): Candidate[] {
  const left = allOptions(command).filter((option) => option.variadic || !used.has(option));
  return [
    ...left.map((option) => ({ word: option.long ?? option.short ?? '', about: option.description })),
    { word: '--help', about: 'show help' },
  ];
}

function subcommandsOf(command: Command): Candidate[] {
  return command.commands.map((candidate) => ({ word: candidate.name(), about: candidate.description() }));
}

function argumentAt(command: Command, index: number): Argument | undefined {
  const known = command.registeredArguments;
  const last = known.at(-1);
  return known[index] ?? (last?.variadic === true ? last : undefined);
}

async function valuesFor(
  taker: Option | Argument,
  isList: boolean,
  current: string,
  valuesOf: ValuesOf,
): Promise<Completion> {
  const kind = placeholderOf(taker);
  const values =
    taker.argChoices === undefined ? await valuesOf(kind) : taker.argChoices.map((word) => ({ word, about: '' }));
  // Values of a list may be separated by commas, so complete the last one.
  const before = isList ? current.slice(0, current.lastIndexOf(',') + 1) : '';
  const matched = prefixed(before, matching(values, current.slice(before.length)));
  return { candidates: matched.candidates, paths: PATHS[kind] ?? 'none' };
}

// `<tables...>` and `<table>` have the same values.
function placeholderOf(taker: Option | Argument): string {
  const name = 'flags' in taker ? (/[<[]([^>\].]+)/.exec(taker.flags)?.[1] ?? '') : taker.name();
  return taker.variadic ? name.replace(/s$/, '') : name;
}

function matching(candidates: readonly Candidate[], begun: string): Completion {
  return { candidates: candidates.filter(({ word }) => word.startsWith(begun)), paths: 'none' };
}

function prefixed(before: string, { candidates, paths }: Completion): Completion {
  return { candidates: candidates.map(({ word, about }) => ({ word: before + word, about })), paths };
}
