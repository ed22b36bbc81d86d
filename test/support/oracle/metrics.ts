import {
  type Answer,
  addDays,
  daysBetween,
  groupBy as groupRows,
  type Held,
  monthOf,
  type Row,
  weekOf,
} from './rows.ts';
import type { Unit } from './statistics.ts';

interface Prompt {
  readonly topic: string | null;
  readonly stage: string | null;
  readonly branded: string;
  readonly tags: readonly string[];
}

/** The rows of a world from which measures are computed. */
export interface NaiveWorld {
  readonly answers: readonly Answer[];
  readonly prompts: ReadonlyMap<string, Prompt>;
  /** Tracked competitors by brand. */
  readonly rivals: ReadonlyMap<string, readonly string[]>;
  /** Host of the website by brand. */
  readonly hosts: ReadonlyMap<string, string | null>;
  readonly labels: Readonly<Record<string, number>>;
  readonly traffic: readonly Visits[];
  /** Brands with an analytics property that was connected when it was last read. */
  readonly connected: ReadonlySet<string>;
}

interface Visits {
  readonly brand: string;
  readonly day: string;
  readonly source: string;
  readonly currency: string | null;
  readonly sums: Readonly<Record<string, number>>;
}

/** Arranges the rows of a replica. `labels` are the worths of sentiment labels. */
export async function readNaiveWorld(held: Held, labels: Readonly<Record<string, number>>): Promise<NaiveWorld> {
  const tags = groupRows(await held.rows('prompt_tags'), ({ prompt_id }) => prompt_id);
  const properties = (await held.rows('traffic_totals')).sort(
    (a, b) => Date.parse(a['_synced_at']) - Date.parse(b['_synced_at']),
  );
  const prompts = (await held.rows('prompts')).map((row): [string, Prompt] => [
    row['id'],
    {
      topic: row['topic_id'],
      stage: row['funnel_stage'],
      branded: row['branded'] === true ? 'branded' : 'non-branded',
      tags: [...new Set((tags.get(row['id']) ?? []).map(({ tag_id }) => tag_id as string))],
    },
  ]);
  const isOn = ({ range_from, range_to }: Row, day: string): boolean => range_from <= day && range_to >= day;
  const traffic = (await held.rows('traffic_daily')).map(({ brand_id: brand, date: day, ...row }): Visits => {
    // The ranges of a brand do not overlap.
    const currency = properties.find((each) => each['brand_id'] === brand && isOn(each, day))?.['currency'] ?? null;
    const sums = {
      ai_sessions: Number(row['sessions']),
      key_events: Number(row['key_events']),
      revenue: Number(row['revenue'] ?? 0),
    };
    return { brand, day, source: row['source'], currency, sums };
  });
  // The last report decides.
  const last = new Map(properties.map((row) => [row['brand_id'] as string, row['connected'] === true]));
  return {
    labels,
    traffic,
    answers: held.answers,
    prompts: new Map(prompts),
    hosts: new Map(held.brands.map(({ id, website_url: url }) => [id, url === null ? null : hostOf(url)])),
    rivals: new Map(
      [...groupRows(held.competitors, ({ brand_id }) => brand_id)].map(([id, own]) => [
        id,
        own.map((row) => row['id']),
      ]),
    ),
    connected: new Set([...last].filter(([, isConnected]) => isConnected).map(([id]) => id)),
  };
}

/** A request as the naive computation reads it. */
export interface NaiveRequest {
  readonly measure: string;
  readonly groupBy: readonly string[];
  readonly grain: string | null;
  readonly from: string;
  readonly to: string;
  readonly before: { readonly from: string; readonly to: string } | null;
  readonly brands: readonly string[];
  readonly filters: Readonly<Record<string, readonly string[]>>;
}

/** The sample units of each group, by its key as JSON, in one period. */
export type NaiveGroups = ReadonlyMap<string, readonly Unit[]>;

/** Returns the sample units of a measure by group, in the order of the dimensions, after the period. */
export function naiveUnits(world: NaiveWorld, request: NaiveRequest, range: { from: string; to: string }): NaiveGroups {
  const shift = daysBetween(range.from, request.from);
  const periodOf = (day: string): string[] =>
    request.grain === null ? [] : [firstDay(request.grain, addDays(day, range.from === request.from ? 0 : shift))];
  const groups = new Map<string, Unit[]>();
  const add = (key: readonly (string | null)[], units: readonly Unit[]): void => {
    const text = JSON.stringify(key);
    const group = groups.get(text) ?? [];
    groups.set(text, group);
    group.push(...units);
  };
  if (isOfTraffic(request)) {
    const rows = world.traffic.filter(
      ({ brand, day }) => request.brands.includes(brand) && day >= range.from && day <= range.to,
    );
    // The sample units are the days of a brand, over all sources.
    const days = new Map<string, [key: (string | null)[], unit: Unit]>();
    for (const { brand, day, source, sums } of rows) {
      const key = [...periodOf(day), ...request.groupBy.map((name) => (name === 'brand' ? brand : source))];
      const unit = JSON.stringify([key, brand, day]);
      const y = (days.get(unit)?.[1].y ?? 0) + (sums[request.measure] ?? 0);
      days.set(unit, [key, { y, x: 1 }]);
    }
    for (const [key, unit] of days.values()) add(key, [unit]);
    return groups;
  }
  const cited = new Map<string, { key: (string | null)[]; answers: Answer[] }>();
  for (const answer of world.answers.filter((one) => isSelected(world, request, range, one))) {
    for (const own of keysOf(world, request, answer)) {
      const key = [...periodOf(answer.day), ...own];
      if (request.groupBy.some((name) => name === 'domain' || name === 'owner')) {
        const text = JSON.stringify(key);
        const group = cited.get(text) ?? { key, answers: [] };
        cited.set(text, group);
        group.answers.push(answer);
      } else for (const [parts, units] of partsOf(world, request, answer)) add([...key, ...parts], units);
    }
  }
  for (const { key, answers } of cited.values()) {
    for (const [part, units] of citationUnits(world, request, answers)) add([...key, ...part], units);
  }
  return groups;
}

