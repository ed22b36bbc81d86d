import type { Catalogue } from '../contract/catalogue.ts';
import type { Parameters } from '../contract/parameters.ts';
import type { Query as Values } from '../contract/query.ts';
import type { ChildTable, ResourceTable } from '../contract/tables.ts';
import {
  type Bindings,
  childOf,
  createBindings,
  liveConditions,
  parameterConditions,
  rangeCondition,
} from '../warehouse/conditions.ts';
import type { Query } from '../warehouse/replica.ts';
import { quoted } from '../warehouse/schema.ts';
import type { Tally } from './definitions.ts';

/** The answers that are counted: those of a brand and a range that pass the filters of a request. */
export interface Selection {
  readonly catalogue: Catalogue;
  readonly brandId: string;
  readonly from: string;
  readonly to: string;
  readonly declared: Parameters;
  readonly values: Values['values'];
}

/** What answers are grouped by; each key is a text, null where the answer has none. */
export type Grouping = 'nothing' | 'day-and-engine' | 'day' | 'prompt';

/** Counts of one group. */
export interface GroupTally {
  readonly key: readonly (string | null)[];
  readonly own: Tally;
  /** Tallies of the competitors that answers of the group mention, tracked or not, by id. */
  readonly competitors: ReadonlyMap<string, Tally>;
}

const keys: Readonly<Record<Grouping, readonly string[]>> = {
  nothing: [],
  'day-and-engine': [`strftime(t.created_at, '%Y-%m-%d')`, 't.engine'],
  day: [`strftime(t.created_at, '%Y-%m-%d')`],
  prompt: ['CAST(t.prompt_id AS VARCHAR)'],
};

/**
 * Counts the selected answers by group, of the brand and of every competitor, with the mentions of each sentiment
 * label in `labels`. Everything is a count or a sum of whole numbers, so tallies of groups may be added up.
 */
export async function tally(
  query: Query,
  selection: Selection,
  grouping: Grouping,
  labels: readonly string[],
): Promise<GroupTally[]> {
  const groups = new Map<string, { key: (string | null)[]; own: Tally; competitors: Map<string, Tally> }>();
  const by = keys[grouping];
  for (const row of await query(...ownStatement(selection, by, labels))) {
    const key = row.slice(0, by.length) as (string | null)[];
    const [responses, mentions, ...rest] = row.slice(by.length) as number[];
    const own = toTally(responses ?? 0, mentions ?? 0, rest, labels);
    groups.set(JSON.stringify(key), { key, own, competitors: new Map() });
  }
  for (const row of await query(...competitorStatement(selection, by, labels))) {
    const group = groups.get(JSON.stringify(row.slice(0, by.length)));
    const [competitorId, mentions, ...rest] = row.slice(by.length) as [string, number, ...number[]];
    group?.competitors.set(competitorId, toTally(group.own.responses, mentions, rest, labels));
  }
  return [...groups.values()];
}

/** The tables of answers and of what they mention and cite. */
export function answerTables(catalogue: Catalogue): {
  readonly answers: ResourceTable;
  readonly competitors: ChildTable;
  readonly citations: ChildTable;
} {
  const answers = catalogue.get('responses').derived[0] as ResourceTable;
  return { answers, competitors: childOf(answers, 'competitors'), citations: childOf(answers, 'citations') };
}

/** Conditions of a selection, on answers or on a table that repeats their prompt, engine and time. */
export function selectionConditions(selection: Selection, bindings: Bindings): string[] {
  const { catalogue, brandId, declared, values } = selection;
  const target = { catalogue, table: answerTables(catalogue).answers, alias: 't', brandId };
  return [
    ...liveConditions('t', brandId, bindings),
    rangeCondition('t.created_at', selection, bindings),
    ...parameterConditions(target, declared, values, bindings),
  ];
}

type Statement = [sql: string, parameters: Bindings['values']];

function ownStatement(selection: Selection, by: readonly string[], labels: readonly string[]): Statement {
  const bindings = createBindings();
  const { answers } = answerTables(selection.catalogue);
  const columns = [
    ...by,
    'count(*)',
    'count(*) FILTER (t.brand_mentioned)',
    'count(t.brand_position) FILTER (t.brand_mentioned)',
    'CAST(coalesce(sum(t.brand_position) FILTER (t.brand_mentioned), 0) AS BIGINT)',
    ...labels.map((label) => `count(*) FILTER (t.brand_mentioned AND t.brand_sentiment = ${bindings.bind(label)})`),
  ];
  return [statementOf(answers.name, columns, selection, bindings, by.length), bindings.values];
}

function competitorStatement(selection: Selection, by: readonly string[], labels: readonly string[]): Statement {
  const bindings = createBindings();
  const { competitors } = answerTables(selection.catalogue);
  const columns = [
    ...by,
    'CAST(t.competitor_id AS VARCHAR)',
    // An answer mentions a competitor once, however often it lists it.
    'count(DISTINCT t.response_id)',
    'count(t.position)',
    'CAST(coalesce(sum(t.position), 0) AS BIGINT)',
    ...labels.map((label) => `count(*) FILTER (t.sentiment = ${bindings.bind(label)})`),
  ];
  const sql = statementOf(competitors.name, columns, selection, bindings, by.length + 1, 't.competitor_id IS NOT NULL');
  return [sql, bindings.values];
}

function statementOf(
  table: string,
  columns: readonly string[],
  selection: Selection,
  bindings: Bindings,
  grouped: number,
  ...more: readonly string[]
): string {
  const where = [...selectionConditions(selection, bindings), ...more].join(' AND ');
  const places = Array.from({ length: grouped }, (_, index) => index + 1);
  const groupBy = grouped === 0 ? '' : ` GROUP BY ${places.join(', ')}`;
  return `SELECT ${columns.join(', ')} FROM ${quoted(table)} t WHERE ${where}${groupBy}`;
}

function toTally(
  responses: number,
  mentions: number,
  [count = 0, sum = 0, ...times]: readonly number[],
  labels: readonly string[],
): Tally {
  return {
    responses,
    mentions,
    positions: { count, sum },
    labels: Object.fromEntries(labels.map((label, index) => [label, times[index] ?? 0])),
  };
}
