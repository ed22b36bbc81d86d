import { z } from 'zod';
import { chooseNamed, listedNames, type Named } from '../../base/choose-name.ts';
import { SightlineError } from '../../base/errors.ts';
import { day } from '../../contract/operation/json-parts.ts';
import { membersOf } from '../../contract/operation/operation.ts';
import { invalidParameter, readInput } from '../../contract/operation/read-input.ts';
import { isUuid } from '../../contract/query-parameters.ts';
import { addDays, dayOf, daysInRange } from '../../contract/time.ts';
import { type DayRange, RESPONSE_IDS, SCOPE_LISTS, type Scope, type ScopeList } from '../../metrics/model/scope-sql.ts';
import type { Query } from '../../warehouse/database.ts';
import { comparisonGaps } from './comparison-gaps.ts';
import { completeDay } from './scope-freshness.ts';
import type { MetricsSource } from './table-result.ts';

/** Days of the default range. */
const DEFAULT_DAYS = 28;
/** Maximum number of values of one filter. */
const VALUES_MAX = 100;

/** Periods of comparison: the preceding days, the same days one year earlier, or none. */
const COMPARISONS = ['previous', 'year', 'none'] as const;

const names = (about: string) => z.array(z.string()).default([]).describe(about);
const filter = { isFilter: true } as const;

/** Members of an input that select a brand and days. */
export const rangeInput = {
  brand: names('Names or ids; default: all.'),
  from: day.optional().describe('First day; default: 28 days.'),
  to: day.optional().describe('Default: the last complete day.'),
};

/** Member of an input that selects one brand. */
export const oneOfBrands = z.string().optional().describe('Id or name; default: the only one.');

/** Members of an input that select responses and the period of comparison. */
export const scopeInput = {
  ...rangeInput,
  engine: names('Engines.').meta(filter),
  topic: names('Topics by id or name.').meta(filter),
  tag: names('Tags by id or name.').meta(filter),
  branded: z
    .enum(['branded', 'non-branded', 'true', 'false'])
    .optional()
    .describe('Prompts that name the brand, or that do not.')
    .meta(filter),
  prompt: names('A prompt by id or text.').meta(filter),
  competitor: names('Responses that mention competitors, by id or name.').meta(filter),
  compare_to: z.enum(COMPARISONS).default('previous').describe('Period of comparison.'),
};

const scopeMembers = membersOf(z.object(scopeInput));
/** Names of the members of `scopeInput`. */
export const SCOPE_PARAMETERS = Object.keys(scopeMembers);

/** Values of `scopeInput`; missing ones select all. */
export type ScopeInput = { readonly [K in keyof Scoped]?: Scoped[K] | undefined };
type Scoped = z.infer<z.ZodObject<typeof scopeInput>>;

/** Reads the members of `scopeInput`; ignores other parameters. Throws `invalid_parameter`. */
export function readScopeInput(given: URLSearchParams): ScopeInput {
  return readInput(scopeMembers, given) as ScopeInput;
}

/**
 * Reads brands, days and filters. Ids and names are accepted, and the beginning of a name if only one begins with it.
 * @throws SightlineError `invalid_parameter` with the parameter, its value, what is allowed and the nearest name
 */
export async function readScope(source: MetricsSource, query: Query, input: ScopeInput): Promise<Scope> {
  const chosen = await readBrands(source, query, input);
  const lists = {} as Record<ScopeList, readonly string[]>;
  const listed = source.replica.rowCache.through(query);
  for (const name of Object.keys(SCOPE_LISTS) as ScopeList[])
    lists[name] = await readList(listed, input[name], name, chosen, null);
  const range = readRange(source, input, chosen);
  const scope = {
    brands: chosen,
    ...range,
    before: comparedRange(range, input.compare_to ?? 'previous'),
    engines: lists.engine,
    topics: lists.topic,
    tags: lists.tag,
    prompts: lists.prompt,
    competitors: lists.competitor,
    branded: readBranded(input),
  };
  return { ...scope, gaps: await comparisonGaps(source, query, scope) };
}

/** Reads brands, days and filters as `readScope` does, with a connection of its own. */
export function resolveScope(source: MetricsSource, given: URLSearchParams): Promise<Scope> {
  const input = readScopeInput(given);
  return source.replica.replica.work((query) => readScope(source, query, input), source.signal);
}

/** Reads the parameter `brand`; without it, returns all brands that the caller may see. Throws like `readScope`. */
export async function readBrands(
  { replica, brands: allowed }: MetricsSource,
  query: Query,
  { brand }: Pick<ScopeInput, 'brand'>,
): Promise<string[]> {
  const visible = [...replica.brands.keys()].filter((id) => allowed?.includes(id) ?? true);
  if (visible.length === 0) {
    const isLimited = allowed !== undefined || replica.allowedBrands !== null;
    if (isLimited) throw new SightlineError('forbidden', 'the key can read no brand of the data');
    throw new SightlineError('no_data', 'the data have no brands yet');
  }
  const chosen = await readList(replica.rowCache.through(query), brand, 'brand', visible, visible);
  return chosen.length === 0 ? visible : chosen;
}

async function readList(
  query: Query,
  given: readonly string[] = [],
  name: ScopeList | 'brand',
  brands: readonly string[],
  visible: readonly string[] | null,
): Promise<string[]> {
  if (given.length === 0) return [];
  const known = await readNames(query, name === 'brand' ? BRANDS : SCOPE_LISTS[name], visible ?? brands);
  // A name, and the beginning of one, may contain a comma.
  const isOne = (text: string): boolean => name === 'prompt' || (text.includes(',') && selectsOne(name, text, known));
  const texts = given.flatMap((text) => (isOne(text) ? [text] : text.split(',')));
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
export async function oneBrand(query: Query, { brands }: Scope, { brand = [] }: ScopeInput): Promise<string> {
  const [brandId, ...others] = brands;
  if (brandId !== undefined && others.length === 0) return brandId;
  const known = await readNames(query, BRANDS, brands);
  throw invalidParameter('brand', brand.join(), `one of ${listedNames(known)}`);
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

function readRange(source: MetricsSource, input: ScopeInput, brands: readonly string[]): DayRange {
  const to = input.to ?? completeDay(source, brands) ?? addDays(dayOf(source.nowMs), -1);
  const from = input.from ?? addDays(to, 1 - DEFAULT_DAYS);
  if (from > to) throw invalidParameter('from', from, `${to}, the last day, or an earlier one`);
  return { from, to };
}

function readBranded({ branded }: ScopeInput): Scope['branded'] {
  if (branded === 'true') return 'branded';
  return branded === 'false' ? 'non-branded' : (branded ?? null);
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
