// Comparisons, causes, events and opportunities.
import { byGroup, groups, mean, mentions, select, visibility } from '../naive.ts';
import { type Ask, calls, type EvaluatedQuestion, type Result } from '../plan.ts';
import {
  BOTH,
  before,
  CAFE,
  ENGINES_OF_MAIN,
  type EvaluatedWorld,
  month,
  ORBIT,
  PLANTED,
  type RawResponse,
  TODAY,
  YESTERDAY,
} from '../worlds.ts';

const SINCE = '2026-03-09';
const SINCE_MS = Date.parse(SINCE);
/** Scores with p = 0.05, and p = 0.05 / 6: with six prompts, greater scores are significant after any correction. */
const Z = 1.96;
const Z_OF_SIX = 2.64;
const PAGES_MAX = 1_000;

/** Reads all responses of a brand with the endpoint, page by page. */
export async function readResponses(ask: Ask, values: Readonly<Record<string, unknown>>): Promise<Result[]> {
  const all: Result[] = [];
  let cursor: string | null | undefined;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const found = await ask('list_responses', { ...values, limit: 100, ...(cursor == null ? {} : { cursor }) });
    all.push(...found.data);
    cursor = found.nextCursor;
    if (cursor == null) return all;
  }
  throw new Error('list_responses returns pages without end');
}

/** The statistic of the score test of two shares. */
function scoreOf(one: readonly RawResponse[], other: readonly RawResponse[]): number {
  const [n, m] = [one.length, other.length];
  const pooled = (mentions(one) + mentions(other)) / (n + m);
  return Math.abs(mentions(one) / n - mentions(other) / m) / Math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m));
}

function isClearChange(one: readonly RawResponse[], other: readonly RawResponse[]): boolean {
  return isClear(scoreOf(one, other));
}

function isClearMove(one: readonly number[], other: readonly number[]): boolean {
  const average = (all: readonly number[]): number => all.reduce((sum, value) => sum + value, 0) / all.length;
  const errorOf = (all: readonly number[]): number =>
    all.reduce((sum, value) => sum + (value - average(all)) ** 2, 0) / (all.length - 1) / all.length;
  return isClear(Math.abs(average(one) - average(other)) / Math.sqrt(errorOf(one) + errorOf(other)));
}

/** Significant far beyond any correction, or clearly not; a case between would be a bad question. */
function isClear(score: number): boolean {
  if (score > 1.5 && score < 3.5) throw new Error(`the change is neither clear nor noise: ${score}`);
  return score >= 3.5;
}

