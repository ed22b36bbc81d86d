import type { Catalogue } from '../../contract/catalogue.ts';
import { repeatsForm } from '../../contract/formats.ts';
import type { Parameters } from '../../contract/parameters.ts';
import type { Query as Values } from '../../contract/query-parameters.ts';
import type { ChildTable, ResourceTable } from '../../contract/tables.ts';
import { DAY_MAX } from '../../contract/time.ts';
import {
  type Bindings,
  childOf,
  createBindings,
  liveConditions,
  parameterConditions,
  rangeCondition,
} from '../../warehouse/conditions.ts';
import type { Query } from '../../warehouse/database.ts';
import type { Shapes } from '../../warehouse/ledger/shapes.ts';
import { quoted, utc } from '../../warehouse/schema.ts';
import type { Conventions } from '../calibration/conventions.ts';
import { responseSums } from '../model/response-sums.ts';
import type { MentionCounts } from './definitions.ts';

/** Conventions that decide which responses, mentions and labels count. */
export type Counting = Pick<Conventions, 'countedResponses' | 'deletedPrompts' | 'repeatedMentions' | 'labels'>;

/** Selects the responses to count: one brand, a range of days, and the filters of a request. */
export interface Selection {
  readonly catalogue: Catalogue;
  readonly brandId: string;
  readonly from: string;
  readonly to: string;
  readonly declared: Parameters;
  readonly values: Values['values'];
  /** Whether a response may list the same competitor twice. Counting is much faster when none does. */
  readonly mayRepeat: boolean;
  readonly counting: Counting;
  /** The result of `readDayCounts`; default: none. */
  readonly counts?: readonly GroupTally[];
}

/** The grouping of counts. Each part of a key is a string, or null if the response has no value for it. */
export type Grouping = 'nothing' | 'day-and-engine' | 'day' | 'prompt';

/** Counts for one group of responses. */
export interface GroupTally {
  readonly key: readonly (string | null)[];
  readonly own: MentionCounts;
  /** Tallies by competitor id, for every competitor mentioned in the group, tracked or not. */
  readonly competitors: ReadonlyMap<string, MentionCounts>;
}

/** A part of a key: SQL over a table `t` that `selectionConditions` applies to, and SQL of its text. */
interface KeyPart {
  readonly sql: string;
  text(column: string): string;
}

const DAY: KeyPart = {
  sql: `CAST(${utc('t.created_at')} AS DATE)`,
  text: (column) => `strftime(${column}, '%Y-%m-%d')`,
};

const keys: Readonly<Record<Grouping, readonly KeyPart[]>> = {
  nothing: [],
  'day-and-engine': [DAY, { sql: 't.engine', text: (column) => column }],
  day: [DAY],
  prompt: [{ sql: 't.prompt_id', text: (column) => `CAST(${column} AS VARCHAR)` }],
};

/**
 * Counts the selected responses by group for the brand and every competitor. All values are counts or sums of integers, so the
 * tallies of groups can be added: if only days and engines select the responses, counts that were read before are added.
 */
export async function tally(query: Query, selection: Selection, grouping: Grouping): Promise<readonly GroupTally[]> {
  const groups =
    addDayCounts(selection, grouping) ??
    groupsOf(await query(...statementOf(selection, grouping)), selection, grouping);
  // Responses that are not grouped have a tally even if there are none.
  return grouping === 'nothing' && groups.length === 0 ? [sumTallies([], selection.counting)] : groups;
}

/** Counts the selected responses by group for the brand only. */
export async function tallyBrand(query: Query, selection: Selection, grouping: Grouping): Promise<GroupTally[]> {
  return groupsOf(await query(...statementOf(selection, grouping, 'brand')), selection, grouping);
}

const FIRST_DAY = '0001-01-01';

/** Counts of a brand by day and engine, for `counts` of selections with the same conventions; null if there are more than `countsMax`. */
export async function readDayCounts(
  query: Query,
  brand: Omit<Selection, 'from' | 'to' | 'declared' | 'values'>,
  countsMax: number,
): Promise<GroupTally[] | null> {
  const everything = { ...brand, from: FIRST_DAY, to: DAY_MAX, declared: {}, values: {} };
  const [sql, parameters] = statementOf(everything, 'day-and-engine');
  const rows = await query(`${sql} LIMIT ${countsMax + 1}`, parameters);
  return rows.length > countsMax ? null : groupsOf(rows, everything, 'day-and-engine');
}

