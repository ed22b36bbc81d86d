import { countOf } from '../support/counts.ts';
import { createRandom, type Random } from './random.ts';
import { createContents } from './world-contents.ts';

/** An object with an id and a name: a topic, a tag, or an engine whose id is its slug. */
export interface Named {
  readonly id: string;
  readonly name: string;
}

export interface Prompt {
  readonly id: string;
  readonly text: string;
  readonly state: 'active' | 'paused' | 'deleted';
  readonly createdAt: number;
  readonly lastCheckedAt: number;
  readonly topic: Named | null;
  readonly tags: readonly Named[];
  readonly funnelStage: string | null;
  readonly branded: boolean;
}

export interface Competitor extends Named {
  readonly createdAt: number;
  readonly isDeleted: boolean;
}

export interface Mention {
  readonly competitor: Competitor;
  readonly position: number;
  readonly sentiment: string;
}

export interface Citation {
  readonly url: string;
  readonly domain: string;
  readonly title: string;
}

/** A response of an AI engine; times are epoch milliseconds. */
export interface Answer {
  readonly id: string;
  readonly prompt: Prompt;
  readonly engine: string;
  readonly at: number;
  /** The UTC day of `at`. */
  readonly day: string;
  readonly brandPosition: number | null;
  readonly brandSentiment: string | null;
  readonly mentions: readonly Mention[];
  readonly citations: readonly Citation[];
}

/** Visits of one day; `bySource` has the sources with visits. */
export interface VisitDay {
  readonly date: string;
  readonly siteSessions: number;
  readonly bySource: ReadonlyMap<string, Visits>;
}

export interface Visits {
  readonly sessions: number;
  readonly engagedSessions: number;
  readonly newUsers: number;
  readonly keyEvents: number;
  /** In hundredths of the currency. */
  readonly cents: number;
}

/** A stored object as the API shows it; members that end with `At` are epoch milliseconds or null. */
export type Item = Readonly<Record<string, unknown>> & { readonly id: string };

export interface Brand {
  readonly id: string;
  readonly name: string;
  readonly websiteUrl: string;
  readonly engines: readonly string[];
  readonly createdAt: number;
  readonly topics: readonly Named[];
  readonly tags: readonly Named[];
  /** In order of their creation. */
  readonly prompts: readonly Prompt[];
  /** In order of their creation. */
  readonly competitors: readonly Competitor[];
  /** Oldest first. */
  readonly answers: readonly Answer[];
  readonly isConnected: boolean;
  readonly visits: readonly VisitDay[];
  readonly alerts: readonly Item[];
  readonly threads: readonly Item[];
  readonly articles: readonly Item[];
}

export interface World {
  readonly nowMs: number;
  readonly engines: readonly Named[];
  readonly brands: readonly Brand[];
  readonly credits: number;
}

export const DAY_MS = 86_400_000;
/** The default range of 30 days, and days before it. */
const DAYS = countOf(36, 40);
const PROMPTS = countOf(8, 13);
const BRANDS = ['Fakturo', 'Kontora'].slice(0, countOf(1, 2));
const ENGINE_NAMES = ['Quartz', 'Amber', 'Mira', 'Basalt', 'Zephyr'];
const STAGES = ['awareness', 'consideration', 'decision'];
const SUBJECTS = [
  'invoice software',
  'time tracking',
  'payroll for cafes',
  'tax filing',
  'expense cards',
  'audit trails',
];
const FORMS = ['best SUBJECT', 'SUBJECT for a small team', 'cheapest SUBJECT', 'is BRAND good for SUBJECT'];
const COMPETITORS = ['Ledgerly', 'Billow', 'acct.io', 'Numera', 'Zahlwerk'];
const DOMAINS = [
  'reviews.example',
  'docs.example',
  'forum.example',
  'news.example',
  'wiki.example',
  'blog.example',
  'shop.example',
];
const SENTIMENTS = ['positive', 'positive', 'neutral', 'neutral', 'negative', 'mixed'];

/** Creates a world at `nowMs`. Stored times are multiples of `precisionMs`. */
export function createWorld(seed: number, nowMs: number, precisionMs: number): World {
  const random = createRandom(seed);
  const count = 3 + random.below(3);
  const engines = random.sample(ENGINE_NAMES, count).map((name) => ({ id: name.toLowerCase(), name }));
  const context = { random, nowMs, precisionMs, engines: engines.map(({ id }) => id) };
  const brands = BRANDS.map((name, index) => createBrand(context, name, index));
  return { nowMs, engines, brands, credits: 40 + random.below(400) };
}

/** What the parts of a world are made from. */
export interface WorldContext {
  readonly random: Random;
  readonly nowMs: number;
  readonly precisionMs: number;
  readonly engines: readonly string[];
}

function createBrand(context: WorldContext, name: string, index: number): Brand {
  const { random, nowMs, engines } = context;
  const id = random.uuid();
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const firstDay = today - (DAYS - 1) * DAY_MS;
  const named = (names: readonly string[]): Named[] => names.map((each) => ({ id: random.uuid(), name: each }));
  const topics = named(['Payments', 'Accounting', 'Staff', 'Empty topic']);
  const tags = named(['uk', 'Core', 'seasonal', 'agency', 'unused']);
  const prompts = createPrompts(context, name, firstDay, topics, tags);
  const competitors = COMPETITORS.map((each, place) => ({
    id: random.uuid(),
    name: index === 0 ? each : `${each} Two`,
    createdAt: firstDay - (10 - place) * DAY_MS,
    isDeleted: place === 1,
  }));
  const used = index === 0 ? engines : engines.slice(0, -1);
  return {
    id,
    name,
    websiteUrl: `https://www.${name.toLowerCase()}.example`,
    engines: used,
    createdAt: firstDay - 12 * DAY_MS + index * 3_600_000,
    topics,
    tags,
    prompts,
    competitors,
    answers: createAnswers(context, { firstDay, engines: used, prompts, competitors }),
    ...createContents(context, { firstDay, isConnected: index === 0, prompts, competitors }),
  };
}

