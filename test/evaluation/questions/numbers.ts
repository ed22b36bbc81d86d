// Numbers, trends and rankings.
import {
  byGroup,
  counts,
  groups,
  mean,
  mentions,
  names,
  ranked,
  round,
  select,
  visibility,
  voice,
  weekOf,
  wilson,
} from '../naive.ts';
import { type Ask, calls, type EvaluatedQuestion, metric, type Result } from '../plan.ts';
import { BOTH, CAFE, ENGINES_OF_MAIN, LAST_DAY, month, ORBIT, TWELVE_WEEKS } from '../worlds.ts';

const quarter = { from: TWELVE_WEEKS, to: LAST_DAY };
const CALLS_MAX = 200;
const week = { from: '2026-03-09', to: LAST_DAY };

/** Returns the id of a brand, as a caller of endpoints finds it. */
async function brandId(ask: Ask, name: string): Promise<string> {
  const { data } = await ask('list_brands');
  return data.find((brand: Result) => brand.name === name).id;
}

/** Reads the numbers of all days, engines and entities, which the agent would have to add up by week. */
async function readDays(ask: Ask, values: Readonly<Record<string, unknown>>): Promise<void> {
  let skip = 0;
  for (let calls = 0; calls < CALLS_MAX; calls += 1) {
    const { _sightline: note } = await ask('get_daily_metrics', { ...values, ...(skip === 0 ? {} : { skip }) });
    if (note.omitted === undefined) return;
    skip = Number(/call again with skip=(\d+)/.exec(note.omitted)?.[1]);
  }
  throw new Error('get_daily_metrics returns rows without end');
}

const mondays = Array.from({ length: 12 }, (_, index) =>
  new Date(Date.parse(TWELVE_WEEKS) + index * 7 * 86_400_000).toISOString().slice(0, 10),
);

function sunday(monday: string): string {
  return new Date(Date.parse(monday) + 6 * 86_400_000).toISOString().slice(0, 10);
}

