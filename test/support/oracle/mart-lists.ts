import { type Answer, addDays, count, groupBy, type Held, type Row, ratio, scopesOf, sum, weekOf } from './rows.ts';

/** Returns the expected rows of the marts about groups of prompts, lists and states, by name. */
export async function expectedLists(held: Held, today: string): Promise<Record<string, Row[]>> {
  const prompts = await held.rows('prompts');
  const history = (await held.all('prompts_history')).filter(({ brand_id }) => isLive(held, brand_id));
  return {
    dim_brand: held.brands.map(({ id, name, website_url, created_at }) => {
      const host = website_url === null ? null : new URL(website_url).host.replace(/^www\./, '');
      return { brand_id: id, name, website_url, host, has_sites: host !== null, created_at };
    }),
    brand_freshness: await freshness(held, addDays(today, -1)),
    dim_prompt: dimPrompt(held, prompts, await held.all('prompts')),
    dim_prompt_group: [...prompts.flatMap((prompt) => groupsOf(prompt, [])), ...(await tagRows(held, prompts))],
    visibility_by_group_then: groupsThen(held, history),
    fct_alert: (await held.rows('alerts')).map(({ id, detected_at, ...row }) => ({
      alert_id: id,
      detected_at,
      day: detected_at.slice(0, 10),
      ...pick(row, ['brand_id', 'type', 'headline', 'detail', 'competitor', 'domain', 'previous', 'current']),
    })),
    fct_forum: (await held.rows('forum_opportunities')).map(({ id, ...row }) => ({
      opportunity_id: id,
      day: row['created_at'].slice(0, 10),
      ...pick(row, ['brand_id', 'created_at', 'type', 'status', 'subforum', 'title', 'url', 'upvotes', 'comments']),
      ...pick(row, ['ai_content_policy', 'promotion_policy', 'posted_at', 'cited_at']),
    })),
    fct_action: await actions(held),
    fct_action_plan: await plans(held),
    fct_article: (await held.rows('articles')).map(({ id, ...row }) => ({
      article_id: id,
      day: row['created_at'].slice(0, 10),
      ...pick(row, [
        'brand_id',
        'prompt_id',
        'created_at',
        'completed_at',
        'status',
        'type',
        'quality',
        'format',
        'topic',
      ]),
      ...pick(row, ['title', 'slug', 'word_count', 'credits_charged']),
    })),
    fct_traffic_daily: await visits(held),
    visibility_vs_traffic: await correlations(held, today),
    list_states: [
      ...(await states(held, 'forum_opportunities', 'item_id')).map((row) => ({ list: 'forum_opportunities', ...row })),
      ...(await states(held, 'articles', 'item_id')).map((row) => ({ list: 'articles', ...row })),
    ],
    forum_states: await states(held, 'forum_opportunities', 'opportunity_id'),
    article_states: await states(held, 'articles', 'article_id'),
  };
}

// Every brand of the test has responses and was read on the last day.
async function freshness({ brands, all }: Held, complete: string): Promise<Row[]> {
  const read = (await all('sync.coverage')).filter(
    ({ resource, range_to, closed_at }) =>
      resource === 'responses' && (range_to === null || range_to >= addDays(closed_at.slice(0, 10), -1)),
  );
  return brands.map(({ id }) => ({
    brand_id: id,
    read_at: read
      .filter(({ brand_id }) => brand_id === id)
      .reduce((max, { closed_at }) => (closed_at > max ? closed_at : max), ''),
    complete_to: complete,
  }));
}

function isLive({ brands }: Held, id: string): boolean {
  return brands.some((brand) => brand['id'] === id);
}

function pick(row: Row, names: readonly string[]): Row {
  return Object.fromEntries(names.map((name) => [name, row[name]]));
}

function dimPrompt({ answers }: Held, prompts: readonly Row[], everListed: readonly Row[]): Row[] {
  const columns = ['active', 'branded', 'funnel_stage', 'topic_id', 'topic_name', 'created_at'];
  const listed = prompts.map((row) => ({
    ...pick(row, ['brand_id', 'text', ...columns]),
    prompt_id: row['id'],
    is_listed: true,
  }));
  const answered = groupBy(answers, ({ brand, prompt }) => `${brand} ${prompt}`);
  for (const { brand_id, id } of prompts) answered.delete(`${brand_id} ${id}`);
  const gone = [...answered.values()].map((own) => {
    const { brand, prompt, text } = own.reduce((last, answer) => (answer.at > last.at ? answer : last));
    const last = everListed.find(({ brand_id, id }) => brand_id === brand && id === prompt);
    const known = pick(last ?? Object.fromEntries(columns.map((name) => [name, null])), columns);
    return { brand_id: brand, prompt_id: prompt, text: last?.['text'] ?? text, is_listed: false, ...known };
  });
  return [...listed, ...gone];
}

