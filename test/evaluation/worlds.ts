import { onTestFinished } from 'vitest';
import { alertsOf } from '../../schemas/fixtures/world/alerts.ts';
import { mentionsOf, walkAnswers } from '../../schemas/fixtures/world/answers.ts';
import { articlesOf } from '../../schemas/fixtures/world/articles.ts';
import { threadsOf } from '../../schemas/fixtures/world/forum.ts';
import type { Answer, Brand, Changed, Page, Prompt } from '../../schemas/fixtures/world/model.ts';
import { ENGINES } from '../../schemas/fixtures/world/names.ts';
import { createSqlService, type SqlService } from '../../src/operations/sql/sql-service.ts';
import { type Mirror, openMirror } from '../query/mirror.ts';

/** The last day that is complete in both worlds, and the first days of the last 4 and 12 weeks, which begin on Mondays. */
export const LAST_DAY = '2026-03-15';
const FOUR_WEEKS = '2026-02-16';
const BEFORE_FOUR_WEEKS = '2026-01-19';
export const TWELVE_WEEKS = '2025-12-22';
/** Parameters of the last 4 weeks and of the 4 weeks before, and the names of the brands. */
export const month = { from: FOUR_WEEKS, to: LAST_DAY };
export const before = { from: BEFORE_FOUR_WEEKS, to: '2026-02-15' };
export const CAFE = 'Kavárna Žluťoučký kůň';
export const ORBIT = 'Orbit "One" \\ Analytics';
export const BOTH = [CAFE, ORBIT];
export const ENGINES_OF_MAIN = ['chatgpt', 'claude', 'gemini', 'perplexity'];
/** The day of the second sync, and a time between the two syncs. */
export const TODAY = '2026-03-16';
export const YESTERDAY = '2026-03-15T16:00:00Z';

const DAY_MS = 86_400_000;

/** A response as the generator of the world has it, without any code of the warehouse. */
export interface RawResponse {
  readonly id: string;
  readonly brand: string;
  readonly engine: string;
  readonly prompt: Prompt;
  readonly atMs: number;
  readonly day: string;
  readonly mentioned: boolean;
  readonly position: number | null;
  readonly sentiment: string | null;
  /** Competitors that are tracked now. */
  readonly rivals: readonly { readonly name: string; readonly position: number | null }[];
  readonly pages: readonly Page[];
}

/** A world: a server over its replica, and the raw rows from which the known answers are computed. */
export interface EvaluatedWorld {
  readonly mirror: Mirror;
  readonly sql: SqlService;
  readonly brands: readonly Brand[];
  /** All responses, also those of the last day, which is not complete. */
  readonly responses: readonly RawResponse[];
  /** The worths of the sentiment labels. */
  readonly worths: Readonly<Record<string, number>>;
  /** What changed between the two syncs. */
  readonly changed: readonly Changed[];
  readonly alerts: readonly (ReturnType<typeof alertsOf>[number] & { readonly brand: string })[];
  readonly articles: readonly (ReturnType<typeof articlesOf>[number] & { readonly brand: string })[];
  readonly threads: readonly (ReturnType<typeof threadsOf>[number] & { readonly brand: string })[];
}

/** Causes and events that are planted into the first world. */
export const PLANTED = {
  /** The engine that nearly stops mentioning the first brand four weeks before the last day. */
  engine: 'gemini',
  /** A domain that is only cited for competitors of the first brand. */
  gap: 'gap.example',
  /** A domain that is cited for the first time in the last week. */
  fresh: 'fresh.example',
  /** Places of the prompts of the second brand: one is lost, one is won by a competitor. */
  lost: 0,
  won: 1,
  /** The last day on which the lost prompt was answered with the brand. */
  lostDay: '2026-02-19',
} as const;

/** Opens the world of the marketing team: 12 weeks of two brands and four engines, with planted causes. */
export function openMain(): Promise<EvaluatedWorld> {
  const plan = { seed: 11, prompts: 6, days: 90 };
  return openEvaluated(plan, plant, {
    days: 1,
    pausedPrompts: 2,
    deletedCompetitors: 1,
    forumStatusChanges: 3,
    articleProgress: 2,
    actionsDone: 2,
  });
}

