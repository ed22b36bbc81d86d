import type { Catalogue, Resource } from '../../contract/catalogue.ts';
import type { ListField, Parameter } from '../../contract/parameters.ts';
import type { ResourceTable } from '../../contract/tables.ts';
import { addDays, laterDay } from '../../contract/time.ts';
import { ownKeyOf } from '../../warehouse/conditions.ts';
import type { Query } from '../../warehouse/database.ts';
import { quoted } from '../../warehouse/schema.ts';

/** A request that is asked of upstream and of the local server. Parameters have their declared names. */
export interface CompareQuestion {
  readonly resource: string;
  readonly brandId: string | null;
  /** Id of the row, for a detail. */
  readonly member: string | null;
  readonly query: Readonly<Record<string, string>>;
  /** Pages to compare; a page takes one request. */
  readonly pages: number;
}

/** Stored values from which questions are built. */
export interface CompareVocabulary {
  readonly brands: readonly string[];
  /** First and last day of ranges; the last one is over. */
  readonly days: { readonly first: string; readonly last: string };
  /** Returns values of a list within a brand, or of the workspace. */
  values(list: ListField, brandId: string | null): readonly string[];
  /** Returns ids of the rows of a list. */
  members(resource: string, brandId: string | null): readonly string[];
}

/** Returns numbers in [0, 1). */
type Random = () => number;

/** Returns a generator of numbers that depend only on the seed: SplitMix32 (Steele, Lea, Flood 2014). */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
}

function below(random: Random, count: number): number {
  return Math.floor(random() * count);
}

function pick<T>(random: Random, values: readonly T[]): T {
  return values[below(random, values.length)] as T;
}

/** Ids of a list that questions use. */
const IDS_MAX = 200;
/** Longest range of most questions, in days. */
const DAYS_MAX = 45;
/** Numbers of further optional parameters of a question. With more filters, few responses would have rows. */
const FURTHER = [0, 0, 0, 0, 1, 1, 2] as const;
/** Pages of some of the questions for paged lists. */
const PAGES = 2;
const PAGED_SHARE = 0.4;

/** Reads the vocabulary from a replica. `last` is the last day that was over when it was synced. */
export async function readCompareVocabulary(
  query: Query,
  catalogue: Catalogue,
  { brands, last }: { readonly brands: readonly string[]; readonly last: string },
): Promise<CompareVocabulary> {
  const lists = new Map<string, string[]>();
  const read = async (resource: string, table: ResourceTable, column: string): Promise<void> => {
    const scope = table.fixed.includes('brand_id') ? 'CAST(t.brand_id AS VARCHAR)' : 'NULL';
    const rows = await query(
      `SELECT ${scope}, CAST(t.${quoted(column)} AS VARCHAR) FROM ${quoted(table.name)} t
       WHERE t._deleted_at IS NULL AND t.${quoted(column)} IS NOT NULL
       QUALIFY row_number() OVER (PARTITION BY ${scope} ORDER BY t.rowid DESC) <= ${IDS_MAX}`,
    );
    for (const [brandId, value] of rows) {
      const key = `${resource} ${table.name} ${column} ${String(brandId ?? '')}`;
      lists.set(key, [...new Set([...(lists.get(key) ?? []), String(value)])]);
    }
  };
  const parameters = catalogue.resources.flatMap((resource) => Object.values(resource.query));
  const wanted = new Map<string, () => Promise<void>>();
  for (const list of parameters.flatMap(({ oneOf, idOf }) => oneOf ?? idOf ?? [])) {
    const found = columnOf(catalogue, list);
    if (found !== null) wanted.set(found.key, () => read(list.resource, found.table, found.column));
  }
  for (const { change } of catalogue.resources) {
    if (change.kind !== 'detail') continue;
    const table = catalogue.get(change.of).derived[0] as ResourceTable;
    wanted.set(`${change.of} ${table.name}`, () => read(change.of, table, ownKeyOf(table)));
  }
  for (const work of wanted.values()) await work();
  const valuesOf = (key: string, brandId: string | null): readonly string[] =>
    lists.get(`${key} ${brandId ?? ''}`) ?? lists.get(`${key} `) ?? [];
  return {
    brands,
    days: { first: await readFirstDay(query, catalogue, last), last },
    values: (list, brandId) => valuesOf(columnOf(catalogue, list)?.key ?? '', brandId),
    members: (resource, brandId) => {
      const table = catalogue.get(resource).derived[0] as ResourceTable;
      return valuesOf(`${resource} ${table.name} ${ownKeyOf(table)}`, brandId);
    },
  };
}

/**
 * Generates questions, in turn for each resource and each of its parameters, so that few questions already cover all of them. Ranges
 * end on a day that was over when it was synced, because later data at upstream could explain a difference.
 */
