// Sources, traffic, content, completeness, and questions that only SQL answers.
import { byGroup, counts, ranked, round, select, sums, weekOf } from '../naive.ts';
import { calls, column, type EvaluatedQuestion, metric, type Result } from '../plan.ts';
import { BOTH, CAFE, type EvaluatedWorld, LAST_DAY, month, ORBIT, TODAY } from '../worlds.ts';
import { readResponses } from './changes.ts';

const GRANTED = 5_000;

interface Visit {
  readonly date: string;
  readonly source: string;
  readonly sessions: number;
  readonly revenue: number;
}

async function visits({ mirror, brands }: EvaluatedWorld): Promise<readonly Visit[]> {
  const id = brands.find(({ name }) => name === CAFE)?.id;
  const { body } = await mirror.upstream(`/brands/${id}/traffic?from=${month.from}&to=${month.to}`);
  return (body as { readonly data: readonly Visit[] }).data;
}

function host(url: string): string {
  return new URL(url).host.replace(/^www\./, '');
}

export const dataQuestions: readonly EvaluatedQuestion[] = [
  {
    id: 'top-domains',
    question: 'Which five sites do engines cite most for Kavárna?',
    world: 'main',
    plan: async (ask) => {
      const values = {
        metrics: ['citations'],
        group_by: ['domain'],
        brand: 'Kavárna',
        order: ['-citations', 'domain'],
      };
      const { rows } = await ask('query_metrics', { ...values, limit: 5 });
      return rows.map((row: Result) => [row.domain, row.citations]);
    },
    known: (world) => {
      const pages = select(world, { brand: CAFE, ...month }).flatMap((one) => one.pages);
      const found = counts(pages, ({ domain }) => domain);
      return ranked(found)
        .slice(0, 5)
        .map((domain) => [domain, found[domain]]);
    },
    upstream: { plan: calls('list_cited_domains', { brandId: CAFE, limit: 5, ...month }) },
  },
  {
    id: 'owners',
    question: 'How are the citations of Kavárna divided between our site, those of competitors and others?',
    world: 'labs',
    plan: metric('citation_share', { group_by: ['owner'], brand: 'Kavárna' }),
    known: (world) => {
      const brand = world.brands.find(({ name }) => name === CAFE);
      const own = host(brand?.websiteUrl ?? '');
      const rivals = (brand?.competitors ?? []).map(({ websiteUrl }) => host(websiteUrl));
      const ownerOf = (domain: string): string => {
        const isAt = (site: string): boolean => domain === site || domain.endsWith(`.${site}`);
        return isAt(own) ? 'owned' : rivals.some(isAt) ? 'competitor' : 'third party';
      };
      const pages = select(world, { brand: CAFE, ...month }).flatMap((one) => one.pages);
      const found = counts(pages, ({ domain }) => ownerOf(domain));
      return Object.fromEntries(Object.entries(found).map(([owner, count]) => [owner, round(count / pages.length)]));
    },
    upstream: {
      plan: calls('list_cited_domains', { brandId: CAFE, limit: 200, ...month }),
      lacks: 'the owners',
    },
  },
  {
    id: 'traffic-by-source',
    question: 'Which assistants sent visitors to Kavárna in the last four weeks?',
    world: 'main',
    plan: metric('ai_sessions', { group_by: ['source'], brand: 'Kavárna' }),
    known: async (world) =>
      sums(
        await visits(world),
        ({ source }) => source,
        ({ sessions }) => sessions,
      ),
    upstream: { plan: calls('get_ai_traffic', { brandId: CAFE, ...month }) },
  },
  {
    id: 'revenue-by-week',
    question: 'How much revenue did visitors from assistants bring each week?',
    world: 'main',
    plan: async (ask) => {
      const { rows } = await ask('query_metrics', { metrics: ['revenue'], grain: 'week', brand: 'Kavárna' });
      return Object.fromEntries(rows.map((row: Result) => [row.period, round(row.revenue)]));
    },
    known: async (world) => {
      const weeks = sums(
        await visits(world),
        ({ date }) => weekOf(date),
        ({ revenue }) => revenue,
      );
      return Object.fromEntries(Object.entries(weeks).map(([week, revenue]) => [week, round(revenue)]));
    },
    upstream: { plan: calls('get_ai_traffic', { brandId: CAFE, ...month }) },
  },
  {
    id: 'credits',
    question: 'How many writing credits are left?',
    world: 'main',
    plan: async (ask) => (await ask('get_credit_balance')).credits,
    known: ({ articles }) => GRANTED - articles.reduce((sum, { creditsCharged }) => sum + (creditsCharged ?? 0), 0),
    upstream: { plan: async (ask) => ask('get_credit_balance') },
  },
  {
    id: 'completeness',
    question: 'Up to which day are the data complete, and is anything missing?',
    world: 'labs',
    plan: async (ask) => {
      const { _sightline: note } = await ask('query_metrics', { metrics: ['responses'], group_by: ['brand'] });
      return [note.completeTo, note.coverage];
    },
    known: () => [LAST_DAY, 'complete'],
  },
  {
    id: 'newest-responses',
    question: 'Show the three newest responses of Gemini that do not mention Kavárna.',
    world: 'main',
    plan: async (ask) => {
      const values = { brandId: 'Kavárna', engine: 'gemini', brandMentioned: false, limit: 3 };
      const { data } = await ask('list_responses', values);
      return data.map(({ id }: Result) => id);
    },
    known: (world) =>
      select(world, { brand: CAFE, ...month, to: TODAY }, ({ engine, mentioned }) => engine === 'gemini' && !mentioned)
        .toSorted((one, other) => other.atMs - one.atMs || (one.id < other.id ? 1 : -1))
        .slice(0, 3)
        .map(({ id }) => id),
    upstream: {
      plan: calls('list_responses', { brandId: CAFE, engine: 'gemini', brandMentioned: false, limit: 3 }),
    },
  },
  {
    id: 'words-of-articles',
    question: 'How long are our finished articles on average, by type?',
    world: 'main',
    plan: async (ask) => {
      await ask('list_tables', { search: 'article' });
      await ask('describe_table', { table: 'mart.fct_article' });
      const { rows } = await ask('query', {
        sql: "SELECT type, round(avg(word_count), 2) AS words FROM mart.fct_article WHERE status = 'completed' GROUP BY type",
      });
      return column(rows, ['type'], 'words');
    },
    known: ({ articles }) => {
      const done = articles.filter(({ status }) => status === 'completed');
      const words = sums(
        done,
        ({ type }) => type,
        ({ wordCount }) => wordCount ?? 0,
      );
      const found = counts(done, ({ type }) => type);
      return Object.fromEntries(
        Object.entries(words).map(([type, sum]) => [type, Math.round((100 * sum) / (found[type] ?? 0)) / 100]),
      );
    },
    upstream: { plan: calls('list_articles', ...BOTH.map((brandId) => ({ brandId }))) },
  },
  {
    id: 'rivals-together',
    question: 'Which two competitors of Orbit are mentioned together most often, in the last four weeks?',
    world: 'main',
    plan: async (ask) => {
      await ask('describe_table', { table: 'mart.fct_entity_mention' });
      const { rows } = await ask('query', {
        sql: `SELECT x.name AS one, y.name AS other, count(*)::INTEGER AS n
          FROM mart.fct_entity_mention a JOIN mart.fct_entity_mention b ON a.response_id = b.response_id
          JOIN competitors x ON x.id = a.competitor_id JOIN competitors y ON y.id = b.competitor_id
          JOIN brands ON brands.id = a.brand_id
          WHERE brands.name LIKE 'Orbit%' AND x.name < y.name AND a.day BETWEEN '${month.from}' AND '${month.to}'
          GROUP BY ALL ORDER BY n DESC, one, other LIMIT 1`,
      });
      return [rows[0].one, rows[0].other, rows[0].n];
    },
    known: (world) => {
      const pairs = byGroup(
        select(world, { brand: ORBIT, ...month }),
        ({ rivals }) => {
          const all = rivals.map(({ name }) => name).sort();
          return all.flatMap((one, index) => all.slice(index + 1).map((other) => JSON.stringify([one, other])));
        },
        (all) => all.length,
      );
      const [best = ''] = ranked(pairs);
      return [...JSON.parse(best), pairs[best]];
    },
    upstream: { plan: async (ask) => readResponses(ask, { brandId: ORBIT, ...month }) },
  },
  {
    id: 'paused-prompts',
    question: 'Which prompts are paused?',
    world: 'main',
    plan: async (ask) => {
      const { rows } = await ask('query', { sql: 'SELECT text FROM prompts WHERE NOT active AND _deleted_at IS NULL' });
      return rows.map(({ text }: Result) => text).sort();
    },
    known: ({ brands }) =>
      brands
        .flatMap(({ prompts }) => prompts)
        .filter(({ pausedAtMs }) => pausedAtMs !== undefined)
        .map(({ text }) => text)
        .sort(),
    upstream: { plan: calls('list_prompts', ...BOTH.map((brandId) => ({ brandId }))) },
  },
];
