import { beforeAll, describe, expect, test } from 'vitest';
import { type Body, type Opened, open } from './helpers.ts';

// All expected numbers are recomputed from the responses, as a client of the API would. Those of prompts, groups and sources, and all
// filters, are compared with the read server in test/query/differential.test.ts.

interface Walked extends Opened {
  readonly base: string;
  readonly answers: Body[];
  readonly competitors: Body[];
}

const LABELS: Record<string, number> = { positive: 100, neutral: 50, negative: 0 };
const RANGE = { from: '2026-03-01', to: '2026-03-10' };

async function openWalked(): Promise<Walked> {
  const opened = await open({ days: 40 });
  const base = `/brands/${(await opened.brandIds())[0]}`;
  return {
    ...opened,
    base,
    answers: await opened.walk(`${base}/responses`, { from: '2025-12-01', limit: 100 }),
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

let world: Walked;
beforeAll(async () => {
  world = await openWalked();
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