export const changeQuestions: readonly EvaluatedQuestion[] = [
  {
    id: 'compare-brands',
    question: 'Did the visibility of our brands change against the four weeks before, and is it more than noise?',
    world: 'main',
    plan: async (ask) => {
      const values = { metrics: ['visibility'], group_by: ['brand'], compare_to: 'previous' };
      const { rows } = await ask('query_metrics', values);
      return Object.fromEntries(
        rows.map((row: Result) => [row.brand, [row.visibility, row.visibility_before, row.visibility_significant]]),
      );
    },
    known: (world) =>
      Object.fromEntries(
        BOTH.map((brand) => {
          const [now, then] = [select(world, { brand, ...month }), select(world, { brand, ...before })];
          return [brand, [visibility(now), visibility(then), isClearChange(now, then)]];
        }),
      ),
    upstream: {
      plan: calls('get_metrics', ...BOTH.flatMap((brandId) => [month, before].map((range) => ({ brandId, ...range })))),
      lacks: 'the test',
    },
  },
  {
    id: 'changed-engines',
    question: 'On which engines did the visibility of Kavárna change significantly?',
    world: 'main',
    plan: async (ask) => {
      const values = { metrics: ['visibility'], group_by: ['engine'], brand: 'Kavárna', compare_to: 'previous' };
      const { rows } = await ask('query_metrics', values);
      return rows
        .filter((row: Result) => row.visibility_significant === true)
        .map((row: Result) => [row.engine, row.visibility_before, row.visibility]);
    },
    known: (world) => {
      const now = groups(select(world, { brand: CAFE, ...month }), ({ engine }) => [engine]);
      const then = groups(select(world, { brand: CAFE, ...before }), ({ engine }) => [engine]);
      return [...now]
        .filter(([engine, all]) => isClearChange(all, then.get(engine) ?? []))
        .map(([engine, all]) => [engine, visibility(then.get(engine) ?? []), visibility(all)]);
    },
    upstream: {
      plan: calls(
        'get_metrics',
        ...ENGINES_OF_MAIN.flatMap((engine) => [month, before].map((range) => ({ brandId: CAFE, engine, ...range }))),
      ),
      lacks: 'the tests',
    },
  },
  {
    id: 'why-it-fell',
    question: 'Why did the visibility of Kavárna fall?',
    world: 'main',
    plan: async (ask) => {
      const { causes } = await ask('explain_change', { metric: 'visibility', brand: 'Kavárna', ...month });
      const shares = /^Engine ([\w-]+): visibility fell from ([\d.]+) % to ([\d.]+) % \((\d+) and (\d+) responses\)/;
      const [, engine, was, is, nBefore, nAfter] = shares.exec(causes[0].sentence) ?? [];
      return [engine, was, is, nBefore, nAfter, causes[0].evidence.length];
    },
    known: (world) => {
      const of = (range: typeof month): RawResponse[] =>
        select(world, { brand: CAFE, ...range }, ({ engine }) => engine === PLANTED.engine);
      const percent = (all: RawResponse[]): string => ((100 * mentions(all)) / all.length).toFixed(1);
      const [then, now] = [of(before), of(month)];
      return [PLANTED.engine, percent(then), percent(now), String(then.length), String(now.length), 5];
    },
    upstream: {
      plan: async (ask) => readResponses(ask, { brandId: CAFE, from: before.from, to: month.to }),
      lacks: 'the decomposition and its tests, which the agent has to compute',
    },
  },
  {
    id: 'only-noise',
    question: 'The position of Kavárna moved. Is there a reason?',
    world: 'labs',
    plan: async (ask) => {
      const values = { metric: 'position', brand: 'Kavárna', ...month };
      const { total, causes } = await ask('explain_change', values);
      return [total.before, total.after, total.verdict === 'significant', causes.length];
    },
    known: (world) => {
      const positions = (range: typeof month): number[] =>
        select(world, { brand: CAFE, ...range })
          .filter(({ mentioned }) => mentioned)
          .flatMap(({ position }) => (position === null ? [] : [position]));
      const now = positions(month);
      const then = positions(before);
      return [mean(then), mean(now), isClearMove(now, then), 0];
    },
    upstream: {
      plan: calls('get_metrics', { brandId: CAFE, ...month }, { brandId: CAFE, ...before }),
      lacks: 'the test and the causes',
    },
  },
  {
    id: 'prompts-lost',
    question: 'Which prompts did Orbit lose in the last month?',
    world: 'main',
    plan: async (ask) => {
      const { changes } = await ask('what_changed', { since: '2026-02-10', brand: 'Orbit', kind: ['prompt_lost'] });
      return changes.map(({ ids }: Result) => ids.promptId).sort();
    },
    known: ({ brands }) => {
      const prompts = brands[1]?.prompts ?? [];
      return [prompts[PLANTED.lost]?.id, prompts[PLANTED.won]?.id].sort();
    },
    upstream: {
      plan: calls('get_prompt_metrics', { brandId: ORBIT, ...month }, { brandId: ORBIT, ...before }),
      lacks: 'the test',
    },
  },
  {
    id: 'since-yesterday',
    question: 'What was edited since yesterday: prompts, competitors, articles, threads, actions?',
    world: 'main',
    plan: async (ask) => {
      const kind = ['prompt_paused', 'competitor_removed', 'article_state', 'thread_state', 'action_done'];
      const { counts } = await ask('what_changed', { since: YESTERDAY, kind });
      return counts;
    },
    known: ({ changed }) => {
      const count = (kind: string): number =>
        changed.filter((one) => one.kind === kind).reduce((sum, { ids }) => sum + ids.length, 0);
      return {
        prompt_paused: count('pausedPrompts'),
        competitor_removed: count('deletedCompetitors'),
        article_state: count('articleProgress'),
        thread_state: count('forumStatusChanges'),
        action_done: count('actionsDone'),
      };
    },
  },
  {
    id: 'new-sources',
    question: 'Which sources do engines cite for Kavárna for the first time this week?',
    world: 'main',
    plan: async (ask) => {
      const { changes } = await ask('what_changed', { since: SINCE, brand: 'Kavárna', kind: ['source_added'] });
      return changes.map(({ ids }: Result) => ids.domain).sort();
    },
    known: (world) => {
      const domains = ({ pages }: RawResponse): string[] => [...new Set(pages.map(({ domain }) => domain))];
      const earlier = groups(select(world, { brand: CAFE, from: '2025-01-01', to: '2026-03-08' }), domains);
      const counts = byGroup(select(world, { brand: CAFE, from: SINCE, to: TODAY }), domains, (all) => all.length);
      return Object.keys(counts)
        .filter((domain) => !earlier.has(domain) && (counts[domain] ?? 0) >= 3)
        .sort();
    },
    upstream: {
      plan: calls(
        'list_cited_domains',
        { brandId: CAFE, from: SINCE, to: TODAY, limit: 200 },
        { brandId: CAFE, from: '2025-12-17', to: '2026-03-08', limit: 200 },
      ),
    },
  },
  {
    id: 'alerts',
    question: 'Which kinds of alerts were raised since Monday last week?',
    world: 'main',
    plan: async (ask) => {
      const { rows } = await ask('query', {
        sql: `SELECT type, count(*)::INTEGER AS alerts FROM alerts WHERE detected_at >= '${SINCE}' AND _deleted_at IS NULL GROUP BY type`,
      });
      return Object.fromEntries(rows.map((row: Result) => [row.type, row.alerts]));
    },
    known: ({ alerts }) => {
      const found: Record<string, number> = {};
      for (const { type } of alerts.filter(({ atMs }) => atMs >= SINCE_MS)) found[type] = (found[type] ?? 0) + 1;
      return found;
    },
    upstream: { plan: calls('list_alerts', ...BOTH.map((brandId) => ({ brandId }))) },
  },
  {
    id: 'alert-headlines',
    question: 'Read me the alerts of Orbit since Monday last week.',
    world: 'main',
    plan: async (ask) => {
      const { changes } = await ask('what_changed', { since: SINCE, brand: 'Orbit', kind: ['alert'] });
      return changes.map(({ ids }: Result) => ids.alertId);
    },
    known: ({ alerts }) =>
      alerts
        .filter(({ brand, atMs }) => brand === ORBIT && atMs >= SINCE_MS)
        .toSorted((one, other) => other.atMs - one.atMs)
        .map(({ id }) => id),
    upstream: { plan: calls('list_alerts', { brandId: ORBIT }) },
  },
  {
    id: 'source-gap',
    question: 'On which site should Kavárna be named next?',
    world: 'main',
    plan: async (ask) => {
      const values = { brand: 'Kavárna', kind: ['source_gap'], limit: 1 };
      const { opportunities } = await ask('find_opportunities', values);
      return [opportunities[0].id, opportunities[0].n];
    },
    known: (world) => [
      PLANTED.gap,
      select(
        world,
        { brand: CAFE, ...month },
        ({ mentioned, rivals, pages }) =>
          !mentioned && rivals.length > 0 && pages.some(({ domain }) => domain === PLANTED.gap),
      ).length,
    ],
    upstream: {
      plan: async (ask) => readResponses(ask, { brandId: CAFE, brandMentioned: false, ...month }),
      lacks: 'the check that no response with the brand cites the site',
    },
  },
  {
    id: 'prompts-won-by-rivals',
    question: 'Which prompts do competitors win against Orbit?',
    world: 'main',
    plan: async (ask) => {
      const { opportunities } = await ask('find_opportunities', { brand: 'Orbit', kind: ['competitor_wins'] });
      return Object.fromEntries(opportunities.map(({ id, n }: Result) => [id, n]));
    },
    known: (world) => wonByRivals(world, ORBIT),
    upstream: {
      plan: calls('list_action_plans', { brandId: ORBIT }),
      lacks: 'the test; it covers 14 days',
    },
  },
];

// Prompts with a competitor that is mentioned without the brand more often than the brand without it; sign test.
function wonByRivals(world: EvaluatedWorld, brand: string): Record<string, number> {
  const found: Record<string, number> = {};
  for (const [id, all] of groups(select(world, { brand, ...month }), ({ prompt }) => [prompt.id])) {
    const rivals = [...new Set(all.flatMap((one) => one.rivals.map(({ name }) => name)))].map((rival) => {
      const has = ({ rivals: named }: RawResponse): boolean => named.some(({ name }) => name === rival);
      return {
        lost: all.filter((one) => has(one) && !one.mentioned).length,
        won: all.filter((one) => !has(one) && one.mentioned).length,
      };
    });
    const [best] = rivals.toSorted((one, other) => other.lost - other.won - (one.lost - one.won));
    if (best === undefined || best.lost <= best.won) continue;
    const score = (best.lost - best.won - 1) / Math.sqrt(best.lost + best.won);
    if (score > Z && score < Z_OF_SIX) throw new Error(`significance depends on the correction: ${score}`);
    if (score >= Z_OF_SIX) found[id] = best.lost;
  }
  return found;
}