// Returns null if the counts by day and engine cannot answer the selection.
function addDayCounts(selection: Selection, grouping: Grouping): GroupTally[] | null {
  const { catalogue, brandId, from, to, declared, values, counts, counting } = selection;
  const { engine, ...others } = values;
  const target = { catalogue, table: answerTables(catalogue).answers, alias: 't', brandId };
  const isOfPrompts = parameterConditions(target, declared, others, createBindings()).length > 0;
  if (counts === undefined || grouping === 'prompt' || isOfPrompts) return null;
  const selected = counts.filter(
    ({ key: [day, slug] }) => from <= String(day) && String(day) <= to && (engine === undefined || slug === engine),
  );
  if (grouping === 'day-and-engine') return selected;
  if (grouping === 'nothing') return [sumTallies(selected, counting)];
  const days = new Map<string, GroupTally[]>();
  for (const group of selected) {
    const day = String(group.key[0]);
    days.set(day, [...(days.get(day) ?? []), group]);
  }
  return [...days].map(([day, groups]) => ({ ...sumTallies(groups, counting), key: [day] }));
}

/** Adds the tallies of groups. */
export function sumTallies(groups: readonly GroupTally[], { labels }: Pick<Counting, 'labels'>): GroupTally {
  const own = emptySum(labels);
  const rivals = new Map<string, Sum>();
  for (const group of groups) {
    add(own, group.own);
    for (const [id, counts] of group.competitors) {
      const sum = rivals.get(id) ?? emptySum(labels);
      rivals.set(id, sum);
      add(sum, counts);
    }
  }
  const competitors = [...rivals].map(([id, sum]): [string, MentionCounts] => [id, countsOf(sum, own.responses)]);
  return { key: [], own: countsOf(own), competitors: new Map(competitors) };
}

/** Adds the counts of one entity in several groups. */
export function sumCounts(all: readonly MentionCounts[], { labels }: Pick<Counting, 'labels'>): MentionCounts {
  const sum = emptySum(labels);
  for (const counts of all) add(sum, counts);
  return countsOf(sum);
}

/** Counts that are being added. The sums of `labels` are in `times`. */
interface Sum {
  responses: number;
  mentions: number;
  placed: number;
  places: number;
  readonly labels: readonly string[];
  readonly times: number[];
}

function emptySum(worths: Counting['labels']): Sum {
  const labels = Object.keys(worths);
  return { responses: 0, mentions: 0, placed: 0, places: 0, labels, times: labels.map(() => 0) };
}

function add(sum: Sum, { responses, mentions, positions, labels }: MentionCounts): void {
  sum.responses += responses;
  sum.mentions += mentions;
  sum.placed += positions.count;
  sum.places += positions.sum;
  for (let index = 0; index < sum.times.length; index++)
    sum.times[index] = (sum.times[index] ?? 0) + (labels[sum.labels[index] ?? ''] ?? 0);
}

function countsOf(sum: Sum, responses = sum.responses): MentionCounts {
  const labels = Object.fromEntries(sum.labels.map((label, index) => [label, sum.times[index] ?? 0]));
  return { responses, mentions: sum.mentions, positions: { count: sum.placed, sum: sum.places }, labels };
}

/** Whether a response may list a competitor twice, because one has. */
export function mayRepeatMentions(shapes: Shapes): boolean {
  return shapes.get('responses', repeatsForm('competitors')) !== null;
}

/** Returns the tables of responses, their competitor mentions and their citations. */
export function answerTables(catalogue: Catalogue): {
  readonly answers: ResourceTable;
  readonly competitors: ChildTable;
  readonly citations: ChildTable;
} {
  const answers = catalogue.get('responses').derived[0] as ResourceTable;
  return { answers, competitors: childOf(answers, 'competitors'), citations: childOf(answers, 'citations') };
}

/** Returns SQL conditions for a selection. Table `t` holds responses, or repeats their prompt, engine and time. */
export function selectionConditions(selection: Selection, bindings: Bindings): string[] {
  const { catalogue, brandId, declared, values } = selection;
  const keepsDeleted = selection.counting.deletedPrompts === 'stay';
  const target = { catalogue, table: answerTables(catalogue).answers, alias: 't', brandId, keepsDeleted };
  return [
    ...liveConditions('t', brandId, bindings),
    rangeCondition('t.created_at', selection, bindings),
    ...parameterConditions(target, declared, values, bindings),
    ...promptConditions(selection, bindings),
  ];
}

function promptConditions(selection: Selection, bindings: Bindings): string[] {
  const { catalogue, brandId } = selection;
  const counted = selection.counting.countedResponses;
  if (counted === 'all') return [];
  const prompts = catalogue.get('prompts').derived[0] as ResourceTable;
  const active = counted === 'active' ? ['x.active IS DISTINCT FROM false'] : [];
  const where = [...liveConditions('x', brandId, bindings), ...active].join(' AND ');
  return [`t.prompt_id IN (SELECT x.id FROM ${quoted(prompts.name)} x WHERE ${where})`];
}