function isOfTraffic({ measure }: NaiveRequest): boolean {
  return ['ai_sessions', 'key_events', 'revenue'].includes(measure);
}

/** Returns the value of a count in a group without units, by its key as JSON: null for visits of brands that are not connected. */
export function emptyCount(world: NaiveWorld, request: NaiveRequest, key: string): number | null {
  if (!isOfTraffic(request)) return 0;
  const place = request.groupBy.indexOf('brand') + (request.grain === null ? 0 : 1);
  const brands = request.groupBy.includes('brand') ? [(JSON.parse(key) as string[])[place]] : request.brands;
  return brands.some((brand) => world.connected.has(String(brand))) ? 0 : null;
}

/**
 * Returns whether a group, by its key as JSON, has no comparison: a brand of it has no facts on the first day of the earlier period or
 * before, or the later period ends after the last day that was read.
 */
export function isGap(world: NaiveWorld, request: NaiveRequest, key: string, lastDay: string): boolean {
  const { before, to } = request;
  if (before === null) return false;
  const place = request.groupBy.indexOf('brand') + (request.grain === null ? 0 : 1);
  const brands = request.groupBy.includes('brand') ? [(JSON.parse(key) as string[])[place]] : request.brands;
  const days = isOfTraffic(request) ? world.traffic : world.answers;
  return brands.some((brand) => {
    const own = days.filter((row) => row.brand === brand).map(({ day }) => day);
    return to > lastDay || !own.some((day) => day <= before.from);
  });
}

/** Whether a total, by its key as JSON, would add amounts in several currencies, in any of its periods. */
export function hasCurrencies(world: NaiveWorld, request: NaiveRequest, key: string): boolean {
  if (request.measure !== 'revenue') return false;
  const ranges = [request, ...(request.before === null ? [] : [request.before])];
  const rows = world.traffic.filter(
    ({ brand, day }) => request.brands.includes(brand) && ranges.some(({ from, to }) => day >= from && day <= to),
  );
  const group = JSON.stringify((JSON.parse(key) as string[]).slice(request.grain === null ? 0 : 1));
  const found = rows
    .filter(
      (row) => JSON.stringify(request.groupBy.map((name) => (name === 'brand' ? row.brand : row.source))) === group,
    )
    .filter(({ sums }) => (sums['revenue'] ?? 0) > 0)
    .map(
      ({ brand, currency }) =>
        currency ?? rows.find((row) => row.brand === brand && row.currency !== null)?.currency ?? brand,
    );
  return new Set(found).size > 1;
}

// The units of a share are all responses of the group that name a domain, also those that do not cite this one.
function citationUnits(world: NaiveWorld, { groupBy, measure }: NaiveRequest, answers: readonly Answer[]): Parts {
  const dimensions = groupBy.filter((name) => name === 'domain' || name === 'owner');
  const partOf = (brand: string, domain: string): string =>
    JSON.stringify(dimensions.map((name) => (name === 'domain' ? domain : ownerOf(world, brand, domain))));
  const named = answers.map((answer) => namedDomains(answer).map((domain) => partOf(answer.brand, domain)));
  return [...new Set(named.flat())].map((part) => {
    const units = named.map((all) => ({ y: all.filter((one) => one === part).length, x: all.length }));
    const citing = units.filter(({ y, x }) => (measure === 'citation_share' ? x > 0 : y > 0));
    return [JSON.parse(part), measure === 'citing_responses' ? citing.map(({ x }) => ({ y: 1, x })) : citing];
  });
}

function isSelected(
  world: NaiveWorld,
  { brands, filters }: NaiveRequest,
  range: { from: string; to: string },
  answer: Answer,
): boolean {
  const { brand, day, engine, prompt, listed } = answer;
  const groups = world.prompts.get(prompt);
  const passes = (name: string, values: readonly (string | null)[]): boolean =>
    filters[name] === undefined || values.some((value) => filters[name]?.includes(String(value)));
  return (
    brands.includes(brand) &&
    day >= range.from &&
    day <= range.to &&
    passes('engine', [engine]) &&
    passes('prompt', [prompt]) &&
    passes('topic', [groups?.topic ?? null]) &&
    passes('tag', groups?.tags ?? []) &&
    passes('branded', [groups?.branded ?? null]) &&
    passes('competitor', listed)
  );
}