/** Returns the groups of a prompt, whose tags are in another table. */
export function groupsOf(prompt: Row, tags: readonly Row[]): Row[] {
  const branded = prompt['branded'] === true ? 'branded' : 'non-branded';
  const groups = [
    { group_by: 'topic', group_id: prompt['topic_id'], name: prompt['topic_name'] },
    { group_by: 'funnelStage', group_id: prompt['funnel_stage'], name: prompt['funnel_stage'] },
    { group_by: 'branded', group_id: branded, name: branded },
    ...tags.map(({ tag_id, name }) => ({ group_by: 'tag', group_id: tag_id, name })),
  ];
  const of = { brand_id: prompt['brand_id'], prompt_id: prompt['id'] };
  return groups.filter(({ group_id }) => group_id !== null).map((group) => ({ ...of, ...group }));
}

async function tagRows(held: Held, prompts: readonly Row[]): Promise<Row[]> {
  const tags = await held.rows('prompt_tags');
  return tags
    .filter(({ prompt_id }) => prompts.some(({ id }) => id === prompt_id))
    .map(({ brand_id, prompt_id, tag_id, name }) => ({ brand_id, prompt_id, group_by: 'tag', group_id: tag_id, name }));
}

/** Returns the version of a prompt that applies to a response: the latest one before it, else the first one. */
function versionAt(versions: readonly Row[], at: number): Row | undefined {
  const inTime = versions
    .filter(({ change }) => change !== 'deleted')
    .sort((a, b) => Date.parse(a['valid_from']) - Date.parse(b['valid_from']));
  return inTime.filter(({ valid_from }) => Date.parse(valid_from) <= at).at(-1) ?? inTime[0];
}

function groupsThen({ answers }: Held, history: readonly Row[]): Row[] {
  const versions = groupBy(history, ({ brand_id, id }) => `${brand_id} ${id}`);
  const placed = answers.flatMap((answer) => {
    const version = versionAt(versions.get(`${answer.brand} ${answer.prompt}`) ?? [], answer.at);
    if (version === undefined) return [];
    const tags = JSON.parse(version['_children'])['prompt_tags'] as Row[];
    return groupsOf(version, tags).map((group) => ({ answer, group }));
  });
  const keyOf = ({ answer, group }: (typeof placed)[number]): string =>
    JSON.stringify([answer.brand, weekOf(answer.day), group['group_by'], group['group_id']]);
  return [...groupBy(placed, keyOf).values()].flatMap((some) => {
    const { answer, group } = some[0] as (typeof placed)[number];
    return scopesOf(some.map((one) => one.answer)).map(({ where, answers: own }) => {
      const mentions = count(own, ({ mentioned }: Answer) => mentioned);
      return {
        brand_id: answer.brand,
        week: weekOf(answer.day),
        ...pick(group, ['group_by', 'group_id', 'name']),
        ...where,
        prompts: new Set(own.map(({ prompt }) => prompt)).size,
        responses: own.length,
        mentions,
        visibility: mentions / own.length,
      };
    });
  });
}

async function plans(held: Held): Promise<Row[]> {
  const proposed = await actions(held);
  return (await held.rows('action_plans')).map((row) => {
    const own = proposed.filter(
      ({ brand_id, prompt_id }) => brand_id === row['brand_id'] && prompt_id === row['prompt_id'],
    );
    return {
      ...pick(row, ['brand_id', 'prompt_id', 'prompt', 'answers', 'mentioned', 'lost', 'winners', 'summary']),
      generated_at: row['generated_at'],
      actions: own.length,
      open_actions: count(own, ({ done }) => !done),
    };
  });
}

async function actions(held: Held): Promise<Row[]> {
  const plans = await held.rows('action_plans');
  return (await held.rows('action_plan_actions')).flatMap(({ id, ...row }) => {
    const plan = plans.find(
      ({ brand_id, prompt_id }) => brand_id === row['brand_id'] && prompt_id === row['prompt_id'],
    );
    if (plan === undefined) return [];
    const own = pick(row, [
      'brand_id',
      'prompt_id',
      'ordinal',
      'kind',
      'title',
      'detail',
      'evidence',
      'target_url',
      'done',
    ]);
    return [{ action_id: id, generated_at: plan['generated_at'], ...own }];
  });
}

