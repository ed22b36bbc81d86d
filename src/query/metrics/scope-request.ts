import {
  type DayRange,
  RESPONSE_IDS,
  SCOPE_LISTS,
  type Scope,
  type ScopeList,
} from '../../analytics/model/scope-sql.ts';
import { chooseNamed, listedNames, type Named, quoted, suggestion } from '../../base/choose-name.ts';
import { SightlineError } from '../../base/errors.ts';
import { isUuid } from '../../contract/query-parameters.ts';
import { addDays, dayOf, daysInRange, toDay } from '../../contract/time.ts';
import type { Query } from '../../warehouse/database.ts';
import { completeDay } from './scope-freshness.ts';
import type { MetricsSource } from './table-result.ts';

/** Days of the default range. */
const DEFAULT_DAYS = 28;
/** First and last day of a range, so that the period before the longest range also has years of four digits. */
const DAY_LIMITS: DayRange = { from: '1970-01-01', to: '2999-12-31' };
/** Maximum number of values of one filter. */
const VALUES_MAX = 100;

/** Names of the parameters that select responses, brands and days. */
export const SCOPE_PARAMETERS = [
  'brand',
  'from',
  'to',
  'engine',
  'topic',
  'tag',
  'branded',
  'prompt',
  'competitor',
  'compare_to',
] as const;

/** Periods of comparison: the preceding days, the same days one year earlier, or none. */
export const COMPARISONS = ['previous', 'year', 'none'] as const;

/** Characters of all values of a parameter: the work for a request grows with them. */
const PARAMETER_CHARACTERS_MAX = 4_000;

/** Returns an error about a parameter; an empty value counts as missing. `names` are searched for the nearest one. */
export function invalidParameter(
  parameter: string,
  given: string,
  allowed: string,
  names: readonly string[] = [],
): SightlineError {
  const problem = given === '' ? 'required' : quoted(given);
  const message = `${parameter} is ${problem}; allowed: ${allowed}${suggestion(given, names)}`;
  return new SightlineError('invalid_parameter', message, { parameter, allowed });
}

/** Throws `invalid_parameter` for a parameter with a name that is not in `known`, or with too many characters. */
export function checkParameters(given: URLSearchParams, known: readonly string[]): void {
  for (const name of new Set(given.keys())) {
    if (!known.includes(name)) throw invalidParameter('parameter', name, known.join(', '), known);
    const text = given.getAll(name).join();
    if (text.length > PARAMETER_CHARACTERS_MAX)
      throw invalidParameter(name, text, `at most ${PARAMETER_CHARACTERS_MAX} characters`);
  }
}

/** Returns the values of a parameter that may be repeated or contain commas. */
export function listOf(given: URLSearchParams, name: string): string[] {
  return [
    ...new Set(
      given
        .getAll(name)
        .flatMap((text) => text.split(','))
        .map((text) => text.trim())
        .filter((text) => text !== ''),
    ),
  ];
}

/** Returns the value of a parameter that may be given once; null if it is absent or empty. */
export function onceOf(given: URLSearchParams, name: string): string | null {
  const texts = given.getAll(name);
  if (texts.length > 1) throw invalidParameter(name, texts.join(' and '), 'one value');
  return texts[0] === undefined || texts[0] === '' ? null : texts[0];
}

/** Returns the value of a parameter that is a day within the limits of a range; null if it is absent. */
export function calendarDayOf(given: URLSearchParams, name: string): string | null {
  const text = onceOf(given, name);
  if (text === null) return null;
  const { from, to } = DAY_LIMITS;
  if (/^\d{4}-\d{2}-\d{2}$/.test(text) && toDay(text) !== null && text >= from && text <= to) return text;
  throw invalidParameter(name, text, `a calendar day, YYYY-MM-DD, from ${from} to ${to}`);
}

/** Returns one of the allowed values of a parameter; null if it is absent. */
export function choiceOf<const T extends string>(
  given: URLSearchParams,
  name: string,
  allowed: readonly T[],
): T | null {
  const text = onceOf(given, name);
  if (text === null) return null;
  const found = allowed.find((value) => value === text);
  if (found === undefined) throw invalidParameter(name, text, allowed.join(', '), allowed);
  return found;
}

/** Returns the parameter `limit`, from 1 to `most`; null if it is absent. */
export function limitOf(given: URLSearchParams, most: number): number | null {
  const text = onceOf(given, 'limit');
  if (text === null) return null;
  const limit = Number(text);
  if (!/^\d{1,6}$/.test(text) || limit < 1 || limit > most) throw invalidParameter('limit', text, `1 to ${most}`);
  return limit;
}

/**
 * Reads brands, days and filters. Ids and names are accepted, and the beginning of a name if only one begins with it.
 * @throws SightlineError `invalid_parameter` with the parameter, its value, what is allowed and the nearest name
 */
export async function readScope(source: MetricsSource, query: Query, given: URLSearchParams): Promise<Scope> {
  const chosen = await readBrands(source, query, given);
  const lists = {} as Record<ScopeList, readonly string[]>;
  for (const name of Object.keys(SCOPE_LISTS) as ScopeList[])
    lists[name] = await readList(query, given, name, chosen, null);
  const range = readRange(source, given, chosen);
  return {
    brands: chosen,
    ...range,
    before: comparedRange(range, choiceOf(given, 'compare_to', COMPARISONS) ?? 'previous'),
    engines: lists.engine,
    topics: lists.topic,
    tags: lists.tag,
    prompts: lists.prompt,
    competitors: lists.competitor,
    branded: readBranded(given),
  };
}

