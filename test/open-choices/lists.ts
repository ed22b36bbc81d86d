import { createHash } from 'node:crypto';
import type { Choices } from './choices.ts';
import { compareText, listedCompetitors } from './numbers.ts';
import {
  findBrand,
  isInRange,
  type Query,
  Rejection,
  readChoice,
  readId,
  readLimit,
  readSelection,
  reject,
} from './parameters.ts';
import { listedGroups } from './reports.ts';
import { ALERT_TYPES, articleBody, THREAD_STATUSES, THREAD_TYPES } from './world-contents.ts';
import type { Answer, Brand, Item, Prompt, World } from './world.ts';

type Row = Record<string, unknown>;

/** What a request for a list is answered from. */
export interface ListRequest {
  readonly brand: Brand;
  readonly world: World;
  readonly query: Query;
  readonly choices: Choices;
  /** The path without the query, which a cursor belongs to. */
  readonly path: string;
}

const LIMIT_STANDARD = 25;
const LIMIT_MAX = 100;
const MEMBERS_THAT_STAY_NULL = new Set(['aiContentPolicy', 'promotionPolicy']);

/** Writes a time in the format of the API. */
function formatTime(at: number, { timestamps }: Choices): string {
  const text = new Date(at).toISOString();
  if (timestamps === 'seconds') return text.replace(/\.\d{3}Z$/, 'Z');
  if (timestamps === 'offset') return text.replace('Z', '+00:00');
  return timestamps === 'microseconds' ? text.replace('Z', '000Z') : text;
}

/** Formats the times of an item, and removes members that are null if the API does so. */
function showItem(item: Row, choices: Choices): Row {
  const isKept = ([name, value]: [string, unknown]): boolean =>
    value !== null || choices.missingValues === 'null' || MEMBERS_THAT_STAY_NULL.has(name);
  const show = ([name, value]: [string, unknown]): [string, unknown] =>
    name.endsWith('At') && typeof value === 'number' ? [name, formatTime(value, choices)] : [name, value];
  const members = Object.entries(item).filter(isKept).map(show);
  return { ...Object.fromEntries(members), ...(choices.extraFields === 'items' ? { locale: 'en-GB' } : {}) };
}

/** Wraps a list whose envelope the specification does not show. */
function wrap(items: readonly unknown[], name: string, shape: 'data' | 'bare' | 'named', choices: Choices): unknown {
  if (shape === 'bare') return items;
  return withExtra({ [shape === 'data' ? 'data' : name]: items }, choices);
}

function withExtra(body: Row, { extraFields }: Choices): Row {
  return extraFields === 'envelope' ? { object: 'list', ...body } : body;
}

export function listEngines({ engines }: World, choices: Choices): unknown {
  const sorted = choices.engineListOrder === 'list' ? engines : [...engines].sort((a, b) => (a.id < b.id ? -1 : 1));
  const items = sorted.map(({ id, name }) => {
    if (choices.engineItems === 'slugs') return id;
    return choices.engineItems === 'objects' ? { slug: id } : { slug: id, name };
  });
  return wrap(items, 'engines', choices.enginesEnvelope, choices);
}

export function listBrands({ brands }: World, choices: Choices): unknown {
  const items = brands.map((brand) => showBrand(brand, choices));
  return wrap(items, 'brands', choices.brandsEnvelope, choices);
}

export function showBrand({ id, name, websiteUrl, engines, createdAt }: Brand, choices: Choices): Row {
  return showItem({ id, name, websiteUrl, engines, createdAt }, choices);
}

export function listCompetitors({ brand, choices }: ListRequest): unknown {
  const items = listedCompetitors(brand, choices)
    .filter(({ isDeleted }) => !isDeleted)
    .map(({ id, name, createdAt }) => {
      if (choices.competitorItems === 'short') return showItem({ id, name }, choices);
      const websiteUrl = `https://${name.toLowerCase().replaceAll(/\W/g, '')}.example`;
      return showItem({ id, name, websiteUrl, createdAt }, choices);
    });
  return wrap(items, 'competitors', choices.competitorsEnvelope, choices);
}

