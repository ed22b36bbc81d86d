import { beforeAll, describe, expect, test } from 'vitest';
import { type Body, type Opened, open } from './helpers.ts';

// All expected numbers are recomputed from the responses, as a client of the API would.

interface Walked extends Opened {
  readonly base: string;
  readonly answers: Body[];
  readonly prompts: Map<string, Body>;
  readonly competitors: Body[];
}

const LABELS: Record<string, number> = { positive: 100, neutral: 50, negative: 0 };
const RANGE = { from: '2026-03-01', to: '2026-03-10' };
const BEFORE = { from: '2026-02-19', to: '2026-02-28' };

async function openWalked(): Promise<Walked> {
  const opened = await open({ days: 40 });
  const base = `/brands/${(await opened.brandIds())[0]}`;
  const prompts = (await opened.get(`${base}/prompts`, { includePaused: true })).body.data;
  return {
    ...opened,
    base,
    answers: await opened.walk(`${base}/responses`, { from: '2025-12-01', limit: 100 }),
    prompts: new Map(prompts.map((prompt: Body) => [prompt.id, prompt])),
    competitors: (await opened.get(`${base}/competitors`)).body.data,
  };
}

function within(answers: Body[], { from, to }: { from: string; to: string }): Body[] {
  return answers.filter(({ createdAt }) => createdAt.slice(0, 10) >= from && createdAt.slice(0, 10) <= to);
}

function rounded(value: number): number {
  return (Math.sign(value) * Math.round(Math.abs(value) * 10)) / 10 + 0;
}

function mean(values: (number | null)[]): number | null {
  const known = values.filter((value): value is number => value !== null);
  return known.length === 0 ? null : rounded(known.reduce((a, b) => a + b, 0) / known.length);
}

function namings(
  answers: Body[],
  competitorId: string | null,
): { position: number | null; sentiment: string | null }[] {
  return answers.flatMap((answer) => {
    if (competitorId !== null) return answer.competitors.filter((named: Body) => named.competitorId === competitorId);
    return answer.brandMentioned ? [{ position: answer.brandPosition, sentiment: answer.brandSentiment }] : [];
  });
}

function numbersOf(answers: Body[], competitorId: string | null, competitors: Body[]): Body {
  const own = namings(answers, competitorId);
  const all = [null, ...competitors.map(({ id }) => id)].reduce((sum, id) => sum + namings(answers, id).length, 0);
  return {
    visibility: answers.length === 0 ? 0 : rounded((100 * own.length) / answers.length),
    shareOfVoice: all === 0 ? 0 : rounded((100 * own.length) / all),
    avgPosition: mean(own.map(({ position }) => position)),
    sentiment: mean(own.map(({ sentiment }) => (sentiment === null ? null : (LABELS[sentiment] as number)))),
  };
}

function change(now: Body[], before: Body[]): number | null {
  const rate = (answers: Body[]): number => (100 * namings(answers, null).length) / answers.length;
  return before.length === 0 ? null : rounded(rate(now) - rate(before));
}

let world: Walked;
beforeAll(async () => {
  world = await openWalked();
});

