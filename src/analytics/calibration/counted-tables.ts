import { literal } from '../../warehouse/schema.ts';
import type { Conventions } from './conventions.ts';

/** Conventions that decide which rows count in upstream's numbers. */
export type CountedRows = Pick<Conventions, 'countedResponses' | 'currentDay' | 'repeatedMentions' | 'citationCount'>;

/** SQL for the rows that count. */
export interface CountedTables {
  /** Table expressions of responses, and of their mentions of competitors and their citations. */
  readonly responses: string;
  readonly mentions: string;
  readonly citations: string;
  /** Number of the mentions `t` of a competitor. */
  readonly mentionCount: string;
  /** Number of the citations `t` of a domain. */
  readonly citationCount: string;
}

/** Returns the SQL for the rows that count. `today` is upstream's current day. */
export function countedTables(counted: CountedRows, today: string): CountedTables {
  const { countedResponses, currentDay, repeatedMentions, citationCount } = counted;
  const active = countedResponses === 'active' ? ' AND p.active IS DISTINCT FROM false' : '';
  const conditions = [
    ...(countedResponses === 'all'
      ? []
      : [`prompt_id IN (SELECT p.id FROM prompts p WHERE p._deleted_at IS NULL${active})`]),
    ...(currentDay === 'counted' ? [] : [`created_at < CAST(${literal(today)} AS DATE)`]),
  ];
  const from = (table: string): string =>
    conditions.length === 0 ? table : `(SELECT * FROM ${table} WHERE ${conditions.join(' AND ')})`;
  return {
    responses: from('responses'),
    mentions: from('response_competitors'),
    citations: from('response_citations'),
    mentionCount: repeatedMentions === 'each' ? 'count(*)' : 'count(DISTINCT t.response_id)',
    citationCount: {
      each: 'count(*)',
      pages: 'count(DISTINCT (t.response_id, t.url))',
      responses: 'count(DISTINCT t.response_id)',
    }[citationCount],
  };
}
