import { openReader, type Reader } from '../../../src/warehouse/reader.ts';

// Reads complete tables and counts with plain loops, independently of the SQL of marts, measures and queries, so that comparing
// the two is meaningful.

/** A row of a table; results are checked by comparison, not by types. */
// oxlint-disable-next-line typescript/no-explicit-any -- see above
export type Row = Record<string, any>;

/** Rows of tables by name, without deleted brands and list items. */
export interface Held {
  readonly reader: Reader;
  /** Rows of a table that are not deleted. */
  rows(table: string): Promise<Row[]>;
  /** All rows of a table or view. */
  all(table: string): Promise<Row[]>;
  readonly answers: readonly Answer[];
  readonly brands: readonly Row[];
  /** Competitors tracked now. */
  readonly competitors: readonly Row[];
}

/** A response with its mentions and citations. */
export interface Answer {
  readonly id: string;
  readonly brand: string;
  readonly prompt: string;
  readonly text: string;
  readonly engine: string;
  /** Time of the response in epoch milliseconds. */
  readonly at: number;
  readonly day: string;
  readonly mentioned: boolean;
  readonly position: number | null;
  readonly sentiment: string | null;
  /** Currently tracked competitors, without duplicates. */
  readonly mentions: readonly Row[];
  /** Ids of all competitors that the response lists. */
  readonly listed: readonly string[];
  readonly citations: readonly Row[];
}

const DAY_MS = 86_400_000;

/** Reads a published replica. The caller must close the reader. */
export async function readHeld(path: string): Promise<Held> {
  const reader = await openReader(path);
  const all = async (table: string): Promise<Row[]> => {
    const { columns, rows } = await reader.query(`SELECT * FROM ${table}`);
    return rows.map((row) => Object.fromEntries(columns.map(({ name }, index) => [name, row[index]])));
  };
  const brands = (await all('brands')).filter(({ _deleted_at }) => _deleted_at === null);
  const known = new Set(brands.map(({ id }) => id));
  const rows = async (table: string): Promise<Row[]> =>
    (await all(table)).filter((row) => row['_deleted_at'] === null && known.has(row['brand_id']));
  const competitors = await rows('competitors');
  const tracked = new Set(competitors.map(({ brand_id, id }) => `${brand_id} ${id}`));
  const mentions = groupBy(await rows('response_competitors'), ({ response_id }) => response_id);
  const citations = groupBy(await rows('response_citations'), ({ response_id }) => response_id);
  const timed = (await rows('responses')).filter((row) => row['created_at'] !== null);
  const answers = timed.map((row): Answer => {
    const listed = (mentions.get(row['id']) ?? []).sort((a, b) => a['ordinal'] - b['ordinal']);
    const once = groupBy(listed, ({ competitor_id }) => competitor_id);
    return {
      id: row['id'],
      brand: row['brand_id'],
      prompt: row['prompt_id'],
      text: row['prompt'],
      engine: row['engine'],
      at: Date.parse(row['created_at']),
      day: row['created_at'].slice(0, 10),
      mentioned: row['brand_mentioned'] === true,
      position: row['brand_mentioned'] ? row['brand_position'] : null,
      sentiment: row['brand_mentioned'] ? row['brand_sentiment'] : null,
      mentions: [...once].flatMap(([id, [first]]) =>
        first !== undefined && tracked.has(`${row['brand_id']} ${id}`) ? [first] : [],
      ),
      listed: [...once.keys()],
      citations: citations.get(row['id']) ?? [],
    };
  });
  return { reader, rows, all, answers, brands, competitors };
}

/** Groups rows by key; keys keep the order of first occurrence. */
export function groupBy<T>(rows: readonly T[], keyOf: (row: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const row of rows) {
    const group = groups.get(keyOf(row));
    if (group === undefined) groups.set(keyOf(row), [row]);
    else group.push(row);
  }
  return groups;
}

/** Splits responses into one group over all engines and one per engine, with the columns scope and engine. */
export function scopesOf(answers: readonly Answer[]): { where: Row; answers: readonly Answer[] }[] {
  const engines = groupBy(answers, ({ engine }) => engine);
  return [
    ...(answers.length === 0 ? [] : [{ where: { scope: 'all engines', engine: null }, answers }]),
    ...[...engines].map(([engine, own]) => ({ where: { scope: 'engine', engine }, answers: own })),
  ];
}

/** Groups responses by brand, by a period of the day, and by engine and over all engines. */
export function cellsOf(
  answers: readonly Answer[],
  column: 'week' | 'month',
): { where: Row; answers: readonly Answer[] }[] {
  const start = column === 'week' ? weekOf : monthOf;
  return [...groupBy(answers, ({ brand, day }) => `${brand} ${start(day)}`).values()].flatMap((own) => {
    const { brand, day } = own[0] as Answer;
    return scopesOf(own).map((scope) => ({
      ...scope,
      where: { brand_id: brand, [column]: start(day), ...scope.where },
    }));
  });
}

/** Returns the Monday of a day's ISO week. */
export function weekOf(day: string): string {
  const weekday = new Date(`${day}T00:00:00Z`).getUTCDay();
  return addDays(day, -((weekday + 6) % 7));
}

/** Returns the first day of a day's month. */
export function monthOf(day: string): string {
  return `${day.slice(0, 7)}-01`;
}

/** Adds a number of days to a day. */
export function addDays(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
}

/** Returns the number of days between two days. */
export function daysBetween(from: string, to: string): number {
  return (Date.parse(`${to}T00:00:00Z`) - Date.parse(`${from}T00:00:00Z`)) / DAY_MS;
}

/** Counts the rows that satisfy the predicate. */
export function count<T>(rows: readonly T[], isSo: (row: T) => unknown): number {
  return rows.filter((row) => Boolean(isSo(row))).length;
}

/** Sums a number over all rows. */
export function sum<T>(rows: readonly T[], of: (row: T) => number): number {
  return rows.reduce((total, row) => total + of(row), 0);
}

/** Divides; null if the whole is 0. */
export function ratio(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole;
}