export function listPrompts({ brand, query, choices }: ListRequest): Row {
  const includesPaused = readChoice(query, 'includePaused', ['true', 'false'], choices) === 'true';
  const prompts = brand.prompts.filter(({ state }) => state === 'active' || (includesPaused && state === 'paused'));
  if (choices.promptListOrder === '-created') prompts.reverse();
  if (choices.promptListOrder === 'text') prompts.sort((a, b) => compareText(a.text, b.text, choices));
  return withExtra({ data: prompts.map((prompt) => showPrompt(prompt, choices)) }, choices);
}

function showPrompt(prompt: Prompt, choices: Choices): Row {
  const { id, text, state, createdAt, lastCheckedAt, topic, tags, funnelStage, branded } = prompt;
  const active = state === 'active';
  return showItem({ id, text, active, createdAt, lastCheckedAt, topic, tags, funnelStage, branded }, choices);
}

export function listGroups({ brand, choices }: ListRequest): Row {
  return { topics: listedGroups(brand.topics, choices), tags: listedGroups(brand.tags, choices) };
}

export function listAnswers(request: ListRequest): Row {
  const { brand, world, query, choices } = request;
  const selection = readSelection(query, world, choices);
  const mentioned = readChoice(query, 'brandMentioned', ['true', 'false'], choices);
  const competitorId = readId(query, 'competitorId', choices);
  const ties = {
    id: (left: Answer, right: Answer) => (left.id < right.id ? -1 : 1),
    '-id': (left: Answer, right: Answer) => (left.id < right.id ? 1 : -1),
    prompt: (left: Answer, right: Answer) =>
      compareText(left.prompt.text, right.prompt.text, choices) || (left.id < right.id ? -1 : 1),
  }[choices.responseTies];
  const answers = brand.answers
    .filter((answer) => isInRange(answer, selection.range, selection.engine))
    .filter(({ prompt }) => selection.isPromptMatching(prompt))
    .filter(({ brandPosition }) => mentioned === null || String(brandPosition !== null) === mentioned)
    .filter(
      ({ mentions }) => competitorId === null || mentions.some(({ competitor }) => competitor.id === competitorId),
    )
    .sort((left, right) => right.at - left.at || ties(left, right));
  return page(
    request,
    answers.map((answer) => showAnswer(answer, choices)),
  );
}

function showAnswer(answer: Answer, choices: Choices): Row {
  const { id, prompt, engine, at, brandPosition, brandSentiment, mentions, citations } = answer;
  return showItem(
    {
      id,
      promptId: prompt.id,
      prompt: prompt.text,
      engine,
      createdAt: at,
      brandMentioned: brandPosition !== null,
      brandPosition,
      brandSentiment,
      competitors: mentions.map(({ competitor, position, sentiment }) => ({
        competitorId: competitor.id,
        name: competitor.name,
        position,
        sentiment,
      })),
      citations: citations.map(({ url, domain, title }, index) => ({ url, domain, title, position: index + 1 })),
    },
    choices,
  );
}

export function listAlerts(request: ListRequest): Row {
  const { brand, query, choices } = request;
  const type = readChoice(query, 'type', ALERT_TYPES, choices);
  const alerts = brand.alerts.filter((alert) => type === null || alert['type'] === type);
  return page(request, showNewest(alerts, 'detectedAt', choices.alertTies, choices));
}

export function listThreads(request: ListRequest): Row {
  const { brand, query, choices } = request;
  const type = readChoice(query, 'type', THREAD_TYPES, choices);
  const status = readChoice(query, 'status', THREAD_STATUSES, choices);
  const threads = brand.threads
    .filter((thread) => type === null || thread['type'] === type)
    .filter((thread) => status === null || thread['status'] === status);
  return page(request, showNewest(threads, choices.forumNewest, choices.forumTies, choices));
}

export function listArticles({ brand, choices }: ListRequest): Row {
  return withExtra({ data: showNewest(brand.articles, 'createdAt', choices.articleTies, choices) }, choices);
}