/** Reads brands, days and filters as `readScope` does, with a connection of its own. */
export function resolveScope(source: MetricsSource, given: URLSearchParams): Promise<Scope> {
  return source.replica.replica.work((query) => readScope(source, query, given), source.signal);
}

/** Reads the parameter `brand`; without it, returns all brands that the caller may see. Throws like `readScope`. */
export async function readBrands(
  { replica, brands: allowed }: MetricsSource,
  query: Query,
  given: URLSearchParams,
): Promise<string[]> {
  const visible = [...replica.brands.keys()].filter((id) => allowed?.includes(id) ?? true);
  if (visible.length === 0) {
    const isLimited = allowed !== undefined || replica.allowedBrands !== null;
    if (isLimited) throw new SightlineError('forbidden', 'the key can read no brand of the data');
    throw new SightlineError('no_data', 'the data have no brands yet');
  }
  const chosen = await readList(query, given, 'brand', visible, visible);
  return chosen.length === 0 ? visible : chosen;
}

async function readList(
  query: Query,
  given: URLSearchParams,
  name: ScopeList | 'brand',
  brands: readonly string[],
  visible: readonly string[] | null,
): Promise<string[]> {
  if (listOf(given, name).length === 0) return [];
  const known = await readNames(query, name === 'brand' ? BRANDS : SCOPE_LISTS[name], visible ?? brands);
  // A name, and the beginning of one, may contain a comma.
  const isOne = (text: string): boolean => name === 'prompt' || (text.includes(',') && selectsOne(name, text, known));
  const texts = given.getAll(name).flatMap((text) => (isOne(text) ? [text] : text.split(',')));
  const chosen = [...new Set(texts.map((text) => text.trim()).filter((text) => text !== ''))];
  if (chosen.length > VALUES_MAX) {
    throw invalidParameter(name, `${chosen.length} values`, `at most ${VALUES_MAX} values`);
  }
  const unlisted = chosen.filter((text) => isUuid(text) && !known.some(({ id }) => id === text.toLowerCase()));
  const stored = name === 'brand' ? undefined : RESPONSE_IDS[name];
  if (unlisted.length > 0 && stored !== undefined) {
    for (const [id] of await query(stored, [brands, unlisted])) known.push({ id: String(id), name: null });
  }
  return [...new Set(chosen.map((text) => choose(name, text, known).id))];
}

// Whether a text is an id, a name or the beginning of only one.
function selectsOne(parameter: string, text: string, known: readonly Named[]): boolean {
  try {
    choose(parameter, text, known);
    return true;
  } catch {
    return false;
  }
}

async function readNames(query: Query, sql: string, brands: readonly string[]): Promise<Named[]> {
  const rows = await query(sql, [brands]);
  return rows.map(([id, label]) => ({
    id: String(id),
    name: label === null || label === id ? null : String(label),
  }));
}

/** Returns the only brand of a scope. Throws `invalid_parameter` with the brands if there are several. */
export async function oneBrand(query: Query, { brands }: Scope, given: URLSearchParams): Promise<string> {
  const [brandId, ...others] = brands;
  if (brandId !== undefined && others.length === 0) return brandId;
  const known = await readNames(query, BRANDS, brands);
  throw invalidParameter('brand', given.getAll('brand').join(), `one of ${listedNames(known)}`);
}

const BRANDS =
  'SELECT CAST(brand_id AS VARCHAR), name FROM mart.dim_brand WHERE CAST(brand_id AS VARCHAR) IN (SELECT unnest($1)) ORDER BY name';

function choose(parameter: string, given: string, known: readonly Named[]): Named {
  try {
    return chooseNamed(parameter, given, known);
  } catch (thrown) {
    if (!(thrown instanceof SightlineError)) throw thrown;
    throw new SightlineError('invalid_parameter', thrown.message, {
      cause: thrown,
      parameter,
      allowed: 'an id, a name or its beginning',
    });
  }
}

function readRange(source: MetricsSource, given: URLSearchParams, brands: readonly string[]): DayRange {
  const to = calendarDayOf(given, 'to') ?? completeDay(source, brands) ?? addDays(dayOf(source.nowMs), -1);
  const from = calendarDayOf(given, 'from') ?? addDays(to, 1 - DEFAULT_DAYS);
  if (from > to) throw invalidParameter('from', from, `${to}, the last day, or an earlier one`);
  return { from, to };
}

function readBranded(given: URLSearchParams): Scope['branded'] {
  const text = choiceOf(given, 'branded', ['branded', 'non-branded', 'true', 'false']);
  if (text === 'true') return 'branded';
  return text === 'false' ? 'non-branded' : text;
}

function comparedRange({ from, to }: DayRange, compareTo: (typeof COMPARISONS)[number]): DayRange | null {
  if (compareTo === 'none') return null;
  const days = compareTo === 'previous' ? daysInRange(from, to) : daysInRange(yearBefore(from), from) - 1;
  return { from: addDays(from, -days), to: addDays(to, -days) };
}

// 29 February is compared with 28 February.
function yearBefore(day: string): string {
  const year = String(Number(day.slice(0, 4)) - 1).padStart(4, '0');
  return `${year}${day.slice(4) === '-02-29' ? '-02-28' : day.slice(4)}`;
}