async function visits(held: Held): Promise<Row[]> {
  const totals = await held.rows('traffic_totals');
  const length = ({ range_from, range_to }: Row): number =>
    Date.parse(String(range_to)) - Date.parse(String(range_from));
  // The shortest reported range decides, and the earliest of equal ones.
  const ordered = totals
    .filter(({ currency }) => currency !== null)
    .sort((a, b) => length(a) - length(b) || (String(a['range_from']) < String(b['range_from']) ? -1 : 1));
  return (await held.rows('traffic_daily')).map((row) => ({
    day: row['date'],
    ...pick(row, ['brand_id', 'source', 'sessions', 'engaged_sessions', 'new_users', 'key_events', 'revenue']),
    currency:
      ordered.find(
        ({ brand_id, range_from, range_to }) =>
          brand_id === row['brand_id'] &&
          String(range_from) <= String(row['date']) &&
          String(row['date']) <= String(range_to),
      )?.['currency'] ?? null,
  }));
}

async function correlations(held: Held, today: string): Promise<Row[]> {
  const traffic = await held.rows('traffic_daily');
  const wholeWeeks = <T>(rows: readonly T[], dayOf: (row: T) => string): [string, T[]][] => {
    const days = rows.map(dayOf).sort();
    return [...groupBy(rows, (row) => weekOf(dayOf(row)))].filter(([week]) => {
      const end = addDays(week, 6);
      return week >= (days[0] ?? '') && end < today;
    });
  };
  return held.brands.flatMap(({ id }) => {
    const mine = traffic.filter(({ brand_id }) => brand_id === id);
    const lastVisit =
      mine
        .map(({ date }) => date)
        .sort()
        .at(-1) ?? '';
    const sessions = new Map(
      wholeWeeks(mine, ({ date }) => date)
        .filter(([week]) => addDays(week, 6) <= lastVisit)
        .map(([week, rows]) => [week, sum(rows, (row) => row['sessions'])]),
    );
    const answered = wholeWeeks(
      held.answers.filter(({ brand }) => brand === id),
      ({ day }) => day,
    );
    return [0, 1, 2, 3].flatMap((lag) => {
      const pairs = answered.flatMap(([week, own]) => {
        const visited = sessions.get(addDays(week, 7 * lag));
        const mentions = count(own, ({ mentioned }) => mentioned);
        return visited === undefined ? [] : [{ responses: own.length, mentions, sessions: visited }];
      });
      if (pairs.length === 0) return [];
      return [
        {
          brand_id: id,
          lag_weeks: lag,
          weeks: pairs.length,
          correlation: pearson(pairs.map((pair) => [pair.mentions / pair.responses, pair.sessions])),
          responses: sum(pairs, (pair) => pair.responses),
          mentions: sum(pairs, (pair) => pair.mentions),
          sessions: sum(pairs, (pair) => pair.sessions),
        },
      ];
    });
  });
}

function pearson(pairs: readonly (readonly [number, number])[]): number | null {
  const [meanX, meanY] = [sum(pairs, ([x]) => x) / pairs.length, sum(pairs, ([, y]) => y) / pairs.length];
  const [xx, yy] = [sum(pairs, ([x]) => (x - meanX) ** 2), sum(pairs, ([, y]) => (y - meanY) ** 2)];
  return xx === 0 || yy === 0
    ? null
    : ratio(
        sum(pairs, ([x, y]) => (x - meanX) * (y - meanY)),
        Math.sqrt(xx * yy),
      );
}

async function states(held: Held, table: string, id: string): Promise<Row[]> {
  const history = (await held.all(`${table}_history`)).filter(({ brand_id }) => isLive(held, brand_id));
  const reads = (await held.all('sync.coverage')).filter(({ resource }) => resource === table);
  return [...groupBy(history, (row) => `${row['brand_id']} ${row['id']}`).values()].flatMap((versions) => {
    const asOf = reads
      .filter(({ brand_id }) => brand_id === versions[0]?.['brand_id'])
      .map(({ closed_at }) => Date.parse(closed_at))
      .sort((a, b) => b - a)[0] as number;
    const inTime = [...versions].sort((a, b) => Date.parse(a['valid_from']) - Date.parse(b['valid_from']));
    const stretches: Row[] = [];
    for (const { brand_id, status, valid_from, change } of inTime) {
      const at = Date.parse(valid_from);
      const open = stretches.at(-1);
      if (open?.['until'] === null && (change === 'deleted' || open['status'] !== status)) {
        Object.assign(open, { until: at, ended_by: change === 'deleted' ? 'gone' : 'change' });
        if (change !== 'deleted') open['next_status'] = status;
      }
      if (change === 'deleted' || (open?.['until'] === null && open['status'] === status)) continue;
      const ids = { brand_id, [id]: inTime[0]?.['id'], status };
      const isFirst = stretches.length === 0;
      stretches.push({ ...ids, since: at, until: null, is_first: isFirst, next_status: null, ended_by: null });
    }
    return stretches.map((stretch) => ({
      ...stretch,
      as_of: asOf,
      hours: ((stretch['until'] ?? asOf) - stretch['since']) / 3_600_000,
    }));
  });
}
