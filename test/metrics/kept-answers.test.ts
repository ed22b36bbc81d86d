import { join } from 'node:path';
import { expect, test } from 'vitest';
import { calibrateConventions } from '../../src/metrics/calibration/calibrate.ts';
import { readStoredFindings } from '../../src/metrics/calibration/findings.ts';
import { calibrationPoints } from '../../src/metrics/calibration/points/points.ts';
import { questionsToAsk } from '../../src/metrics/calibration/questions.ts';
import { probeUpstream } from '../../src/operations/probe-upstream.ts';
import { keepAnswer, readAnswers } from '../../src/warehouse/ledger/answers.ts';
import { openReader } from '../../src/warehouse/reader.ts';
import { publishAnalytics } from '../../src/warehouse/replica.ts';
import { countOf } from '../support/counts.ts';
import { ONE_DAY_LATER } from '../support/edits.ts';
import { temporaryFolder } from '../support/folders.ts';
import { openWorkspace, type TestWorkspace } from '../support/workspace.ts';

const PROBES_MAX = 6;
/** Later days: without most of its few competitors, the world would lose rows that a sync keeps in doubt. */
const NO_MORE_DELETED = { deletedPrompts: 0, deletedCompetitors: 0 };

interface Asking {
  readonly status: string;
  /** Requests that calibration sent, as text. */
  readonly asked: readonly string[];
  /** Time that calibration waited for the budget. */
  readonly sleptMs: number;
}

interface Night extends Asking {
  readonly contradicted: readonly string[];
  readonly determined: ReadonlySet<string>;
}

/** Syncs and asks about open points. */
async function syncAndAsk(workspace: TestWorkspace, left: number): Promise<Asking> {
  const { catalogue } = workspace;
  let sleptMs = 0;
  const sleep = async (ms: number): Promise<void> => {
    sleptMs += ms;
  };
  const clock = { ...workspace.clock, sleep };
  const { database } = workspace.warehouse();
  const { signal } = new AbortController();
  const asked: string[] = [];
  const budget = { state: () => ({ limit: 120, capacity: 116, left }) };
  const { status } = await workspace.sync({
    onRead: async (ask, stats) => {
      await probeUpstream({ catalogue, database, clock, signal, max: PROBES_MAX, budget, stats }, (question) => {
        asked.push(JSON.stringify(question));
        return ask(question);
      });
    },
  });
  return { status, asked, sleptMs };
}

/** Syncs, asks about open points and calibrates, like `sightline sync`. */
async function night(workspace: TestWorkspace): Promise<Night> {
  const { catalogue, clock } = workspace;
  const { database } = workspace.warehouse();
  const asking = await syncAndAsk(workspace, 100);
  const contradicted = await calibrateConventions(database, { catalogue, now: clock.now() });
  const findings = await database.exclusive(({ query }) => readStoredFindings(query));
  const determined = [...findings].flatMap(([name, { source }]) => (source === 'learned' ? [name] : []));
  return { ...asking, contradicted, determined: new Set(determined) };
}

test('no question is asked while the budget is used up, and points stay determined while upstream changes', async () => {
  const workspace = await openWorkspace({ brands: 1, prompts: 3, days: 5, seed: 3 });
  expect(await syncAndAsk(workspace, 0)).toEqual({ status: 'complete', asked: [], sleptMs: 15_000 });
  const first = await night(workspace);
  expect(first).toMatchObject({ status: 'complete', contradicted: [], sleptMs: 0 });
  expect(first.asked.length).toBeGreaterThan(2);
  await expectNoKeptAnswers(workspace);
  expect(first.determined).toContain('groupMembers');
  const all = [...first.asked];
  let before = first.determined;
  for (let count = 0; count < countOf(1, 6); count++) {
    workspace.sandbox.world.advance(count === 0 ? ONE_DAY_LATER : { ...ONE_DAY_LATER, ...NO_MORE_DELETED });
    const { status, asked, contradicted, determined } = await night(workspace);
    expect({ status, contradicted }).toEqual({ status: 'complete', contradicted: [] });
    all.push(...asked);
    const answered = [...before].filter((name) => calibrationPoints.some(({ names }) => names.includes(name as never)));
    expect(answered.length).toBeGreaterThan(5);
    for (const name of answered) expect(determined, name).toContain(name);
    before = determined;
  }
  expect(all.length).toBeLessThanOrEqual(PROBES_MAX);
  expect(new Set(all).size).toBe(all.length);
});

test('a response over 256 Ki characters is stored without its body, and its question is not asked again', async () => {
  const { catalogue, clock, warehouse } = await openWorkspace({ world: 'tiny' });
  const { database } = warehouse();
  const asking = { catalogue, now: clock.now(), max: PROBES_MAX };
  const left = () => database.exclusive(({ query }) => questionsToAsk(query, asking));
  const questions = (await left()) ?? [];
  expect(questions).toHaveLength(PROBES_MAX);
  for (const [index, { resource, brandId, query }] of questions.slice(0, 2).entries()) {
    const body = JSON.stringify('x'.repeat(256 * 1024 - 2 + index));
    const answer = { resource, brandId, query, purpose: 'probe', status: 200, askedAt: clock.now() } as const;
    await database.transaction((session) => keepAnswer(session, null, { ...answer, body }));
    const stored = await database.exclusive((session) => readAnswers(session.query, [resource]));
    expect(stored).toContainEqual({ ...answer, body: index === 0 ? body : null, isFresh: index === 0 });
  }
  expect(await left()).toEqual(questions.slice(2));
});

test('days and prompts without responses are asked about if upstream reports some', async () => {
  const { catalogue, clock, warehouse } = await openWorkspace({ world: 'tiny' });
  const { database } = warehouse();
  const reasons = async (): Promise<string[]> => {
    const asking = { catalogue, now: clock.now(), max: PROBES_MAX };
    const questions = await database.exclusive(({ query }) => questionsToAsk(query, asking));
    return (questions ?? []).flatMap(({ reason }) => (/ without /.test(reason) ? [reason] : []));
  };
  const setResponses = (report: string, count: number): Promise<unknown> =>
    database.exclusive((session) => session.run(`UPDATE ${report} SET responses = ${count}`));
  const always = ['a day without responses', 'groups on a day without responses'];
  await setResponses('metrics_daily', 1);
  await setResponses('metrics_prompts', 1);
  expect(await reasons()).toEqual(always);
  await setResponses('metrics_prompts', 0);
  expect(await reasons()).toEqual(['prompts on a day without responses', ...always]);
  await setResponses('metrics_daily', 0);
  expect(await reasons()).toEqual(['days without responses to a prompt', ...always]);
});

// A replica has the findings, but no kept responses.
async function expectNoKeptAnswers(workspace: TestWorkspace): Promise<void> {
  const [kept] = await workspace.query('SELECT count(*) AS kept FROM sync.answers');
  expect(Number(kept?.['kept'])).toBeGreaterThan(2);
  const path = join(await temporaryFolder(), 'analytics.duckdb');
  await publishAnalytics(workspace.warehouse().database, path);
  const reader = await openReader(path);
  try {
    const count = async (from: string): Promise<number> =>
      Number((await reader.query(`SELECT count(*) FROM ${from}`)).rows[0]?.[0]);
    expect(await count('sync.answers')).toBe(0);
    expect(await count("sync.calibration WHERE source = 'learned'")).toBeGreaterThan(10);
  } finally {
    reader.close();
  }
}
