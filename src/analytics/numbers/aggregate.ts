import type { Catalogue } from '../../contract/catalogue.ts';
import { repeatsForm } from '../../contract/formats.ts';
import type { Parameters } from '../../contract/parameters.ts';
import type { Query as Values } from '../../contract/query-parameters.ts';
import type { ChildTable, ResourceTable } from '../../contract/tables.ts';
import { earlierDay } from '../../contract/time.ts';
import {
  type Bindings,
  childOf,
  createBindings,
  liveConditions,
  parameterConditions,
  rangeCondition,
} from '../../warehouse/conditions.ts';
import type { Query } from '../../warehouse/database.ts';
import { quoted, utc } from '../../warehouse/schema.ts';
import { type Conventions, defaultConventions } from '../calibration/conventions.ts';
import { responseSums } from '../model/response-sums.ts';
import type { MentionCounts } from './definitions.ts';

/** Conventions that decide which responses and mentions count. */
export type Counting = Pick<Conventions, 'countedResponses' | 'deletedPrompts' | 'repeatedMentions'>;

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
  /** Counts of the brand in memory; selections that they cannot answer are counted with SQL. Default: none. */
  readonly counts?: DayCounts;
  /** Default: every response and its first mentions count. */
  readonly counting?: Counting;
  /** The last day that is counted, even if `to` is later. */
  readonly lastDay?: string;
}

