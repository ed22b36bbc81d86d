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

/** Days of a request. */
export interface Range {
  readonly from: string;
  readonly to: string;
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
  const to = readDay(query, 'to', choices) ?? dayOf(nowMs);
  const from = readDay(query, 'from', choices) ?? shiftDay(to, -29);
  if (from > to) reject(choices, 'from is after to');
  if (countDays(from, to) > DAYS_MAX) reject(choices, `a range has at most ${DAYS_MAX} days`);
  return { from, to };
}

function readDay(query: Query, name: string, choices: Choices): string | null {
  const text = query.get(name);
  if (text === undefined) return null;
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) && dayOf(Date.parse(text)) === text;
  return isDay ? text : reject(choices, `${name} is not a day`);
}

export function readLimit(query: Query, standard: number, max: number, choices: Choices): number {
  const text = query.get('limit');
  if (text === undefined) return standard;
  const limit = /^\d+$/.test(text) ? Number(text) : 0;
  return limit >= 1 && limit <= max ? limit : reject(choices, `limit is not a whole number from 1 to ${max}`);
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
  return value ?? reject(choices, `${name} is not one of ${values.join(', ')}`);
}

/** Reads an id, in lower case; null if it is absent. */
export function readId(query: Query, name: string, choices: Choices): string | null {
  const text = query.get(name);
  if (text === undefined) return null;
  return UUID.test(text) ? text.toLowerCase() : reject(choices, `${name} is not a UUID`);
}

/** Finds the brand of a path. */
export function findBrand(world: World, id: string, choices: Choices): Brand {
  const brand = world.brands.find((each) => each.id === id.toLowerCase());
  if (brand === undefined) throw new Rejection(404, choices.unknownBrandCode, 'there is no such brand');
  return brand;
}

export function readEngine(query: Query, world: World, choices: Choices): string | null {
  const text = query.get('engine');
  if (text === undefined) return null;
  return world.engines.some(({ id }) => id === text) ? text : reject(choices, `there is no engine ${text}`);
}

/** Reads the common filters. */
export function readSelection(query: Query, world: World, choices: Choices): Selection {
  const range = readRange(query, world.nowMs, choices);
  const engine = readEngine(query, world, choices);
  const promptId = readId(query, 'promptId', choices);
  const topicId = readId(query, 'topicId', choices);
  const tagId = readId(query, 'tagId', choices);
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
  if (wanted !== null && engine !== wanted) return false;
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
