import type { Choices } from './choices.ts';
import { dayOf, shiftDay } from './parameters.ts';
import { createRandom, type Random } from './random.ts';
import { ALERT_TYPES, SOURCES, THREAD_STATUSES, THREAD_TYPES } from './world-contents.ts';
import type { Brand, World } from './world.ts';

/** A request of the API. */
export interface Question {
  /** The address with placeholders for ids, such as `/brands/{brandId}/metrics`. */
  readonly endpoint: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** Whether all pages are read. */
  readonly isWalk: boolean;
}

interface Context {
  readonly random: Random;
  readonly world: World;
  readonly choices: Choices;
}

type Parameters = Record<string, string>;
type Kind = readonly [endpoint: string, weight: number, parameters: (context: Context, brand: Brand) => Parameters];

/** The address of a question with its query. */
export function toPath({ path, query }: Question): string {
  const text = new URLSearchParams(query).toString();
  return text === '' ? path : `${path}?${text}`;
}

const KINDS: readonly Kind[] = [
  ['/engines', 1, () => ({})],
  ['/brands', 1, () => ({})],
  ['/credits', 1, () => ({})],
  ['/brands/{brandId}', 1, () => ({})],
  ['/brands/{brandId}/competitors', 1, () => ({})],
  ['/brands/{brandId}/prompts', 2, ({ random }) => maybe(random, 0.6, { includePaused: String(random.chance(0.7)) })],
  ['/brands/{brandId}/prompt-groups', 1, () => ({})],
  ['/brands/{brandId}/metrics', 9, filters],
  ['/brands/{brandId}/metrics/daily', 9, dailyParameters],
  ['/brands/{brandId}/metrics/prompts', 10, filters],
  ['/brands/{brandId}/metrics/groups', 12, groupParameters],
  ['/brands/{brandId}/traffic', 5, trafficParameters],
  ['/brands/{brandId}/sources/domains', 7, sourceParameters],
  ['/brands/{brandId}/sources/urls', 7, sourceParameters],
  ['/brands/{brandId}/responses', 10, answerParameters],
  ['/brands/{brandId}/alerts', 3, alertParameters],
  ['/brands/{brandId}/action-plans', 1, () => ({})],
  ['/brands/{brandId}/articles', 1, () => ({})],
  ['/brands/{brandId}/articles/{articleId}', 2, () => ({})],
  ['/brands/{brandId}/forum/opportunities', 3, threadParameters],
];

/** Creates `count` valid requests. */
export function createQuestions(world: World, choices: Choices, count: number, seed: number): Question[] {
  const context = { random: createRandom(seed), world, choices };
  return Array.from({ length: count }, () => createQuestion(context));
}

function createQuestion(context: Context): Question {
  const { random, world } = context;
  const [endpoint, , parameters] = pickKind(random);
  const brand = random.pick(world.brands);
  const articleId = random.pick(brand.articles).id;
  const ids: Parameters = { '{brandId}': brand.id, '{articleId}': articleId };
  const query = parameters(context, brand);
  const path = Object.entries(ids).reduce((text, [name, id]) => text.replace(name, id), endpoint);
  return { endpoint, path, query, isWalk: 'limit' in query && random.chance(0.6) };
}

function pickKind(random: Random): Kind {
  return random.pick(KINDS.flatMap((kind) => Array.from({ length: kind[1] }, () => kind)));
}

function maybe(random: Random, probability: number, parameters: Parameters): Parameters {
  return random.chance(probability) ? parameters : {};
}

function range({ random, world }: Context): Parameters {
  const today = dayOf(world.nowMs);
  const from = shiftDay(today, -random.below(42));
  const to = shiftDay(from, random.pick([0, 0, 1, 2, 6, 6, 13, 20, 29]));
  const last = [to, today].sort()[0] as string;
  return random.pick([{ from, to: last }, { from, to: last }, { from, to: last }, { from }, { to: last }, {}]);
}

function filters(context: Context, brand: Brand): Parameters {
  const { random } = context;
  return {
    ...range(context),
    ...maybe(random, 0.25, { engine: random.pick(brand.engines) }),
    ...maybe(random, 0.15, { promptId: random.pick(brand.prompts).id }),
    ...maybe(random, 0.2, { topicId: random.pick(brand.topics).id }),
    ...maybe(random, 0.2, { tagId: random.pick(brand.tags).id }),
    ...maybe(random, 0.2, { branded: random.pick(['branded', 'non-branded']) }),
  };
}

function dailyParameters(context: Context, brand: Brand): Parameters {
  const { random, choices } = context;
  return {
    ...filters(context, brand),
    ...maybe(random, 0.5, { [choices.rowModeName]: random.pick(['engine', 'none']) }),
  };
}

function groupParameters(context: Context, brand: Brand): Parameters {
  const { random } = context;
  const groupBy = random.pick(['topic', 'tag', 'funnelStage', 'branded']);
  return { ...filters(context, brand), ...maybe(random, 0.9, { groupBy }) };
}

function trafficParameters(context: Context): Parameters {
  const { random } = context;
  return { ...range(context), ...maybe(random, 0.3, { source: random.pick(SOURCES) }) };
}

function sourceParameters(context: Context, brand: Brand): Parameters {
  const { random } = context;
  return {
    ...range(context),
    ...maybe(random, 0.3, { engine: random.pick(brand.engines) }),
    ...maybe(random, 0.5, { limit: String(random.pick([1, 2, 3, 5, 8, 13, 50, 200])) }),
  };
}

function answerParameters(context: Context, brand: Brand): Parameters {
  const { random } = context;
  return {
    ...filters(context, brand),
    ...maybe(random, 0.2, { brandMentioned: String(random.chance(0.5)) }),
    ...maybe(random, 0.15, { competitorId: random.pick(brand.competitors).id }),
    ...paging(random),
  };
}

function paging(random: Random): Parameters {
  return maybe(random, 0.7, { limit: String(random.pick([1, 3, 7, 10, 25, 40, 100])) });
}

function alertParameters({ random }: Context): Parameters {
  return { ...maybe(random, 0.4, { type: random.pick(ALERT_TYPES) }), ...paging(random) };
}

function threadParameters({ random }: Context): Parameters {
  return {
    ...maybe(random, 0.3, { type: random.pick(THREAD_TYPES) }),
    ...maybe(random, 0.3, { status: random.pick(THREAD_STATUSES) }),
    ...paging(random),
  };
}