export const numberQuestions: readonly EvaluatedQuestion[] = [
  {
    id: 'visibility-now',
    question: 'How visible was Kavárna in the last four weeks, and how sure is the number?',
    world: 'main',
    plan: async (ask) => {
      const { rows } = await ask('query_metrics', { metrics: ['visibility'], brand: 'Kavárna' });
      const [{ visibility: value, visibility_n: n, visibility_interval: interval }] = rows;
      return { value, n, interval };
    },
    known: (world) => {
      const all = select(world, { brand: CAFE, ...month });
      return { value: visibility(all), n: all.length, interval: wilson(all) };
    },
    upstream: {
      plan: async (ask) => ask('get_metrics', { brandId: await brandId(ask, CAFE), ...month }),
      lacks: 'the interval',
    },
  },
  {
    id: 'responses-last-week',
    question: 'How many responses did we collect for each brand last week?',
    world: 'main',
    plan: metric('responses', { group_by: ['brand'], ...week }),
    known: (world) => counts(select(world, week), ({ brand }) => brand),
    upstream: {
      plan: async (ask) => {
        const { data } = await ask('list_brands');
        for (const { id } of data) await ask('get_metrics', { brandId: id, ...week });
      },
    },
  },
  {
    id: 'position-by-engine',
    question: 'On which place does each engine mention Orbit on average?',
    world: 'main',
    plan: metric('position', { group_by: ['engine'], brand: 'Orbit' }),
    known: (world) =>
      byGroup(
        select(world, { brand: ORBIT, ...month }, ({ mentioned }) => mentioned),
        ({ engine }) => [engine],
        (all) => mean(all.map(({ position }) => position)),
      ),
    upstream: {
      plan: async (ask) => {
        const id = await brandId(ask, ORBIT);
        for (const engine of ENGINES_OF_MAIN) await ask('get_metrics', { brandId: id, engine, ...month });
      },
    },
  },
  {
    id: 'sentiment-by-brand',
    question: 'How positive are the mentions of each brand?',
    world: 'main',
    plan: metric('sentiment', { group_by: ['brand'] }),
    known: (world) =>
      byGroup(
        select(world, month, ({ mentioned }) => mentioned),
        ({ brand }) => [brand],
        (all) => mean(all.map(({ sentiment }) => (sentiment === null ? null : world.worths[sentiment]))),
      ),
    upstream: {
      plan: async (ask) => {
        const { data } = await ask('list_brands');
        for (const { id } of data) await ask('get_metrics', { brandId: id, ...month });
      },
    },
  },
  {
    id: 'weekly-by-engine-two-brands',
    question: 'Show the weekly visibility of both brands by engine over the last 12 weeks.',
    world: 'main',
    plan: metric('visibility', { group_by: ['brand', 'engine'], grain: 'week', ...quarter }),
    known: (world) =>
      byGroup(select(world, quarter), ({ brand, engine, day }) => [`${brand} ${engine} ${weekOf(day)}`], visibility),
    upstream: {
      plan: calls(
        'get_metrics',
        ...BOTH.flatMap((brandId) =>
          ENGINES_OF_MAIN.flatMap((engine) => mondays.map((from) => ({ brandId, engine, from, to: sunday(from) }))),
        ),
      ),
      lacks: 'intervals',
      alternative: async (ask) => {
        for (const brandId of BOTH) await readDays(ask, { brandId, ...quarter });
      },
    },
  },
  {
    id: 'weekly-trend',
    question: 'How did the visibility of Orbit develop week by week since Christmas?',
    world: 'main',
    plan: metric('visibility', { grain: 'week', brand: 'Orbit', ...quarter }),
    known: (world) => byGroup(select(world, { brand: ORBIT, ...quarter }), ({ day }) => [weekOf(day)], visibility),
    upstream: {
      plan: calls('get_metrics', ...mondays.map((from) => ({ brandId: ORBIT, from, to: sunday(from) }))),
      lacks: 'intervals',
    },
  },
  {
    id: 'daily-mentions',
    question: 'How many responses mentioned Kavárna on each day of last week?',
    world: 'main',
    plan: metric('mentions', { grain: 'day', brand: 'Kavárna', ...week }),
    known: (world) => byGroup(select(world, { brand: CAFE, ...week }), ({ day }) => [day], mentions),
    upstream: { plan: calls('get_daily_metrics', { brandId: CAFE, breakdown: 'none', ...week }) },
  },
  {
    id: 'monthly-voice',
    question: 'What share of voice did each brand have in January and in February?',
    world: 'main',
    plan: metric('share_of_voice', { group_by: ['brand'], grain: 'month', from: '2026-01-01', to: '2026-02-28' }),
    known: (world) =>
      byGroup(
        select(world, { from: '2026-01-01', to: '2026-02-28' }),
        ({ brand, day }) => [`${brand} ${day.slice(0, 8)}01`],
        (all) => voice(all, all[0]?.brand ?? ''),
      ),
    upstream: {
      plan: calls(
        'get_metrics',
        ...BOTH.flatMap((brandId) => [
          { brandId, from: '2026-01-01', to: '2026-01-31' },
          { brandId, from: '2026-02-01', to: '2026-02-28' },
        ]),
      ),
    },
  },
  {
    id: 'topics',
    question: 'Which topics do the prompts of Orbit have?',
    world: 'main',
    plan: async (ask) => {
      const { values } = await ask('list_dimension_values', { dimension: 'topic', brand: 'Orbit' });
      return values.map(({ topic }: Result) => topic).sort();
    },
    known: ({ brands }) => {
      const prompts = brands.find(({ name }) => name === ORBIT)?.prompts ?? [];
      return [...new Set(prompts.flatMap(({ topic }) => topic?.name ?? []))].sort();
    },
    upstream: { plan: calls('list_prompts', { brandId: ORBIT }) },
  },
  {
    id: 'weakest-prompts',
    question: 'Which two prompts mention Kavárna least?',
    world: 'main',
    plan: async (ask) => {
      const values = {
        metrics: ['visibility'],
        group_by: ['prompt'],
        brand: 'Kavárna',
        order: ['visibility'],
        limit: 2,
      };
      const { rows } = await ask('query_metrics', values);
      return rows.map((row: Result) => [row.prompt, row.visibility]);
    },
    known: (world) => {
      const found = byGroup(select(world, { brand: CAFE, ...month }), ({ prompt }) => [prompt.text], visibility);
      return ranked(found)
        .reverse()
        .slice(0, 2)
        .map((prompt) => [prompt, found[prompt]]);
    },
    upstream: { plan: calls('get_prompt_metrics', { brandId: CAFE, ...month }) },
  },
  {
    id: 'prompts-of-topic',
    question: 'In which topics is Orbit strongest?',
    world: 'main',
    plan: metric('visibility', { group_by: ['topic'], brand: 'Orbit', order: ['-visibility'] }),
    known: (world) =>
      byGroup(select(world, { brand: ORBIT, ...month }), ({ prompt }) => [prompt.topic?.name], visibility),
    upstream: { plan: calls('get_group_metrics', { brandId: ORBIT, groupBy: 'topic', ...month }) },
  },
  {
    id: 'tags',
    question: 'Compare the tags of Kavárna: visibility and share of voice.',
    world: 'labs',
    plan: async (ask) => {
      const values = { metrics: ['visibility', 'share_of_voice'], group_by: ['tag'], brand: 'Kavárna' };
      const { rows } = await ask('query_metrics', values);
      return Object.fromEntries(rows.map((row: Result) => [row.tag, [row.visibility, row.share_of_voice]]));
    },
    known: (world) =>
      byGroup(
        select(world, { brand: CAFE, ...month }),
        ({ prompt }) => prompt.tags.map(({ name }) => name),
        (all) => [visibility(all), voice(all, CAFE)],
      ),
    upstream: { plan: calls('get_group_metrics', { brandId: CAFE, groupBy: 'tag', ...month }) },
  },
  {
    id: 'branded',
    question: 'How visible are we on prompts that do not name the brand, compared with those that do?',
    world: 'main',
    plan: metric('visibility', { group_by: ['brand', 'branded'] }),
    known: (world) =>
      byGroup(
        select(world, month),
        ({ brand, prompt }) => [`${brand} ${prompt.branded ? 'branded' : 'non-branded'}`],
        visibility,
      ),
    upstream: {
      plan: calls('get_group_metrics', ...BOTH.map((brandId) => ({ brandId, groupBy: 'branded', ...month }))),
    },
  },
  {
    id: 'voice-ranking',
    question: 'Who leads the share of voice in the market of Kavárna?',
    world: 'main',
    plan: metric('share_of_voice', { group_by: ['entity'], brand: 'Kavárna', order: ['-share_of_voice'] }),
    known: (world) => {
      const all = select(world, { brand: CAFE, ...month });
      return Object.fromEntries(entitiesOf(world, CAFE).map((entity) => [entity, voice(all, entity)]));
    },
    upstream: { plan: calls('get_metrics', { brandId: CAFE, ...month }) },
  },
  {
    id: 'rivals-on-one-engine',
    question: 'Which competitors are ahead of Kavárna on Perplexity?',
    world: 'labs',
    plan: async (ask) => {
      const values = {
        metrics: ['visibility'],
        group_by: ['entity'],
        brand: 'Kavárna',
        where: { engine: 'perplexity' },
      };
      const { rows } = await ask('query_metrics', { ...values, order: ['-visibility'] });
      const own = rows.find((row: Result) => row.entity_type === 'brand');
      return rows.filter((row: Result) => row.visibility > own.visibility).map(({ entity }: Result) => entity);
    },
    known: (world) => {
      const all = select(world, { brand: CAFE, ...month }, ({ engine }) => engine === 'perplexity');
      const found = Object.fromEntries(
        entitiesOf(world, CAFE).map((entity) => [entity, all.filter((one) => names(one, entity)).length]),
      );
      return ranked(found).filter((entity) => (found[entity] ?? 0) > (found[CAFE] ?? 0));
    },
    upstream: { plan: calls('get_metrics', { brandId: CAFE, engine: 'perplexity', ...month }) },
  },
  {
    id: 'with-competitor',
    question: 'If a response mentions Café São João, how often does it also mention Kavárna?',
    world: 'main',
    plan: async (ask) => {
      const values = { metrics: ['visibility'], brand: 'Kavárna', where: { competitor: 'Café São' } };
      const { rows } = await ask('query_metrics', values);
      return [rows[0].visibility, rows[0].visibility_n];
    },
    known: (world) => {
      const all = select(world, { brand: CAFE, ...month }, (one) => names(one, 'Café São João'));
      return [visibility(all), all.length];
    },
  },
  {
    id: 'first-mentions',
    question: 'How often is each brand named first?',
    world: 'main',
    plan: async (ask) => {
      const { rows } = await ask('query_metrics', { metrics: ['first_mentions', 'mentions'], group_by: ['brand'] });
      return Object.fromEntries(rows.map((row: Result) => [row.brand, [row.first_mentions, row.mentions]]));
    },
    known: (world) =>
      byGroup(
        select(world, month),
        ({ brand }) => [brand],
        (all) => [all.filter(({ mentioned, position }) => mentioned && position === 1).length, mentions(all)],
      ),
  },
  {
    id: 'net-sentiment',
    question: 'What is the balance of positive and negative mentions of Orbit by week in the last four weeks?',
    world: 'main',
    plan: metric('net_sentiment', { grain: 'week', brand: 'Orbit' }),
    known: (world) =>
      byGroup(
        select(world, { brand: ORBIT, ...month }, ({ mentioned }) => mentioned),
        ({ day }) => [weekOf(day)],
        (all) =>
          mean(
            all.map(({ sentiment }) => (sentiment === null ? null : Math.sign((world.worths[sentiment] ?? 0) - 50))),
          ),
      ),
  },
  {
    id: 'both-worlds-prompt',
    question: 'On which engine is the strongest prompt of Kavárna weakest?',
    world: 'labs',
    plan: async (ask) => {
      const values = { metrics: ['visibility'], brand: 'Kavárna' };
      const best = await ask('query_metrics', { ...values, group_by: ['prompt'], order: ['-visibility'], limit: 1 });
      const where = { prompt: best.rows[0].prompt_id };
      const { rows } = await ask('query_metrics', {
        ...values,
        group_by: ['engine'],
        where,
        order: ['visibility'],
        limit: 1,
      });
      return [best.rows[0].prompt, rows[0].engine, rows[0].visibility];
    },
    known: (world) => {
      const all = select(world, { brand: CAFE, ...month });
      const [prompt = ''] = ranked(byGroup(all, (one) => [one.prompt.text], visibility));
      const engines = byGroup(
        groups(all, (one) => [one.prompt.text]).get(prompt) ?? [],
        ({ engine }) => [engine],
        visibility,
      );
      const [engine = ''] = ranked(engines).reverse();
      return [prompt, engine, round(engines[engine] ?? 0)];
    },
    upstream: {
      plan: async (ask) => {
        const { data } = await ask('get_prompt_metrics', { brandId: CAFE, ...month });
        const best = data.toSorted((a: Result, b: Result) => b.visibility - a.visibility)[0];
        for (const engine of [...ENGINES_OF_MAIN, 'google-ai-mode'])
          await ask('get_metrics', { brandId: CAFE, engine, promptId: best.promptId, ...month });
      },
    },
  },
];

function entitiesOf({ brands }: Parameters<EvaluatedQuestion['known']>[0], name: string): string[] {
  const brand = brands.find((one) => one.name === name);
  const tracked = brand?.competitors.filter(({ deletedAtMs }) => deletedAtMs === undefined) ?? [];
  return [name, ...tracked.map((competitor) => competitor.name)];
}
