import { firstIndex } from '../../base/first-index.ts';
import { createBindings, liveConditions, parameterConditions } from '../../warehouse/conditions.ts';
import type { Query } from '../../warehouse/database.ts';
import { quoted } from '../../warehouse/schema.ts';
import { responseSums } from '../model/response-sums.ts';
import {
  answerTables,
  countingOf,
  type DayCounts,
  type Grouping,
  type GroupTally,
  keyParts,
  mentionSource,
  type Selection,
  selectedDays,
} from './aggregate.ts';
import type { MentionCounts } from './definitions.ts';

/** Brands with more cells of either kind are counted with SQL. */
const CELLS_MAX = 60_000;

/** Responses of a day and engine, or mentions of one competitor in them, with the same label. */
interface Cell {
  readonly day: string;
  readonly engine: string | null;
  /** Null for responses. */
  readonly competitorId: string | null;
  /** Whether they mention the entity. */
  readonly isMention: boolean;
  /** Empty for mentions without a label. */
  readonly label: string;
  readonly count: number;
  /** Mentions with a position, and the sum of the positions. */
  readonly placed: number;
  readonly places: number;
}

/** Reads the counts of a brand from data that do not change; null if there are too many. */
export async function readDayCounts(query: Query, brand: CountedBrand): Promise<DayCounts | null> {
  if (countingOf(brand).countedResponses !== 'all') return null;
  const own = await readCells(query, brand, 'responses');
  const mentions = own === null ? null : await readCells(query, brand, 'mentions');
  if (own === null || mentions === null) return null;
  const [ownSeries, mentionSeries] = [seriesOf(own), seriesOf(mentions)];
  return {
    cells: own.length + mentions.length,
    tally: (selection, grouping, labels) => {
      if (grouping === 'prompt' || !dependsOnEngineOnly(selection)) return null;
      const { from, to } = selectedDays(selection);
      const engine = selection.values['engine'];
      const isOf = (cell: Pick<Cell, 'engine'>): boolean => engine === undefined || cell.engine === engine;
      if (grouping === 'nothing') {
        const totals = (series: readonly Series[]): Cell[] =>
          series.flatMap((each) => (isOf(each) ? totalOf(each, from, to) : []));
        return sum(totals(ownSeries), totals(mentionSeries), grouping, labels);
      }
      const isSelected = (cell: Cell): boolean => from <= cell.day && cell.day <= to && isOf(cell);
      return sum(own.filter(isSelected), mentions.filter(isSelected), grouping, labels);
    },
  };
}

/** The cells of one engine, entity and label by day, with the sums up to each day. */
interface Series extends Pick<Cell, 'engine' | 'competitorId' | 'isMention' | 'label'> {
  readonly days: readonly string[];
  readonly sums: readonly Sums[];
}

type Sums = Pick<Cell, 'count' | 'placed' | 'places'>;

const NO_SUMS: Sums = { count: 0, placed: 0, places: 0 };

function seriesOf(cells: readonly Cell[]): Series[] {
  const found = new Map<string, Series & { readonly days: string[]; readonly sums: Sums[] }>();
  for (const cell of cells.toSorted((a, b) => (a.day < b.day ? -1 : 1))) {
    const { engine, competitorId, isMention, label, day } = cell;
    const key = JSON.stringify([engine, competitorId, isMention, label]);
    const series = found.get(key) ?? { engine, competitorId, isMention, label, days: [], sums: [] };
    found.set(key, series);
    const before = series.sums.at(-1) ?? NO_SUMS;
    series.days.push(day);
    series.sums.push({
      count: before.count + cell.count,
      placed: before.placed + cell.placed,
      places: before.places + cell.places,
    });
  }
  return [...found.values()];
}

// Returns one cell with the sum of a range of days; an empty array if the range has no cells.
function totalOf({ days, sums, ...series }: Series, from: string, to: string): Cell[] {
  const [first, beyond] = [firstIndex(days, (day) => day >= from), firstIndex(days, (day) => day > to)];
  if (beyond <= first) return [];
  const [before, all] = [sums[first - 1] ?? NO_SUMS, sums[beyond - 1] ?? NO_SUMS];
  const count = all.count - before.count;
  return [{ ...series, day: '', count, placed: all.placed - before.placed, places: all.places - before.places }];
}

/** What the counts of a brand depend on. */
export type CountedBrand = Pick<Selection, 'catalogue' | 'brandId' | 'mayRepeat' | 'counting'>;

function dependsOnEngineOnly({ catalogue, brandId, declared, values }: Selection): boolean {
  const { engine: _, ...others } = values;
  const target = { catalogue, table: answerTables(catalogue).answers, alias: 't', brandId };
  return parameterConditions(target, declared, others, createBindings()).length === 0;
}