const PARTS = ['entity', 'domain', 'owner'];

// A response counts in each tag of its prompt, and in no group if its prompt is deleted or has no value.
function keysOf(world: NaiveWorld, { groupBy }: NaiveRequest, answer: Answer): string[][] {
  const prompt = world.prompts.get(answer.prompt);
  return groupBy
    .filter((name) => !PARTS.includes(name))
    .reduce<string[][]>(
      (keys, name) => {
        const values: Readonly<Record<string, readonly (string | null | undefined)[]>> = {
          brand: [answer.brand],
          engine: [answer.engine],
          topic: [prompt?.topic],
          tag: prompt?.tags ?? [],
          funnel_stage: [prompt?.stage],
          branded: [prompt?.branded],
          prompt: [prompt === undefined ? null : answer.prompt],
        };
        const present = (values[name] ?? []).filter((value) => value !== null && value !== undefined);
        return keys.flatMap((key) => present.map((value) => [...key, value]));
      },
      [[]],
    );
}

type Parts = [(string | null)[], Unit[]][];

function partsOf(world: NaiveWorld, request: NaiveRequest, answer: Answer): Parts {
  const { groupBy, measure } = request;
  if (groupBy.includes('entity')) {
    const entities = [null, ...(world.rivals.get(answer.brand) ?? [])];
    return entities.map((rival) => [[rival], mentionUnits(world, measure, answer, rival)]);
  }
  const named = namedDomains(answer);
  switch (measure) {
    case 'responses':
      return [[[], [{ y: 1, x: 1 }]]];
    case 'citations':
      return [[[], [{ y: answer.citations.length, x: 1 }]]];
    case 'citing_responses':
      return [[[], [{ y: answer.citations.length > 0 ? 1 : 0, x: 1 }]]];
    case 'owned_citations': {
      const own = named.filter((domain) => ownerOf(world, answer.brand, domain) === 'owned').length;
      const isKnown = (world.hosts.get(answer.brand) ?? null) !== null && named.length > 0;
      return [[[], isKnown ? [{ y: own, x: named.length }] : []]];
    }
    default:
      return [[[], mentionUnits(world, measure, answer, null)]];
  }
}

function namedDomains({ citations }: Answer): string[] {
  return citations.map(({ domain }) => domain as string | null).filter((domain) => domain !== null);
}

// The mention of an entity, null for the brand, in a response.
function mentionOf({ mentioned, position, sentiment, mentions }: Answer, entity: string | null): Row | undefined {
  if (entity === null) return mentioned ? { position, sentiment } : undefined;
  return mentions.find(({ competitor_id }) => competitor_id === entity);
}

function mentionUnits({ labels }: NaiveWorld, measure: string, answer: Answer, entity: string | null): Unit[] {
  const mention = mentionOf(answer, entity);
  const voices = answer.mentions.length + (answer.mentioned ? 1 : 0);
  const worth = labels[mention?.['sentiment'] ?? 'none of the labels'];
  const neutral = Object.entries(labels).find(([label]) => label === 'neutral')?.[1];
  const middle = neutral ?? (Math.max(...Object.values(labels)) + Math.min(...Object.values(labels))) / 2;
  const one = (y: number | null | undefined): Unit[] => (y === null || y === undefined ? [] : [{ y, x: 1 }]);
  switch (measure) {
    case 'mentions':
    case 'visibility':
      return one(mention === undefined ? 0 : 1);
    case 'share_of_voice':
      return voices === 0 ? [] : [{ y: mention === undefined ? 0 : 1, x: voices }];
    case 'position':
      return one(mention?.['position']);
    case 'sentiment':
      return one(worth);
    case 'net_sentiment':
      return one(worth === undefined ? null : Math.sign(worth - middle));
    case 'first_mentions':
      return one(mention?.['position'] === 1 ? 1 : 0);
    default:
      throw new Error(`no naive computation of ${measure}`);
  }
}

function ownerOf(world: NaiveWorld, brand: string, domain: string): string {
  const host = domain
    .trim()
    .toLowerCase()
    .replace(/^www\./, '');
  const isAt = (site: string): boolean => host === site || host.endsWith(`.${site}`);
  const own = world.hosts.get(brand) ?? null;
  if (own !== null && isAt(own)) return 'owned';
  if ((world.rivals.get(brand) ?? []).length > 0 && RIVAL_SITES.some(isAt)) return 'competitor';
  return 'unknown';
}

/** Websites of the tracked competitors of every brand. */
const RIVAL_SITES = [0, 1, 2, 3].map((number) => `rival${number}.example`);

function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^www\./, '');
}

function firstDay(grain: string, day: string): string {
  if (grain === 'day') return day;
  return grain === 'month' ? monthOf(day) : weekOf(day);
}