type Statement = [sql: string, parameters: Bindings['values']];

/** The order of the mentions of one competitor in one response; only the first one counts. */
const MENTION_ORDERS: Readonly<Record<Exclude<Conventions['repeatedMentions'], 'each'>, string>> = {
  first: 't.ordinal',
  best: 't.position NULLS LAST, t.ordinal',
};

// Returns one row per group and entity, the brand as null. Counts by label first and then pivots the few remaining rows: a filtered
// count scans every row, and a distinct count costs far more.
function statementOf(selection: Selection, grouping: Grouping, entities: 'all' | 'brand' = 'all'): Statement {
  const bindings = createBindings();
  const by = keys[grouping];
  const key = by.map(({ sql }, index) => `${sql} AS key${index}, `).join('');
  const where = selectionConditions(selection, bindings).join(' AND ');
  const { mention_count, placed_count, position_sum } = responseSums;
  const [mentioned, position] = ['t.brand_mentioned', 't.brand_position'];
  const own = `SELECT ${key}CAST(NULL AS UUID) AS competitor_id, t.brand_sentiment AS label, count(*) AS responses,
      ${mention_count(mentioned)} AS mentions, ${placed_count(mentioned, position)} AS placed, ${position_sum(mentioned, position)} AS places
    FROM ${quoted(answerTables(selection.catalogue).answers.name)} t WHERE ${where} GROUP BY ALL`;
  const rivals = `SELECT ${key}t.competitor_id, t.sentiment, 0, count(*), ${placed_count('true', 't.position')}, ${position_sum('true', 't.position')}
    FROM ${mentionSource(selection, `${where} AND t.competitor_id IS NOT NULL`)} GROUP BY ALL`;
  const labels = Object.keys(selection.counting.labels).map((label) => {
    // The empty label stands for mentions without a label.
    const column = label === '' ? "coalesce(label, '')" : 'label';
    return `CAST(coalesce(sum(mentions) FILTER (${column} = ${bindings.bind(label)}), 0) AS BIGINT)`;
  });
  const sums = ['responses', 'mentions', 'placed', 'places'].map((name) => `CAST(sum(${name}) AS BIGINT)`);
  const texts = by.map(({ text }, index) => text(`key${index}`));
  const columns = [...texts, 'CAST(competitor_id AS VARCHAR)', ...sums, ...labels].join(', ');
  const counted = entities === 'brand' ? own : `${own} UNION ALL ${rivals}`;
  return [
    `SELECT ${columns} FROM (${counted}) GROUP BY ${by.map((_, index) => `key${index}, `).join('')}competitor_id`,
    bindings.values,
  ];
}

// Mentions in a group without responses are left out.
function groupsOf(rows: readonly unknown[][], { counting }: Selection, grouping: Grouping): GroupTally[] {
  const width = keys[grouping].length;
  const groups = new Map<string, GroupTally & { readonly competitors: Map<string, MentionCounts> }>();
  // Equal ids are the same string, because maps compare others by their characters.
  const ids = new Map<string, string>();
  const labels = Object.keys(counting.labels);
  const countsIn = (row: readonly unknown[], responses: number): MentionCounts => {
    const [mentions = 0, placed = 0, places = 0, ...times] = row.slice(width + 2) as number[];
    return countsOf({ responses, mentions, placed, places, labels, times });
  };
  const [own, mentions] = [rows.filter((row) => row[width] === null), rows.filter((row) => row[width] !== null)];
  for (const row of own) {
    const key = row.slice(0, width) as (string | null)[];
    groups.set(JSON.stringify(key), { key, own: countsIn(row, Number(row[width + 1])), competitors: new Map() });
  }
  for (const row of mentions) {
    const group = groups.get(JSON.stringify(row.slice(0, width)));
    const id = ids.get(String(row[width])) ?? String(row[width]);
    ids.set(id, id);
    group?.competitors.set(id, countsIn(row, group.own.responses));
  }
  return [...groups.values()];
}

/** Returns SQL of the counted mentions `t` of competitors that match a condition. */
function mentionSource(selection: Pick<Selection, 'catalogue' | 'mayRepeat' | 'counting'>, where: string): string {
  const table = `${quoted(answerTables(selection.catalogue).competitors.name)} t`;
  const repeatedMentions = selection.mayRepeat ? selection.counting.repeatedMentions : 'each';
  if (repeatedMentions === 'each') return `${table} WHERE ${where}`;
  return `(SELECT DISTINCT ON (t.response_id, t.competitor_id) t.* FROM ${table} WHERE ${where}
    ORDER BY t.response_id, t.competitor_id, ${MENTION_ORDERS[repeatedMentions]}) t`;
}