/** Counts of a brand in memory, by day and engine. They answer selections of any days, with or without one engine. */
export interface DayCounts {
  /** Number of counts; each takes about 150 bytes. */
  readonly cells: number;
  /** Counts like `tally` with SQL; null if the selection or the grouping depends on more than days and engines. */
  tally(selection: Selection, grouping: Grouping, labels: readonly string[]): GroupTally[] | null;
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

/** SQL of the parts of keys, for a table `t` that `selectionConditions` applies to. */
export const keyParts = { day: `strftime(${utc('t.created_at')}, '%Y-%m-%d')`, engine: 't.engine' } as const;

const keys: Readonly<Record<Grouping, readonly string[]>> = {
  nothing: [],
  'day-and-engine': [keyParts.day, keyParts.engine],
  day: [keyParts.day],
  prompt: ['CAST(t.prompt_id AS VARCHAR)'],
};

/**
 * Counts the selected responses by group for the brand and every competitor, with mentions per sentiment label in
 * `labels`. All values are counts or sums of integers, so the tallies of groups can be added.
 */
export async function tally(
  query: Query,
  selection: Selection,
  grouping: Grouping,
  labels: readonly string[],
): Promise<GroupTally[]> {
  const counted = selection.counts?.tally(selection, grouping, labels) ?? null;
  if (counted !== null) return counted;
  const by = keys[grouping];
  const own = await tallyBrand(query, selection, grouping, labels);
  const groups = new Map(
    own.map((group) => [JSON.stringify(group.key), { ...group, competitors: new Map<string, MentionCounts>() }]),
  );
  for (const row of await query(...competitorStatement(selection, by, labels))) {
    const group = groups.get(JSON.stringify(row.slice(0, by.length)));
    const [competitorId, mentions, ...rest] = row.slice(by.length) as [string, number, ...number[]];
    group?.competitors.set(competitorId, toTally(group.own.responses, mentions, rest, labels));
  }
  return [...groups.values()];
}

/** Counts the selected responses by group for the brand only. */
export async function tallyBrand(
  query: Query,
  selection: Selection,
  grouping: Grouping,
  labels: readonly string[],
): Promise<Pick<GroupTally, 'key' | 'own'>[]> {
  const by = keys[grouping];
  const rows = await query(...ownStatement(selection, by, labels));
  return rows.map((row) => {
    const [responses = 0, mentions = 0, ...rest] = row.slice(by.length) as number[];
    return { key: row.slice(0, by.length) as (string | null)[], own: toTally(responses, mentions, rest, labels) };
  });
}

/** The recorded response form that shows that a response may list a competitor twice. */
export const REPEATED_MENTIONS = { resource: 'responses', form: repeatsForm('competitors') } as const;

/** Returns the tables of responses, their competitor mentions and their citations. */
export function answerTables(catalogue: Catalogue): {
  readonly answers: ResourceTable;
  readonly competitors: ChildTable;
  readonly citations: ChildTable;
} {
  const answers = catalogue.get('responses').derived[0] as ResourceTable;
  return { answers, competitors: childOf(answers, 'competitors'), citations: childOf(answers, 'citations') };
}

/** Returns the first and the last day that count. */
export function selectedDays({ from, to, lastDay = to }: Selection): { readonly from: string; readonly to: string } {
  return { from, to: earlierDay(to, lastDay) };
}

/** Returns SQL conditions for a selection. Table `t` holds responses, or repeats their prompt, engine and time. */
export function selectionConditions(selection: Selection, bindings: Bindings): string[] {
  const { catalogue, brandId, declared, values } = selection;
  const keepsDeleted = countingOf(selection).deletedPrompts === 'stay';
  const target = { catalogue, table: answerTables(catalogue).answers, alias: 't', brandId, keepsDeleted };
  return [
    ...liveConditions('t', brandId, bindings),
    rangeCondition('t.created_at', selectedDays(selection), bindings),
    ...parameterConditions(target, declared, values, bindings),
    ...promptConditions(selection, bindings),
  ];
}

/** Returns the conventions by which a selection counts. */
export function countingOf({ counting = defaultConventions }: Pick<Selection, 'counting'>): Counting {
  return counting;
}

function promptConditions(selection: Selection, bindings: Bindings): string[] {
  const { catalogue, brandId } = selection;
  const counted = countingOf(selection).countedResponses;
  if (counted === 'all') return [];
  const prompts = catalogue.get('prompts').derived[0] as ResourceTable;
  const active = counted === 'active' ? ['x.active IS DISTINCT FROM false'] : [];
  const where = [...liveConditions('x', brandId, bindings), ...active].join(' AND ');
  return [`t.prompt_id IN (SELECT x.id FROM ${quoted(prompts.name)} x WHERE ${where})`];
}

type Statement = [sql: string, parameters: Bindings['values']];

function ownStatement(selection: Selection, by: readonly string[], labels: readonly string[]): Statement {
  const bindings = createBindings();
  const { answers } = answerTables(selection.catalogue);
  const { mention_count, placed_count, position_sum, label_count } = responseSums;
  const [mentioned, position] = ['t.brand_mentioned', 't.brand_position'];
  const columns = [
    ...by,
    'count(*)',
    mention_count(mentioned),
    placed_count(mentioned, position),
    position_sum(mentioned, position),
    ...labels.map((label) => label_count(mentioned, labelled('t.brand_sentiment', label), bindings.bind(label))),
  ];
  const where = selectionConditions(selection, bindings).join(' AND ');
  const groupBy = by.length === 0 ? '' : ` GROUP BY ${by.map((_, index) => index + 1).join(', ')}`;
  return [`SELECT ${columns.join(', ')} FROM ${quoted(answers.name)} t WHERE ${where}${groupBy}`, bindings.values];
}

// The empty label stands for mentions without a label.
function labelled(column: string, label: string): string {
  return label === '' ? `coalesce(${column}, '')` : column;
}

/** The order of the mentions of one competitor in one response; only the first one counts. */
const MENTION_ORDERS: Readonly<Record<Exclude<Conventions['repeatedMentions'], 'each'>, string>> = {
  first: 't.ordinal',
  best: 't.position NULLS LAST, t.ordinal',
};

// Groups by label first, then pivots the few remaining rows. A filtered count scans every row, and a distinct count
// costs far more.
function competitorStatement(selection: Selection, by: readonly string[], labels: readonly string[]): Statement {
  const bindings = createBindings();
  const keyNames = by.map((_, index) => `key${index}`);
  const conditions = [...selectionConditions(selection, bindings), 't.competitor_id IS NOT NULL'];
  const source = mentionSource(selection, conditions.join(' AND '));
  const counted = `SELECT ${by.map((key, index) => `${key} AS ${keyNames[index]}, `).join('')}t.competitor_id, t.sentiment,
      count(*) AS mentions, count(t.position) AS placed, sum(t.position) AS places
    FROM ${source} GROUP BY ALL`;
  const columns = [
    ...keyNames,
    'CAST(competitor_id AS VARCHAR)',
    'CAST(sum(mentions) AS BIGINT)',
    'CAST(sum(placed) AS BIGINT)',
    'CAST(coalesce(sum(places), 0) AS BIGINT)',
    ...labels.map((label) => {
      const times = `sum(mentions) FILTER (${labelled('sentiment', label)} = ${bindings.bind(label)})`;
      return `CAST(coalesce(${times}, 0) AS BIGINT)`;
    }),
  ];
  const grouped = [...keyNames, 'competitor_id'].join(', ');
  return [`SELECT ${columns.join(', ')} FROM (${counted}) GROUP BY ${grouped}`, bindings.values];
}

/** Returns SQL of the counted mentions `t` of competitors that match a condition. */
export function mentionSource(
  selection: Pick<Selection, 'catalogue' | 'mayRepeat' | 'counting'>,
  where: string,
): string {
  const table = `${quoted(answerTables(selection.catalogue).competitors.name)} t`;
  const { repeatedMentions } = countingOf(selection);
  if (!selection.mayRepeat || repeatedMentions === 'each') return `${table} WHERE ${where}`;
  return `(SELECT DISTINCT ON (t.response_id, t.competitor_id) t.* FROM ${table} WHERE ${where}
    ORDER BY t.response_id, t.competitor_id, ${MENTION_ORDERS[repeatedMentions]}) t`;
}

function toTally(
  responses: number,
  mentions: number,
  [count = 0, sum = 0, ...times]: readonly number[],
  labels: readonly string[],
): MentionCounts {
  return {
    responses,
    mentions,
    positions: { count, sum },
    labels: Object.fromEntries(labels.map((label, index) => [label, times[index] ?? 0])),
  };
}
