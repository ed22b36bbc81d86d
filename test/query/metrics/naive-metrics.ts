import { addDays, daysInRange } from '../../../src/contract/time.ts';
import type { Query } from '../../../src/warehouse/database.ts';

/** A mention of an entity: null for the brand. */
interface Mention {
  readonly rival: string | null;
  readonly position: number | null;
  readonly label: string | null;
}

interface Answer {
  readonly id: string;
  readonly brand: string;
  readonly prompt: string;
  readonly engine: string;
  readonly day: string;
  /** Of the brand and its tracked competitors, each once. */
  readonly mentions: readonly Mention[];
  /** All competitors that the response lists. */
  readonly listed: readonly string[];
  readonly domains: readonly (string | null)[];
}

interface Prompt {
  readonly topic: string | null;
  readonly stage: string | null;
  readonly branded: string;
  readonly tags: readonly string[];
}

/** The rows of a world, as plain objects. */
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

/** Reads the rows of a replica with statements without joins, groups or marts. */
export async function readNaiveWorld(query: Query, labels: Readonly<Record<string, number>>): Promise<NaiveWorld> {
  const read = async (sql: string): Promise<(string | null)[][]> =>
    (await query(sql)).map((row) => row.map((value) => (value === null ? null : String(value))));
  const live = '_deleted_at IS NULL';
  const brands = await read(`SELECT CAST(id AS VARCHAR), website_url FROM main.brands WHERE ${live}`);
  const rivals = await read(
    `SELECT CAST(brand_id AS VARCHAR), CAST(id AS VARCHAR) FROM main.competitors WHERE ${live}`,
  );
  const named = await read(`SELECT CAST(response_id AS VARCHAR), CAST(competitor_id AS VARCHAR), position, sentiment
    FROM main.response_competitors WHERE ${live} ORDER BY response_id, ordinal`);
  const cited = await read(`SELECT CAST(response_id AS VARCHAR), domain FROM main.response_citations WHERE ${live}`);
  const tags = await read(
    `SELECT CAST(prompt_id AS VARCHAR), CAST(tag_id AS VARCHAR) FROM main.prompt_tags WHERE ${live}`,
  );
  const prompts =
    await read(`SELECT CAST(id AS VARCHAR), CAST(topic_id AS VARCHAR), funnel_stage, CAST(branded AS VARCHAR)
    FROM main.prompts WHERE ${live} AND brand_id IN (SELECT id FROM main.brands WHERE ${live})`);
  const responses =
    await read(`SELECT CAST(id AS VARCHAR), CAST(brand_id AS VARCHAR), CAST(prompt_id AS VARCHAR), engine,
      strftime(created_at, '%Y-%m-%d'), CAST(brand_mentioned AS VARCHAR), brand_position, brand_sentiment
    FROM main.responses WHERE ${live} AND created_at IS NOT NULL`);
  const traffic =
    await read(`SELECT CAST(brand_id AS VARCHAR), CAST(date AS VARCHAR), source, sessions, key_events, revenue
    FROM main.traffic_daily WHERE ${live}`);
  const properties =
    await read(`SELECT CAST(brand_id AS VARCHAR), CAST(range_from AS VARCHAR), CAST(range_to AS VARCHAR), currency, CAST(connected AS VARCHAR)
    FROM main.traffic_totals WHERE ${live} ORDER BY _synced_at`);
  const known = new Map(brands.map(([id, url]) => [String(id), url === null ? null : hostOf(String(url))]));
  const ofKnown = ([brand]: (string | null)[]): boolean => known.has(String(brand));
  const tracked = groupBy(rivals.filter(ofKnown), 0, ([, id]) => String(id));
  const mentioned = groupBy(named, 0, ([, rival, position, label]) => ({ rival, position: toNumber(position), label }));
  const domains = groupBy(cited, 0, ([, domain]) => domain ?? null);
  return {
    labels,
    hosts: known,
    rivals: tracked,
    prompts: new Map(
      prompts.map(([id, topic, stage, branded]) => [
        String(id),
        {
          topic: topic ?? null,
          stage: stage ?? null,
          branded: branded === 'true' ? 'branded' : 'non-branded',
          tags: [...new Set(tags.filter(([prompt]) => prompt === id).map(([, tag]) => String(tag)))],
        },
      ]),
    ),
    answers: responses
      .filter(([, brand]) => known.has(String(brand)))
      .map(([id, brand, prompt, engine, day, isMentioned, position, label]) => {
        const all = mentioned.get(String(id)) ?? [];
        const isTracked = (rival: string | null | undefined): boolean =>
          tracked.get(String(brand))?.includes(String(rival)) === true;
        const first = all.filter(({ rival }, index) => all.findIndex((other) => other.rival === rival) === index);
        const own: Mention = { rival: null, position: toNumber(position), label: label ?? null };
        return {
          id: String(id),
          brand: String(brand),
          prompt: String(prompt),
          engine: String(engine),
          day: String(day),
          mentions: [
            ...(isMentioned === 'true' ? [own] : []),
            ...first
              .filter(({ rival }) => isTracked(rival))
              .map(
                (mention): Mention => ({
                  rival: String(mention.rival),
                  position: mention.position,
                  label: mention.label ?? null,
                }),
              ),
          ],
          listed: all.map(({ rival }) => String(rival)),
          domains: domains.get(String(id)) ?? [],
        };
      }),
    traffic: traffic
      .filter(([brand]) => known.has(String(brand)))
      .map(([brand, day, source, sessions, events, revenue]) => ({
        brand: String(brand),
        day: String(day),
        source: String(source),
        // The ranges of a brand do not overlap.
        currency:
          properties.find(
            ([of, from, to]) => of === brand && String(from) <= String(day) && String(to) >= String(day),
          )?.[3] ?? null,
        sums: { ai_sessions: Number(sessions), key_events: Number(events), revenue: Number(revenue ?? 0) },
      })),
    // The last report decides.
    connected: new Set(
      [...new Map(properties.map((row) => [String(row[0]), row[4]]))]
        .filter(([, is]) => is === 'true')
        .map(([id]) => id),
    ),
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

/** Sample units of a measure: values and sizes. */
export interface Units {
  readonly units: readonly { readonly y: number; readonly x: number }[];
}

/** The sample units of each group, by its key as JSON, in one period. */
export type NaiveGroups = ReadonlyMap<string, Units['units']>;

/** Returns the sample units of a measure by group, in the order of the dimensions, after the period. */
export function naiveUnits(world: NaiveWorld, request: NaiveRequest, range: { from: string; to: string }): NaiveGroups {
  const shift = daysInRange(range.from, request.from) - 1;
  const periodOf = (day: string): string[] =>
    request.grain === null ? [] : [firstDay(request.grain, addDays(day, range.from === request.from ? 0 : shift))];
  const groups = new Map<string, { y: number; x: number }[]>();
  const add = (key: readonly (string | null)[], units: readonly { y: number; x: number }[]): void => {
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
    const days = new Map<string, [key: (string | null)[], unit: { y: number; x: number }]>();
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
  const named = answers.map(({ brand, domains }) =>
    domains.filter((domain) => domain !== null).map((domain) => partOf(brand, domain)),
  );
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

type Parts = [(string | null)[], { y: number; x: number }[]][];

function partsOf(world: NaiveWorld, request: NaiveRequest, answer: Answer): Parts {
  const { groupBy, measure } = request;
  if (groupBy.includes('entity')) {
    const entities = [null, ...(world.rivals.get(answer.brand) ?? [])];
    return entities.map((rival) => [[rival], mentionUnits(world, measure, answer, rival)]);
  }
  const named = answer.domains.filter((domain) => domain !== null);
  switch (measure) {
    case 'responses':
      return [[[], [{ y: 1, x: 1 }]]];
    case 'citations':
      return [[[], [{ y: answer.domains.length, x: 1 }]]];
    case 'citing_responses':
      return [[[], [{ y: answer.domains.length > 0 ? 1 : 0, x: 1 }]]];
    case 'owned_citations': {
      const own = named.filter((domain) => ownerOf(world, answer.brand, domain) === 'owned').length;
      const isKnown = (world.hosts.get(answer.brand) ?? null) !== null && named.length > 0;
      return [[[], isKnown ? [{ y: own, x: named.length }] : []]];
    }
    default:
      return [[[], mentionUnits(world, measure, answer, null)]];
  }
}

function mentionUnits(
  { labels }: NaiveWorld,
  measure: string,
  { mentions }: Answer,
  entity: string | null,
): { y: number; x: number }[] {
  const mention = mentions.find(({ rival }) => rival === entity);
  const worth = mention?.label === null || mention === undefined ? undefined : labels[mention.label];
  const neutral = Object.entries(labels).find(([label]) => label === 'neutral')?.[1];
  const middle = neutral ?? (Math.max(...Object.values(labels)) + Math.min(...Object.values(labels))) / 2;
  const one = (y: number | null | undefined): { y: number; x: number }[] =>
    y === null || y === undefined ? [] : [{ y, x: 1 }];
  switch (measure) {
    case 'mentions':
    case 'visibility':
      return one(mention === undefined ? 0 : 1);
    case 'share_of_voice':
      return mentions.length === 0 ? [] : [{ y: mention === undefined ? 0 : 1, x: mentions.length }];
    case 'position':
      return one(mention?.position);
    case 'sentiment':
      return one(worth);
    case 'net_sentiment':
      return one(worth === undefined ? null : Math.sign(worth - middle));
    case 'first_mentions':
      return one(mention?.position === 1 ? 1 : 0);
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
  return own === null ? 'unknown' : 'third party';
}

/** Websites of the tracked competitors of every brand. */
const RIVAL_SITES = [0, 1, 2, 3].map((number) => `rival${number}.example`);

function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^www\./, '');
}

function firstDay(grain: string, day: string): string {
  if (grain === 'month') return `${day.slice(0, 8)}01`;
  if (grain === 'day') return day;
  const weekday = (new Date(`${day}T00:00:00Z`).getUTCDay() + 6) % 7;
  return addDays(day, -weekday);
}

function groupBy<T>(
  rows: readonly (string | null)[][],
  at: number,
  map: (row: (string | null)[]) => T,
): Map<string, T[]> {
  const found = new Map<string, T[]>();
  for (const row of rows) {
    const key = String(row[at]);
    const list = found.get(key) ?? [];
    found.set(key, list);
    list.push(map(row));
  }
  return found;
}

function toNumber(text: string | null | undefined): number | null {
  return text === null || text === undefined ? null : Number(text);
}
