import type { Choices } from './choices.ts';
import { type Answer, type Brand, DAY_MS, type Prompt, type World } from './world.ts';

/** A response with an error status. */
export class Rejection extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Days of a request; nothing lies in an empty range. */
export interface Range {
  readonly from: string;
  readonly to: string;
  readonly isEmpty: boolean;
}

/** The common filters of a request. */
export interface Selection {
  readonly range: Range;
  readonly engine: string | null;
  readonly isPromptMatching: (prompt: Prompt) => boolean;
  readonly promptId: string | null;
  readonly topicId: string | null;
  readonly tagId: string | null;
  readonly branded: boolean | null;
}

export type Query = ReadonlyMap<string, string>;

const DAYS_MAX = 366;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

export function shiftDay(day: string, days: number): string {
  return dayOf(Date.parse(day) + days * DAY_MS);
}

/** Number of days from `from` to `to`, both included. */
export function countDays(from: string, to: string): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS) + 1;
}

/** Rejects a request whose parameter is not valid. */
export function reject(choices: Choices, message: string): never {
  throw new Rejection(400, choices.errorCode, message);
}

export function readRange(query: Query, nowMs: number, choices: Choices): Range {
  const today = dayOf(nowMs);
  let to = readDay(query, 'to', choices) ?? today;
  if (to > today && choices.futureRange === 'rejected') reject(choices, 'to is in the future');
  if (to > today && choices.futureRange === 'clamped') to = today;
  let from = readDay(query, 'from', choices) ?? shiftDay(to, -29);
  if (from > to) {
    if (choices.reversedRange === 'rejected') reject(choices, 'from is after to');
    if (choices.reversedRange === 'empty') return { from, to, isEmpty: true };
    [from, to] = [to, from];
  }
  if (countDays(from, to) > DAYS_MAX) {
    if (choices.longRange === 'rejected') reject(choices, `a range has at most ${DAYS_MAX} days`);
    if (choices.longRange === 'clamped') from = shiftDay(to, 1 - DAYS_MAX);
  }
  return { from, to, isEmpty: false };
}

function readDay(query: Query, name: string, choices: Choices): string | null {
  const text = query.get(name);
  if (text === undefined) return null;
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) && dayOf(Date.parse(text)) === text;
  if (isDay) return text;
  return choices.invalidDay === 'rejected' ? reject(choices, `${name} is not a day`) : null;
}

export function readLimit(query: Query, standard: number, max: number, choices: Choices): number {
  const text = query.get('limit');
  if (text === undefined) return standard;
  if (!/^\d+$/.test(text) || Number(text) < 1) {
    return choices.lowLimit === 'rejected' ? reject(choices, 'limit is not a positive integer') : standard;
  }
  const limit = Number(text);
  if (limit <= max || choices.highLimit === 'honoured') return limit;
  return choices.highLimit === 'rejected' ? reject(choices, `limit is above ${max}`) : max;
}

/** Reads a parameter with a closed set of values; null if it is absent. */
export function readChoice<T extends string>(
  query: Query,
  name: string,
  values: readonly T[],
  choices: Choices,
): T | null {
  const text = query.get(name);
  if (text === undefined) return null;
  const value = values.find((each) => each === text);
  if (value !== undefined) return value;
  return choices.invalidChoice === 'rejected' ? reject(choices, `${name} is not one of ${values.join(', ')}`) : null;
}

/** Compares an id of a request with a stored one. */
export function isSameId(given: string, stored: string, { idCase }: Choices): boolean {
  return given === stored || (idCase === 'any' && given.toLowerCase() === stored);
}

/** Reads an id. Returns the stored one, the given one if it is unknown but allowed, or null if it is absent. */
export function readId(
  query: Query,
  name: string,
  known: readonly string[],
  { unknown, choices }: { readonly unknown: 'empty' | 'rejected' | 'not-found'; readonly choices: Choices },
): string | null {
  const text = query.get(name);
  if (text === undefined) return null;
  if (!UUID.test(text) && choices.invalidId === 'rejected') reject(choices, `${name} is not a UUID`);
  const stored = known.find((id) => isSameId(text, id, choices));
  if (stored !== undefined) return stored;
  if (unknown === 'rejected') reject(choices, `${name} is unknown`);
  if (unknown === 'not-found') throw new Rejection(404, 'not_found', `${name} is unknown`);
  return text;
}

/** Finds the brand of a path. */
export function findBrand(world: World, id: string, choices: Choices): Brand {
  if (!UUID.test(id) && choices.invalidBrandId === 'rejected') reject(choices, 'the brand id is not a UUID');
  const brand = world.brands.find((each) => isSameId(id, each.id, choices));
  if (brand === undefined) throw new Rejection(404, choices.unknownBrandCode, 'there is no such brand');
  return brand;
}

export function readEngine(query: Query, world: World, choices: Choices): string | null {
  const text = query.get('engine');
  if (text === undefined) return null;
  const wanted = choices.engineCase === 'any' ? text.toLowerCase() : text;
  if (world.engines.some(({ id }) => id === wanted)) return wanted;
  return choices.unknownEngine === 'rejected' ? reject(choices, `there is no engine ${text}`) : text;
}

/** Reads the common filters. */
export function readSelection(query: Query, brand: Brand, world: World, choices: Choices): Selection {
  const range = readRange(query, world.nowMs, choices);
  const engine = readEngine(query, world, choices);
  const ids = (items: readonly { readonly id: string }[]): string[] => items.map(({ id }) => id);
  const group = { unknown: choices.unknownGroup, choices };
  const promptId = readId(query, 'promptId', ids(brand.prompts), { unknown: choices.unknownPrompt, choices });
  const topicId = readId(query, 'topicId', ids(brand.topics), group);
  const tagId = readId(query, 'tagId', ids(brand.tags), group);
  const brandedText = readChoice(query, 'branded', ['branded', 'non-branded'], choices);
  const branded = brandedText === null ? null : brandedText === 'branded';
  // A deleted prompt has no topic and no tags any more, and is neither branded nor non-branded.
  const isPromptMatching = (prompt: Prompt): boolean => {
    if (promptId !== null && prompt.id !== promptId) return false;
    if (topicId === null && tagId === null && branded === null) return true;
    if (prompt.state === 'deleted') return false;
    if (topicId !== null && prompt.topic?.id !== topicId) return false;
    if (tagId !== null && !prompt.tags.some(({ id }) => id === tagId)) return false;
    return branded === null || prompt.branded === branded;
  };
  return { range, engine, isPromptMatching, promptId, topicId, tagId, branded };
}

/** Whether a response lies in a range and is of the engine. */
export function isInRange({ day, engine }: Answer, range: Range, wanted: string | null): boolean {
  if (range.isEmpty || (wanted !== null && engine !== wanted)) return false;
  return day >= range.from && day <= range.to;
}

/** Whether the numbers of reports count the responses to a prompt. */
export function isCounted({ state }: Prompt, { countedPrompts }: Choices): boolean {
  if (countedPrompts === 'all') return true;
  return countedPrompts === 'active' ? state === 'active' : state !== 'deleted';
}

/** Responses that the reports count for a selection, or for another range with the same filters. */
export function countedAnswers(
  brand: Brand,
  selection: Selection,
  choices: Choices,
  range = selection.range,
): Answer[] {
  return brand.answers.filter(
    (answer) =>
      isInRange(answer, range, selection.engine) &&
      isCounted(answer.prompt, choices) &&
      selection.isPromptMatching(answer.prompt),
  );
}