function createPrompts(
  { random, nowMs, precisionMs }: WorldContext,
  brand: string,
  firstDay: number,
  topics: readonly Named[],
  tags: readonly Named[],
): Prompt[] {
  return Array.from({ length: PROMPTS }, (_, place) => {
    const form = FORMS[place % FORMS.length] as string;
    const subject = SUBJECTS[(place * 5) % SUBJECTS.length] as string;
    const state = place === 4 ? 'paused' : place === 7 ? 'deleted' : 'active';
    // The last topic and the last tag have no prompts, and two prompts have no topic.
    return {
      id: random.uuid(),
      text: `${form.replace('SUBJECT', subject).replace('BRAND', brand)}${place > 11 ? '?' : ''}`,
      state,
      createdAt: floorTo(firstDay - (20 - place) * DAY_MS + random.below(DAY_MS), precisionMs),
      lastCheckedAt: floorTo(nowMs - random.below(DAY_MS) - (state === 'active' ? 0 : 20 * DAY_MS), precisionMs),
      topic: place === 3 || place === 9 ? null : (topics[place % 3] as Named),
      tags: place === 5 ? [] : random.sample(tags.slice(0, 4), 1 + random.below(3)),
      funnelStage: place % 5 === 2 ? null : random.pick(STAGES),
      branded: form.includes('BRAND'),
    };
  });
}

interface AnswerParts {
  readonly firstDay: number;
  readonly engines: readonly string[];
  readonly prompts: readonly Prompt[];
  readonly competitors: readonly Competitor[];
}

// Each engine stores half of its responses of a day in one batch, with one time.
function createAnswers(context: WorldContext, { firstDay, engines, prompts, competitors }: AnswerParts): Answer[] {
  const { random, nowMs, precisionMs } = context;
  const answers: Answer[] = [];
  // Some prompts always mention the brand and some never do, so that their visibility is equal.
  const odds = new Map(
    prompts.map((prompt, place) => [prompt.id, place % 6 === 1 ? 0 : place % 6 === 2 ? 1 : random.next()]),
  );
  const emptyDays = new Set([6, 7, 21, 33]);
  for (let day = 0; day < DAYS; day += 1) {
    if (emptyDays.has(day)) continue;
    for (const [place, engine] of engines.entries()) {
      const batchAt = firstDay + day * DAY_MS + 5 * 3_600_000 + Math.floor(place / 2) * 900_000;
      for (const prompt of prompts) {
        if (!isAsked(prompt, day) || !random.chance(0.25)) continue;
        const at = random.chance(0.5) ? batchAt : floorTo(batchAt + random.below(6 * 3_600_000), precisionMs);
        if (at < nowMs) answers.push(createAnswer(random, { prompt, engine, at, day, competitors, odds }));
      }
    }
  }
  return answers.sort((left, right) => left.at - right.at);
}

function isAsked({ state }: Prompt, day: number): boolean {
  return state === 'active' || (state === 'paused' ? day < 28 : day < 24);
}

interface AnswerSource {
  readonly prompt: Prompt;
  readonly engine: string;
  readonly at: number;
  readonly day: number;
  readonly competitors: readonly Competitor[];
  readonly odds: ReadonlyMap<string, number>;
}

function createAnswer(random: Random, { prompt, engine, at, day, competitors, odds }: AnswerSource): Answer {
  const isMentioned = random.chance(odds.get(prompt.id) ?? 0);
  // The deleted competitor is mentioned until day 29.
  const known = competitors.filter(({ isDeleted }) => !isDeleted || day < 30);
  const mentioned = random.sample(known, random.below(4));
  const positions = random.sample([1, 2, 3, 4, 5, 6], mentioned.length + 1);
  const pages = random.sample(PAGES, random.below(5));
  return {
    id: random.uuid(),
    prompt,
    engine,
    at,
    day: new Date(at).toISOString().slice(0, 10),
    brandPosition: isMentioned ? (positions[mentioned.length] as number) : null,
    brandSentiment: isMentioned ? random.pick(SENTIMENTS) : null,
    mentions: mentioned.map((competitor, place) => ({
      competitor,
      position: positions[place] as number,
      sentiment: random.pick(SENTIMENTS),
    })),
    citations: pages.map(({ url, domain }) => ({ url, domain, title: titleAt(url, day, at) })),
  };
}

const PAGES = DOMAINS.flatMap((domain) =>
  ['guide', 'compare/tools', 'p?id=7'].map((path) => ({ domain, url: `https://${domain}/${path}` })),
);

// Pages are renamed during the 40 days, and now and then an engine reports another title. Responses of one time have the same title.
function titleAt(url: string, day: number, at: number): string {
  const place = PAGES.findIndex((page) => page.url === url);
  const base = ['Guide', 'Tools compared', 'Post 7'][place % 3] as string;
  const version = Math.floor((day + place * 3) / (9 + (place % 4)));
  if ((Math.floor(at / 60_000) + place) % 11 === 0) return `${base}, read online at ${new URL(url).hostname}`;
  return version % 2 === 0 ? `${base} (edition ${version})` : `A ${base.toLowerCase()} of version ${version}`;
}

/** Returns the largest multiple of `step` up to `value`. */
export function floorTo(value: number, step: number): number {
  return Math.floor(value / step) * step;
}