describe('filters', () => {
  test('each filter returns exactly the matching responses, alone and combined with others', async () => {
    const { walk, base, answers, prompts, competitors } = world;
    const all = within(answers, { from: '2026-02-14', to: '2026-03-15' });
    const prompt = [...prompts.values()].find((candidate) => candidate.topic !== null && candidate.tags.length > 0);
    const of = (answer: Body): Body => prompts.get(answer.promptId);
    const [competitor] = competitors;
    const cases: [Record<string, string | boolean>, (answer: Body) => boolean][] = [
      [{}, () => true],
      [{ engine: 'gemini' }, ({ engine }) => engine === 'gemini'],
      [{ promptId: prompt.id }, ({ promptId }) => promptId === prompt.id],
      [{ promptId: prompt.id.toUpperCase() }, ({ promptId }) => promptId === prompt.id],
      [{ topicId: prompt.topic.id }, (answer) => of(answer).topic?.id === prompt.topic.id],
      [{ tagId: prompt.tags[0].id }, (answer) => of(answer).tags.some((tag: Body) => tag.id === prompt.tags[0].id)],
      [{ branded: 'branded' }, (answer) => of(answer).branded],
      [{ branded: 'non-branded' }, (answer) => !of(answer).branded],
      [{ brandMentioned: true }, ({ brandMentioned }) => brandMentioned],
      [{ brandMentioned: false }, ({ brandMentioned }) => !brandMentioned],
      [
        { competitorId: competitor.id },
        (answer) => answer.competitors.some((named: Body) => named.competitorId === competitor.id),
      ],
      [
        { engine: 'chatgpt', branded: 'non-branded', brandMentioned: true, topicId: prompt.topic.id },
        (answer) =>
          answer.engine === 'chatgpt' &&
          !of(answer).branded &&
          answer.brandMentioned &&
          of(answer).topic?.id === prompt.topic.id,
      ],
    ];
    for (const [query, passes] of cases) {
      const expected = all.filter(passes);
      expect(expected.length, JSON.stringify(query)).toBeGreaterThan(0);
      expect(await walk(`${base}/responses`, { ...query, limit: 100 }), JSON.stringify(query)).toEqual(expected);
    }
    const nobody = '00000000-0000-4000-8000-000000000000';
    for (const name of ['promptId', 'topicId', 'tagId', 'competitorId']) {
      expect(await walk(`${base}/responses`, { [name]: nobody })).toEqual([]);
    }
  });

  test('days run from midnight to midnight, ranges are inclusive, and nothing lies in the future', async () => {
    const { walk, base, answers } = world;
    for (const day of ['2026-02-28', '2026-03-01', '2026-03-15']) {
      const expected = within(answers, { from: day, to: day });
      expect(expected.length).toBeGreaterThan(0);
      expect(await walk(`${base}/responses`, { from: day, to: day, limit: 100 })).toEqual(expected);
    }
    expect(answers.every(({ createdAt }) => createdAt <= '2026-03-15T15:30:00.000Z')).toBe(true);
    expect(await walk(`${base}/responses`, { from: '2025-01-01', to: '2025-12-31' })).toEqual([]);
  });

  test('paused prompts are listed only on request, and alerts and threads can be filtered by type and state', async () => {
    const { get, walk, base } = world;
    const all = (await get(`${base}/prompts`, { includePaused: true })).body.data;
    expect(all.some(({ active }: Body) => !active)).toBe(true);
    const active = all.filter((prompt: Body) => prompt.active);
    expect((await get(`${base}/prompts`)).body.data).toEqual(active);
    expect((await get(`${base}/prompts`, { includePaused: false })).body.data).toEqual(active);
    const alerts = await walk(`${base}/alerts`);
    for (const type of ['visibility_drop', 'competitor_overtake', 'new_rival_source']) {
      const expected = alerts.filter((alert) => alert.type === type);
      expect(expected.length).toBeGreaterThan(0);
      expect(await walk(`${base}/alerts`, { type })).toEqual(expected);
    }
    const threads = await walk(`${base}/forum/opportunities`);
    const states = ['new', 'saved', 'dismissed', 'drafted', 'posted'];
    expect(new Set(threads.map(({ status }) => status))).toEqual(new Set(states));
    for (const status of states) {
      const expected = threads.filter((thread) => thread.status === status && thread.type === 'ai');
      expect(await walk(`${base}/forum/opportunities`, { status, type: 'ai' })).toEqual(expected);
    }
  });
});

