import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Exchange, type Liar, startLiar } from '../hostile/liar.ts';
import { countOf } from '../support/counts.ts';
import type { Difference } from '../support/difference.ts';
import { WORLDS } from '../support/worlds.ts';
import { randomChoices } from './choice-variants.ts';
import { compareReplies, isComputed } from './compare-replies.ts';
import { openMirror } from './mirror.ts';
import { questions, readVocabulary } from './questions.ts';

/** Random combinations of choices. */
const COMBINATIONS = countOf(1, 12);
/** In the usual run, one whose upstream does not send a row for every day, which would take most of the time. */
const SEED = countOf(8, 1 + (Number(process.env['PROPERTY_SEED']) % 188));
/** A sync takes most of the time, so that few combinations with many questions each are cheaper than the opposite. */
const QUESTIONS = countOf(80, 300);
const PROBES_MAX = 6;
/** Share of the choices that are random; the others are the usual ones. */
const RANDOM_SHARE = 0.3;
/** Apart from orders: six questions do not decide the order of equal rows if many other points are open too. */
const DIFFERING_MOST = 0.01;
/** A brand, with a few days before the default range of 30. */
const SIZE = { brands: 1, prompts: 9, days: countOf(36, 40) };

/** Beginnings of names of points, by the field and report of a difference. The names are those that `sightline calibration` prints. */
const POINTS_OF: readonly (readonly [field: RegExp, points: RegExp, report?: string])[] = [
  [/visibilityChange/, /^(visibilityChange|change|emptyChange)/],
  [/visibility$/, /^(visibility|emptyShare|countedResponses)/],
  [/shareOfVoice/, /^(shareOfVoice|emptyVoice|deletedCompetitors)/],
  [/avgPosition/, /^(avgPosition|emptyMean)/],
  [/sentiment/, /^(sentiment|labels|emptySentiment|emptyMean)/],
  [/share$/, /^domainShare/],
  [/shareOfSite/, /^(shareOfSite|emptySite)/],
  [/totals/, /^trafficTotals/],
  [/title/, /^urlTitle/],
  [/topCompetitors/, /^topCompetitor/],
  [/\.prompts$/, /^groupPrompts/],
  [/visibility|avgPosition|sentiment|shareOfVoice/, /^groupMembers/, '/metrics/groups'],
  [/responses|mentions/, /^(countedResponses|groupMembers|deletedPrompts)/],
  [/engine/, /^combinedEngine/],
  [/groupId|name/, /^(ungrouped|brandedGroups)/],
  [/\(order\)/, /Order/],
  [
    /\(rows\)/,
    /^(groupRows|filteredGroups|ungrouped|promptRows|deleted|unmentioned|empty(Range|Days)|outsideDays|(domain|url)Order)/,
  ],
];

interface Exam {
  readonly asked: number;
  readonly findings: readonly (Difference & { readonly path: string })[];
  /** Names of the points that calibration lists as undetermined or contradicted. */
  readonly open: readonly string[];
}

/** Syncs an upstream once, which makes random choices in a share of the points, and asks both sides the same questions. */
async function examine(seed: number, share: number, count: number): Promise<Exam> {
  const mirror = await openMirror({ ...SIZE, seed, questionsMax: PROBES_MAX, choices: randomChoices(seed, share) });
  mirror.sandbox.world.advance({ deletedPrompts: 1, deletedCompetitors: 1 });
  await mirror.publish();
  const [sent] = await mirror.query("SELECT count(*) AS probes FROM sync.requests WHERE slice = 'probe'");
  expect(Number(sent?.['probes'])).toBeGreaterThan(0);
  expect(Number(sent?.['probes'])).toBeLessThanOrEqual(PROBES_MAX);
  const asked = fc.sample(questions(await readVocabulary(mirror)), { numRuns: count, seed });
  const findings: Exam['findings'][number][] = [];
  for (const path of asked) {
    const [upstream, own] = [await mirror.upstream(path), await mirror.mirror(path)];
    findings.push(...compareReplies(upstream, own, isComputed(mirror, path)).map((found) => ({ ...found, path })));
  }
  const open = await mirror.query("SELECT name FROM sync.calibration WHERE source <> 'learned'");
  return { asked: asked.length, findings, open: open.map(({ name }) => String(name)) };
}