type Kept = Exclude<Grouping, 'prompt'>;

const KEYS: Readonly<Record<Kept, readonly ('day' | 'engine')[]>> = {
  nothing: [],
  'day-and-engine': ['day', 'engine'],
  day: ['day'],
};

/** The key of a cell as a text. This runs for every cell of a request. */
const TEXTS: Readonly<Record<Kept, (cell: Pick<Cell, 'day' | 'engine'>) => string>> = {
  nothing: () => '',
  'day-and-engine': ({ day, engine }) => `${day} ${engine ?? '\0'}`,
  day: ({ day }) => day,
};

/** The counts of one entity in one group. */
interface Counter {
  responses: number;
  mentions: number;
  placed: number;
  places: number;
  readonly labels: Map<string, number>;
}

interface Group {
  readonly key: GroupTally['key'];
  readonly own: Counter;
  readonly competitors: Map<string, Counter>;
}

function sum(own: readonly Cell[], mentions: readonly Cell[], grouping: Kept, labels: readonly string[]): GroupTally[] {
  const groups = new Map<string, Group>();
  const [key, textOf] = [KEYS[grouping], TEXTS[grouping]];
  const groupOf = (text: string, cell: Pick<Cell, 'day' | 'engine'>): Group => {
    const found = groups.get(text);
    if (found !== undefined) return found;
    const group = { key: key.map((name) => cell[name]), own: newCounter(), competitors: new Map<string, Counter>() };
    groups.set(text, group);
    return group;
  };
  // Responses that are not grouped have a tally even if there are none.
  if (key.length === 0) groupOf('', { day: '', engine: null });
  for (const cell of own) add(groupOf(textOf(cell), cell).own, cell);
  for (const cell of mentions) {
    const group = groups.get(textOf(cell));
    if (group === undefined) continue;
    const id = cell.competitorId ?? '';
    const counter = group.competitors.get(id) ?? newCounter();
    group.competitors.set(id, counter);
    add(counter, cell);
  }
  return [...groups.values()].map((group) => {
    const { responses } = group.own;
    const rivals = [...group.competitors].map(([id, counter]): [string, MentionCounts] => [
      id,
      countsOf(counter, responses, labels),
    ]);
    return { key: group.key, own: countsOf(group.own, responses, labels), competitors: new Map(rivals) };
  });
}

function newCounter(): Counter {
  return { responses: 0, mentions: 0, placed: 0, places: 0, labels: new Map() };
}

function add(counter: Counter, { isMention, label, count, placed, places }: Cell): void {
  counter.responses += count;
  if (!isMention) return;
  counter.mentions += count;
  counter.placed += placed;
  counter.places += places;
  counter.labels.set(label, (counter.labels.get(label) ?? 0) + count);
}

function countsOf(counter: Counter, responses: number, labels: readonly string[]): MentionCounts {
  return {
    responses,
    mentions: counter.mentions,
    positions: { count: counter.placed, sum: counter.places },
    labels: Object.fromEntries(labels.map((label) => [label, counter.labels.get(label) ?? 0])),
  };
}

async function readCells(query: Query, brand: CountedBrand, of: 'responses' | 'mentions'): Promise<Cell[] | null> {
  const bindings = createBindings();
  const conditions = [...liveConditions('t', brand.brandId, bindings), 't.created_at IS NOT NULL'];
  const where = conditions.join(' AND ');
  const { answers } = answerTables(brand.catalogue);
  const [entity, position, label, source] =
    of === 'responses'
      ? [
          'NULL, coalesce(t.brand_mentioned, false)',
          't.brand_position',
          't.brand_sentiment',
          `${quoted(answers.name)} t WHERE ${where}`,
        ]
      : [
          'CAST(t.competitor_id AS VARCHAR), true',
          't.position',
          't.sentiment',
          mentionSource(brand, `${where} AND t.competitor_id IS NOT NULL`),
        ];
  const rows = await query(
    `SELECT ${keyParts.day}, ${keyParts.engine}, ${entity}, coalesce(${label}, ''), count(*), ${responseSums.placed_count('true', position)},
       ${responseSums.position_sum('true', position)}
     FROM ${source} GROUP BY ALL LIMIT ${CELLS_MAX + 1}`,
    bindings.values,
  );
  if (rows.length > CELLS_MAX) return null;
  return rows.map(([day, engine, competitorId, isMention, named, count, placed, places]) => ({
    day: String(day),
    engine: engine as string | null,
    competitorId: competitorId as string | null,
    isMention: isMention === true,
    label: String(named),
    count: Number(count),
    placed: Number(placed),
    places: Number(places),
  }));
}