export function showArticle({ brand, choices }: ListRequest, id: string): Row {
  const article = brand.articles.find((each) => each.id === id.toLowerCase());
  if (article === undefined) throw new Rejection(404, 'not_found', 'there is no such article');
  return showItem({ ...article, ...articleBody(article) }, choices);
}

function showNewest(items: readonly Item[], time: string, ties: 'id' | '-id', choices: Choices): Row[] {
  const direction = ties === 'id' ? 1 : -1;
  return [...items]
    .sort((left, right) => Number(right[time]) - Number(left[time]) || (left.id < right.id ? -direction : direction))
    .map((item) => showItem(item, choices));
}

// A cursor is an offset with a digest of the request that it belongs to.
function page({ query, choices, path }: ListRequest, items: readonly Row[]): Row {
  const limit = readLimit(query, LIMIT_STANDARD, LIMIT_MAX, choices);
  const others = [...query].filter(([name]) => name !== 'cursor').sort();
  const digest = createHash('sha256')
    .update(JSON.stringify([path, others]))
    .digest('hex')
    .slice(0, 12);
  const cursor = query.get('cursor');
  const [given, start] = cursor === undefined ? [digest, '0'] : Buffer.from(cursor, 'base64url').toString().split(':');
  if (given !== digest || start === undefined) reject(choices, 'the cursor does not belong to this request');
  const offset = Number(start);
  const end = offset + limit;
  const nextCursor = end < items.length ? Buffer.from(`${digest}:${end}`).toString('base64url') : null;
  return { ...withExtra({ data: items.slice(offset, end) }, choices), nextCursor };
}

/** Prompts for which competitors won responses in the last 14 days. Half of them have a plan. */
export function listPlans({ brand, world, choices }: ListRequest): Row {
  const since = world.nowMs - 14 * 86_400_000;
  const rows = brand.prompts
    .filter(({ state }) => state === 'active')
    .map((prompt, place) => {
      const own = brand.answers.filter((answer) => answer.prompt === prompt && answer.at >= since);
      const lost = own.filter(({ brandPosition, mentions }) => brandPosition === null && mentions.length > 0);
      const hasPlan = place % 2 === 0;
      const row: Row = {
        promptId: prompt.id,
        prompt: prompt.text,
        answers: own.length,
        mentioned: own.filter(({ brandPosition }) => brandPosition !== null).length,
        lost: lost.length,
        winners: [...new Set(lost.flatMap(({ mentions }) => mentions.map(({ competitor }) => competitor.name)))],
        summary: hasPlan ? `Publish a page about ${prompt.text}.` : null,
        actions: hasPlan ? [actionOf(brand, place)] : [],
        generatedAt: hasPlan ? prompt.lastCheckedAt : null,
      };
      return { row, lost: lost.length, text: prompt.text };
    })
    .filter(({ lost }) => lost > 0)
    .sort((a, b) => (choices.planOrder === 'lost' ? b.lost - a.lost : 0) || compareText(a.text, b.text, choices));
  return withExtra({ data: rows.map(({ row }) => showItem(row, choices)) }, choices);
}

function actionOf(brand: Brand, place: number): Row {
  // The id of an action is that of the prompt with another last digit group, so that it stays the same.
  const id = `${(brand.prompts[place] as Prompt).id.slice(0, -4)}ac71`;
  const targetUrl = `${brand.websiteUrl}/pages/${place}`;
  return {
    id,
    kind: 'content',
    title: 'Write a page',
    detail: 'Compare tools.',
    evidence: 'None yet.',
    targetUrl,
    done: place % 4 === 0,
  };
}

export function showCredits({ credits }: World, choices: Choices): Row {
  if (choices.creditsShape === 'credits') return { credits };
  if (choices.creditsShape === 'balance') return { data: { balance: credits, used: 12 } };
  return { remaining: credits, monthly: 500, resetsOn: '2026-04-01' };
}

/** Finds the brand of a path and passes it on with the request. */
export function forBrand(request: Omit<ListRequest, 'brand'>, brandId: string): ListRequest {
  return { ...request, brand: findBrand(request.world, brandId, request.choices) };
}