function isExplained({ field, path }: Exam['findings'][number], open: readonly string[]): boolean {
  const rows = POINTS_OF.filter(([pattern, , report = '']) => pattern.test(field) && path.includes(report));
  return open.some((name) => rows.some(([, points]) => points.test(name)));
}

test('an upstream with the usual choices gets equal answers after at most 6 probes', async () => {
  const { findings } = await examine(SEED, 0, countOf(40, 300));
  expect(findings).toEqual([]);
});

test('differences from upstreams with random choices are rare, and calibration lists their points as undetermined', async () => {
  let [asked, differing] = [0, 0];
  for (let seed = SEED; seed < SEED + COMBINATIONS; seed += 1) {
    const exam = await examine(seed, RANDOM_SHARE, QUESTIONS);
    const unexplained = exam.findings.filter((found) => !isExplained(found, exam.open));
    expect(unexplained, JSON.stringify(randomChoices(seed, RANDOM_SHARE))).toEqual([]);
    asked += exam.asked;
    differing += new Set(exam.findings.flatMap(({ field, path }) => (field.endsWith('(order)') ? [] : [path]))).size;
  }
  expect(differing).toBeLessThanOrEqual(Math.max(1, Math.floor(asked * DIFFERING_MOST)));
});

test('the questions decide rows without responses, and what groups count under filters', async () => {
  const choices = {
    ...({ emptyDays: 'engines', groupRows: 'matching' } as const),
    ...({ groupPrompts: 'active', groupPromptsFilter: 'matching' } as const),
  };
  const mirror = await openMirror({ ...SIZE, seed: 115, questionsMax: PROBES_MAX, choices });
  await mirror.publish();
  const found = await mirror.query("SELECT name, value FROM sync.calibration WHERE source = 'learned'");
  const learned = Object.fromEntries(found.map(({ name, value }) => [String(name), JSON.parse(String(value))]));
  expect(learned).toMatchObject({ ...choices, groupMembers: 'matching' });
});

test('lists have the order, the names and the other members of upstream, after a sync that has seen them', async () => {
  const day = (value: string): string => `${value.slice(0, 10)}T00:00:00.000Z`;
  const alter = ({ path, query, status, edit }: Exchange): void => {
    if (status !== 200) return;
    if (/^\/(engines|brands)$|\/competitors$/.test(path)) {
      edit(({ data }) => ({ total: data.length, [path.split('/').at(-1) ?? '']: data.toReversed() }));
    } else if (path.includes('/sources/')) {
      edit((body) => ({ from: query.get('from'), to: query.get('to'), ...body }));
    } else if (path.endsWith('/alerts')) {
      // Several alerts of a time, by id.
      edit(({ data, nextCursor }) => {
        for (const alert of data) alert.detectedAt = day(alert.detectedAt);
        const sorted = data.sort((a: Alert, b: Alert) => compare(b.detectedAt, a.detectedAt) || compare(a.id, b.id));
        return { object: 'list', data: sorted, nextCursor };
      });
    } else if (/\/(prompts|action-plans)$/.test(path) && !path.includes('/metrics/')) {
      edit((body) => void body.data.reverse());
    }
  };
  let liar: Liar | undefined;
  const between = async (url: string): Promise<string> => (liar = await startLiar(url)).baseUrl;
  const mirror = await openMirror({ ...WORLDS.tiny, between });
  liar?.tell(alter);
  await mirror.publish();
  const brand = `/brands/${mirror.sandbox.world.brands[0]?.id}`;
  const lists = [
    'competitors',
    'prompts',
    'action-plans',
    'alerts?limit=100',
    'sources/domains?from=2026-03-14&to=2026-03-15',
  ];
  for (const path of ['/engines', '/brands', ...lists.map((list) => `${brand}/${list}`)]) {
    const headers = { authorization: `Bearer ${mirror.sandbox.key}` };
    const upstream = await fetch(`${liar?.baseUrl}${path}`, { headers });
    const { status, body } = await mirror.mirror(path);
    expect([path, status, body]).toEqual([path, upstream.status, await upstream.json()]);
    expect(JSON.stringify(body), path).toMatch(/\[["{]/);
  }
});

interface Alert {
  readonly id: string;
  readonly detectedAt: string;
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
