import type { Ask, Result } from './plan.ts';

/** A question that takes several calls, for the documentation. The answer is written from the results. */
export interface Conversation {
  readonly title: string;
  readonly question: string;
  readonly plan: (ask: Ask) => Promise<string>;
}

function percent(share: number): string {
  return `${(Math.round(1_000 * share) / 10).toFixed(1)} %`;
}

/** Conversations with the first world. */
export const conversations: readonly Conversation[] = [
  {
    title: 'A brief for Monday',
    question: 'How did our brands do in the last four weeks, and what happened?',
    plan: async (ask) => {
      const values = { metrics: ['visibility'], group_by: ['brand'], compare_to: 'previous' };
      const { rows } = await ask('query_metrics', values);
      const kind = ['prompt_lost', 'source_added', 'prompt_paused', 'competitor_removed'];
      const { changes } = await ask('what_changed', { since: '2026-02-16', kind });
      const lines = rows.map(
        (row: Result) =>
          `${row.brand}: visibility ${percent(row.visibility)} (95 % interval ${row.visibility_interval.map(percent).join(' to ')}, n = ${row.visibility_n}), before ${percent(row.visibility_before)}; the change is ${row.visibility_significant ? 'significant' : 'within noise'}.`,
      );
      return [...lines, `Events: ${changes.map((one: Result) => one.sentence).join(' ')}`].join(' ');
    },
  },
  {
    title: 'The cause of a change',
    question: 'Why did the visibility of Kavárna fall? Show me an example.',
    plan: async (ask) => {
      const { causes } = await ask('explain_change', { metric: 'visibility', brand: 'Kavárna' });
      const engine = /^Engine ([\w-]+)/.exec(causes[0].sentence)?.[1];
      const values = { brandId: 'Kavárna', engine, brandMentioned: false, limit: 1 };
      const { data } = await ask('list_responses', values);
      return `${causes[0].sentence} An example is response ${data[0].id}; ${causes[0].evidence.length} more are listed as evidence.`;
    },
  },
  {
    title: 'A trend over several brands and engines',
    question: 'Show the weekly visibility of both brands by engine over the last 12 weeks.',
    plan: async (ask) => {
      const values = { metrics: ['visibility'], group_by: ['brand', 'engine'], grain: 'week', from: '2025-12-22' };
      const { rows } = await ask('query_metrics', values);
      const lowest = rows.toSorted((one: Result, other: Result) => one.visibility - other.visibility)[0];
      return `A table of ${rows.length} numbers. The lowest is ${percent(lowest.visibility)} of ${lowest.visibility_n} responses: ${lowest.brand} on ${lowest.engine} in the week of ${lowest.period}.`;
    },
  },
  {
    title: 'Next steps',
    question: 'Where should Orbit act next?',
    plan: async (ask) => {
      const { opportunities } = await ask('find_opportunities', { brand: 'Orbit', limit: 3 });
      const prompt = opportunities.find(({ kind }: Result) => kind === 'competitor_wins');
      const where = { prompt: prompt.id };
      const values = { metrics: ['share_of_voice'], group_by: ['entity'], brand: 'Orbit', where };
      const { rows } = await ask('query_metrics', { ...values, order: ['-share_of_voice'], limit: 3 });
      const leaders = rows.map((row: Result) => `${row.entity} ${percent(row.share_of_voice)}`).join(', ');
      return `${prompt.sentence} Share of voice on this prompt: ${leaders}.`;
    },
  },
  {
    title: 'A question that needs SQL',
    question: 'How long are our finished articles on average, by type?',
    plan: async (ask) => {
      await ask('list_tables', { search: 'article' });
      const wrong = 'SELECT type, avg(words) FROM mart.fct_article GROUP BY type';
      await ask('query', { sql: wrong });
      await ask('describe_table', { table: 'mart.fct_article' });
      const { rows } = await ask('query', {
        sql: "SELECT type, count(*)::INTEGER AS n, round(avg(word_count)) AS words FROM mart.fct_article WHERE status = 'completed' GROUP BY type ORDER BY type",
      });
      return rows.map((row: Result) => `${row.type}: ${row.words} words (n = ${row.n}).`).join(' ');
    },
  },
];
