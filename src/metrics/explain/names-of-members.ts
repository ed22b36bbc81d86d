import type { Query } from '../../warehouse/database.ts';
import type { Dimension } from './causes.ts';
import type { Cell } from './sums.ts';

/** Names of prompts, topics and competitors of a brand. */
export interface Names {
  /** Current or last topic of each prompt. */
  readonly topicOf: ReadonlyMap<string, string | null>;
  readonly competitors: ReadonlyMap<string, string>;
  nameOf(dimension: Dimension, id: string | null): string;
  /** Returns the compared prompts of a topic; null selects prompts without a topic. */
  promptsOf(topicId: string | null): string[];
  /** Returns the prompts with data in only one period. */
  onlyIn(isAfter: boolean): string[];
}

/** Reads the names of the compared prompts, their topics, and the competitors. */
export async function readNames(query: Query, brandId: string, cells: readonly Cell[]): Promise<Names> {
  const ids = [...new Set(cells.flatMap(({ promptId }) => promptId ?? []))];
  const prompts = await query(
    `SELECT CAST(prompt_id AS VARCHAR), text, CAST(topic_id AS VARCHAR), topic_name FROM mart.dim_prompt
     WHERE brand_id = CAST($1 AS UUID)`,
    [brandId],
  );
  const competitors = await query(
    'SELECT CAST(competitor_id AS VARCHAR), name FROM mart.dim_competitor WHERE brand_id = CAST($1 AS UUID)',
    [brandId],
  );
  const engines = new Map(
    (await query('SELECT engine, name FROM mart.dim_engine')).map(([engine, name]) => [
      String(engine),
      name as string | null,
    ]),
  );
  const texts = new Map(prompts.map(([id, text]) => [String(id), text as string | null]));
  const topics = new Map(prompts.map(([, , id, name]) => [String(id), name as string | null]));
  const topicOf = new Map(prompts.map(([id, , topic]) => [String(id), topic as string | null]));
  const named: Readonly<Record<Dimension, (id: string) => string>> = {
    engine: (id) => engines.get(id) ?? id,
    topic: (id) => topics.get(id) ?? id,
    prompt: (id) => texts.get(id) ?? id,
  };
  return {
    topicOf,
    competitors: new Map(competitors.map(([id, name]) => [String(id), String(name ?? id)])),
    nameOf: (dimension, id) => (id === null ? `(no ${dimension})` : named[dimension](id)),
    promptsOf: (topicId) => ids.filter((id) => (topicOf.get(id) ?? null) === topicId),
    onlyIn: (isAfter) => {
      const has = (id: string, side: 'before' | 'after'): boolean =>
        cells.some((cell) => cell.promptId === id && cell[side].x > 0);
      return ids.filter((id) => has(id, isAfter ? 'after' : 'before') && !has(id, isAfter ? 'before' : 'after'));
    },
  };
}