export function* generateQuestions(
  resources: readonly Resource[],
  vocabulary: CompareVocabulary,
  random: Random,
): Generator<CompareQuestion, void, undefined> {
  const turns = resources.map((resource) => turnsOf(resource, random));
  for (let asked = 0, missed = 0; missed <= resources.length; asked++) {
    const turn = turns[asked % resources.length];
    if (turn === undefined) return;
    const question = questionOf(turn, vocabulary, random);
    if (question === null) missed += 1;
    else {
      missed = 0;
      yield question;
    }
  }
}

type Named = readonly [string, Parameter];

/** What the questions for one resource use in turn. */
interface Turns {
  readonly resource: Resource;
  readonly optional: readonly Named[];
  readonly takesDays: boolean;
  /** Returns the parameter that the next question has; null for none. */
  readonly parameter: () => Named | null;
}

function turnsOf(resource: Resource, random: Random): Turns {
  const parameters = Object.entries(resource.query);
  const optional = parameters.filter(([, { kind }]) => kind !== 'day' && kind !== 'cursor');
  const takesDays = parameters.some(([, { kind }]) => kind === 'day');
  const parameter = inTurn<Named | null>([null, ...optional], random);
  return { resource, optional, takesDays, parameter: () => parameter() ?? null };
}

/** Returns the values in turn, in a random order. */
function inTurn<T>(values: readonly T[], random: Random): () => T | undefined {
  const left = [...values];
  const order = values.map(() => left.splice(below(random, left.length), 1)[0] as T);
  let turn = 0;
  return () => order[turn++ % order.length];
}

function questionOf(turns: Turns, vocabulary: CompareVocabulary, random: Random): CompareQuestion | null {
  const { resource, optional, takesDays } = turns;
  const { brands } = vocabulary;
  if (resource.scope === 'brand' && brands.length === 0) return null;
  const brandId = resource.scope === 'brand' ? pick(random, brands) : null;
  let member: string | null = null;
  if (resource.change.kind === 'detail') {
    const members = vocabulary.members(resource.change.of, brandId);
    if (members.length === 0) return null;
    member = pick(random, members);
  }
  const query: Record<string, string> = takesDays ? rangeOf(vocabulary, random) : {};
  const further = Array.from({ length: pick(random, FURTHER) }, () => pick(random, optional));
  for (const given of [turns.parameter(), ...further]) {
    if (given === null || given === undefined) continue;
    const [name, parameter] = given;
    const value = parameterValue(parameter, vocabulary, brandId, random);
    if (value !== null) query[name] = value;
  }
  const pages = resource.paging === 'cursor' && random() < PAGED_SHARE ? PAGES : 1;
  return { resource: resource.name, brandId, member, query, pages };
}

function rangeOf({ days: { first, last } }: CompareVocabulary, random: Random): { from: string; to: string } {
  const to = laterDay(addDays(last, -below(random, DAYS_MAX)), first);
  return { from: laterDay(addDays(to, -below(random, DAYS_MAX)), addDays(first, -1)), to };
}

function parameterValue(
  parameter: Parameter,
  vocabulary: CompareVocabulary,
  brandId: string | null,
  random: Random,
): string | null {
  const { kind, values = [], oneOf, idOf, max = 100 } = parameter;
  switch (kind) {
    case 'choice':
      return pick(random, values);
    case 'flag':
      return random() < 0.5 ? 'true' : 'false';
    case 'limit':
      return String(pick(random, [1 + below(random, max), max, 1 + below(random, 10)]));
    case 'uuid':
    case 'text': {
      const list = oneOf ?? idOf;
      const known = list === undefined ? [] : vocabulary.values(list, brandId);
      return known.length === 0 ? null : pick(random, known);
    }
    default:
      return null;
  }
}

function columnOf(catalogue: Catalogue, { resource, table: name, field }: ListField) {
  const table = catalogue.get(resource).derived.find((one) => name === undefined || one.name === name);
  const column = table?.columns.find(({ source }) => source.from === 'item' && source.path.join('.') === field)?.name;
  if (table === undefined || column === undefined) return null;
  return { table, column, key: `${resource} ${table.name} ${column}` };
}

// The first day of the rows with a time; 60 days before `last` if there are none.
async function readFirstDay(query: Query, catalogue: Catalogue, last: string): Promise<string> {
  const times = catalogue.tables.flatMap(({ name, time }) => (time === undefined ? [] : [{ name, time }]));
  const days: string[] = [];
  for (const { name, time } of times) {
    const [row] = await query(
      `SELECT strftime(min(${quoted(time)}), '%Y-%m-%d') FROM ${quoted(name)} WHERE _deleted_at IS NULL`,
    );
    if (typeof row?.[0] === 'string') days.push(row[0]);
  }
  return days.sort()[0] ?? addDays(last, -60);
}