/** Opens a world of one brand with websites, other forms of numbers and labels, and no planted cause. */
export function openLabs(): Promise<EvaluatedWorld> {
  return openEvaluated({ world: 'fractions' }, null, { days: 1 });
}

async function openEvaluated(
  options: Parameters<typeof openMirror>[0] & object,
  change: ((brands: readonly Brand[], answers: (brand: Brand) => readonly Answer[]) => void) | null,
  advance: Parameters<Mirror['sandbox']['advance']>[0],
): Promise<EvaluatedWorld> {
  const mirror = await openMirror(options);
  const { world } = mirror.sandbox;
  const untilMs = world.now() + DAY_MS;
  const range = { from: '2025-01-01', to: '2026-12-31' };
  const answersOf = (brand: Brand): Answer[] => [...walkAnswers(world.plan, brand, range, untilMs)];
  if (change !== null) {
    change(world.brands, answersOf);
    // What changes after this sync are events.
    await mirror.sync();
  }
  const changed = mirror.sandbox.advance(advance);
  await mirror.publish();
  const sql = createSqlService({ path: mirror.copy, catalogue: mirror.catalogue, clock: mirror.clock });
  onTestFinished(() => sql.close());
  const nowMs = world.now();
  const ofBrands = <T extends object>(list: (brand: Brand) => readonly T[]): (T & { brand: string })[] =>
    world.brands.flatMap((brand) => list(brand).map((item) => ({ ...item, brand: brand.name })));
  return {
    mirror,
    sql,
    brands: world.brands,
    responses: world.brands.flatMap((brand) =>
      [...walkAnswers(world.plan, brand, range, nowMs)].map((answer) => rawOf(brand, answer)),
    ),
    worths: world.choices.sentiment,
    changed,
    alerts: ofBrands((brand) => alertsOf(world.plan, brand, nowMs)),
    articles: ofBrands((brand) => articlesOf(world.plan, brand, nowMs)),
    threads: ofBrands((brand) => threadsOf(world.plan, brand, nowMs)),
  };
}

function rawOf(brand: Brand, answer: Answer): RawResponse {
  const { id, engine, prompt, atMs, mentioned, position, sentiment, citations } = answer;
  return {
    id,
    brand: brand.name,
    engine,
    prompt,
    atMs,
    day: dayOf(atMs),
    mentioned,
    position,
    sentiment,
    rivals: mentionsOf(answer)
      .filter(({ competitor }) => competitor.deletedAtMs === undefined)
      .map((mention) => ({ name: mention.competitor.name, position: mention.position })),
    pages: citations,
  };
}

function plant(brands: readonly Brand[], answersOf: (brand: Brand) => readonly Answer[]): void {
  // The engine that the world adds later would have weeks without responses.
  for (const brand of brands) {
    Object.assign(brand, { engines: ENGINES.filter(({ fromDay }) => fromDay === 0) });
  }
  const [first, second] = brands as [Brand, Brand];
  const recent = (answer: Answer): boolean => dayOf(answer.atMs) >= FOUR_WEEKS;
  for (const [index, answer] of answersOf(first).entries()) {
    if (recent(answer) && answer.engine === PLANTED.engine && index % 8 !== 0) forget(answer);
    if (recent(answer) && !answer.mentioned && answer.mentions.length > 0 && index % 6 === 0) cite(answer, PLANTED.gap);
    if (dayOf(answer.atMs) >= '2026-03-10' && index % 10 === 0) cite(answer, PLANTED.fresh);
  }
  for (const answer of answersOf(second)) {
    if (answer.prompt === second.prompts[PLANTED.lost] && dayOf(answer.atMs) > PLANTED.lostDay) forget(answer);
    if (answer.prompt === second.prompts[PLANTED.won] && recent(answer)) forget(answer);
  }
}

function forget(answer: Answer): void {
  Object.assign(answer, { mentioned: false, position: null, sentiment: null });
}

function cite(answer: Answer, domain: string): void {
  answer.citations = [...answer.citations, { url: `https://${domain}/guide`, domain, title: 'Guide' }];
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