describe('numbers', () => {
  test('metrics cover the brand and every tracked competitor, with and without filters', async () => {
    const { get, base, answers, competitors } = world;
    for (const filter of [{}, { engine: 'perplexity' }, { promptId: answers[0].promptId }]) {
      const those = within(answers, RANGE).filter((answer) =>
        Object.entries(filter).every(([name, value]) => answer[name] === value),
      );
      const { body } = await get(`${base}/metrics`, { ...RANGE, ...filter });
      expect(body).toMatchObject({ ...RANGE, responses: those.length });
      expect(body.data.map(({ competitorId }: Body) => competitorId)).toEqual([
        null,
        ...competitors.map(({ id }) => id),
      ]);
      expect(body.data[0].entityType).toBe('brand');
      for (const row of body.data) expect(row).toMatchObject(numbersOf(those, row.competitorId, competitors));
    }
  });

  test('an entity without mentions has no position and no sentiment', async () => {
    const { body } = await world.get(`${world.base}/metrics`, RANGE);
    expect(body.data.at(-1)).toMatchObject({ visibility: 0, shareOfVoice: 0, avgPosition: null, sentiment: null });
    const nothing = (await world.get(`${world.base}/metrics`, { from: '2025-01-01', to: '2025-01-02' })).body;
    expect(nothing.responses).toBe(0);
    expect(nothing.data[0]).toMatchObject({ visibility: 0, shareOfVoice: 0, avgPosition: null, sentiment: null });
  });

  test('daily rows per engine and combined count every response once', async () => {
    const { get, base, answers, competitors } = world;
    for (const breakdown of ['engine', 'none']) {
      const { body } = await get(`${base}/metrics/daily`, { ...RANGE, breakdown });
      for (const row of body.data) {
        const day = within(answers, { from: row.date, to: row.date });
        const those = breakdown === 'none' ? day : day.filter(({ engine }) => engine === row.engine);
        expect(row).toMatchObject({
          responses: those.length,
          mentions: namings(those, row.competitorId).length,
          ...numbersOf(those, row.competitorId, competitors),
        });
      }
      const own = body.data.filter(({ competitorId }: Body) => competitorId === null);
      const counted = own.reduce((sum: number, row: Body) => sum + row.responses, 0);
      expect(counted).toBe(within(answers, RANGE).length);
      const keys = body.data.map((row: Body) => `${row.date} ${row.engine} ${row.competitorId}`);
      expect(new Set(keys).size).toBe(keys.length);
    }
    const standard = (await get(`${base}/metrics/daily`, RANGE)).body;
    expect(standard).toEqual((await get(`${base}/metrics/daily`, { ...RANGE, breakdown: 'engine' })).body);
  });

  test('prompt rows contain prompts with responses, lowest visibility first, with change and top competitors', async () => {
    const { get, base, answers, prompts } = world;
    const { body } = await get(`${base}/metrics/prompts`, RANGE);
    const [now, before] = [within(answers, RANGE), within(answers, BEFORE)];
    const answered = [...prompts.keys()].filter((id) => now.some(({ promptId }) => promptId === id));
    expect(body.data.map(({ promptId }: Body) => promptId).sort()).toEqual(answered.sort());
    for (const row of body.data) {
      const own = now.filter(({ promptId }) => promptId === row.promptId);
      const earlier = before.filter(({ promptId }) => promptId === row.promptId);
      const { visibility, avgPosition, sentiment } = numbersOf(own, null, []);
      const visibilityChange = change(own, earlier);
      expect(row).toMatchObject({ responses: own.length, visibility, avgPosition, sentiment, visibilityChange });
      const counts = row.topCompetitors.map(({ competitorId }: Body) => namings(own, competitorId).length);
      expect(row.topCompetitors.map(({ mentions }: Body) => mentions)).toEqual(counts);
      expect(counts).toEqual(counts.toSorted((a: number, b: number) => b - a));
      expect(counts.length).toBeLessThanOrEqual(3);
    }
  });

  test.each(['topic', 'tag', 'funnelStage', 'branded'])(
    'rows grouped by %s use the current groups',
    async (groupBy) => {
      const { get, base, answers, prompts, competitors } = world;
      const keysOf = (answer: Body): string[] => {
        const prompt = prompts.get(answer.promptId);
        if (groupBy === 'topic') return [prompt.topic?.id];
        if (groupBy === 'tag') return prompt.tags.map(({ id }: Body) => id);
        return groupBy === 'branded' ? [prompt.branded ? 'branded' : 'non-branded'] : [prompt.funnelStage];
      };
      const { body } = await get(`${base}/metrics/groups`, { ...RANGE, groupBy });
      expect(body.groupBy).toBe(groupBy);
      const now = within(answers, RANGE);
      const expected = new Set(now.flatMap(keysOf).filter((key) => key !== undefined && key !== null));
      expect(new Set(body.data.map(({ groupId }: Body) => groupId))).toEqual(expected);
      for (const row of body.data) {
        const own = now.filter((answer) => keysOf(answer).includes(row.groupId));
        const earlier = within(answers, BEFORE).filter((answer) => keysOf(answer).includes(row.groupId));
        expect(row).toMatchObject({
          ...numbersOf(own, null, competitors),
          prompts: new Set(own.map(({ promptId }) => promptId)).size,
          responses: own.length,
          visibilityChange: change(own, earlier),
        });
      }
    },
  );

  test('cited pages and domains count each citation, most cited first, up to the limit', async () => {
    const { get, base, answers } = world;
    const those = within(answers, RANGE).filter(({ engine }) => engine === 'chatgpt');
    const citations = those.flatMap((answer) => answer.citations);
    const query = { ...RANGE, engine: 'chatgpt' };
    const domains = (await get(`${base}/sources/domains`, { ...query, limit: 200 })).body.data;
    expect(domains.length).toBe(Math.min(200, new Set(citations.map(({ domain }) => domain)).size));
    for (const row of domains) {
      const count = citations.filter(({ domain }) => domain === row.domain).length;
      const citing = those.filter((answer) => answer.citations.some(({ domain }: Body) => domain === row.domain));
      const share = rounded((100 * count) / citations.length);
      expect(row).toEqual({ domain: row.domain, citations: count, responses: citing.length, share });
    }
    const urls = (await get(`${base}/sources/urls`, { ...query, limit: 200 })).body.data;
    for (const row of urls) expect(row.citations).toBe(citations.filter(({ url }) => url === row.url).length);
    expect((await get(`${base}/sources/urls`, { ...query, limit: 3 })).body.data).toEqual(urls.slice(0, 3));
    expect((await get(`${base}/sources/domains`, query)).body.data).toEqual(domains.slice(0, 50));
    const twice = answers.some(
      (answer) => new Set(answer.citations.map(({ url }: Body) => url)).size < answer.citations.length,
    );
    expect(twice).toBe(true);
  });

  test('action plans cover the last 14 days, and also list prompts without a plan', async () => {
    const { get, base, answers, competitors } = world;
    const { body } = await get(`${base}/action-plans`);
    const names = new Set(competitors.map(({ name }) => name));
    const recent = within(answers, { from: '2026-03-02', to: '2026-03-15' });
    for (const row of body.data) {
      const own = recent.filter(({ promptId }) => promptId === row.promptId);
      const lost = own.filter((answer) => !answer.brandMentioned && answer.competitors.length > 0);
      const mentioned = own.filter((answer) => answer.brandMentioned).length;
      expect(row).toMatchObject({ answers: own.length, mentioned, lost: lost.length });
      expect(row.lost).toBeGreaterThan(0);
      expect(row.winners.every((name: string) => names.has(name))).toBe(true);
    }
    const without = body.data.filter((row: Body) => row.generatedAt === null);
    expect(without.length).toBeGreaterThan(0);
    for (const row of without) expect(row).toMatchObject({ summary: null, actions: [] });
  });

  test('traffic totals match range and source; a brand without analytics has none', async () => {
    const { get, base, brandIds } = world;
    const whole = (await get(`${base}/traffic`, RANGE)).body;
    const one = (await get(`${base}/traffic`, { ...RANGE, source: 'assistant-b' })).body;
    expect(one.data).toEqual(whole.data.filter(({ source }: Body) => source === 'assistant-b'));
    for (const { data, totals } of [whole, one]) {
      const sum = (field: string): number => data.reduce((total: number, row: Body) => total + row[field], 0);
      expect(totals).toMatchObject({ aiSessions: sum('sessions'), keyEvents: sum('keyEvents') });
      expect(totals.revenue).toBeCloseTo(sum('revenue'), 6);
      expect(totals.shareOfSite).toBe(rounded((100 * totals.aiSessions) / totals.siteSessions));
      expect(totals.siteSessions).toBe(whole.totals.siteSessions);
    }
    const unconnected = (await get(`/brands/${(await brandIds())[1]}/traffic`)).body;
    expect(unconnected).toMatchObject({ connected: false, property: null, currency: null, data: [] });
  });
});
