import { isRecord } from '../../src/base/json.ts';

/** Figures of the responses of a workspace, which every client must find. */
export interface Figures {
  readonly responses: number;
  readonly mentioned: number;
  readonly positionSum: number;
  readonly citations: number;
  readonly citationPositionSum: number;
  /** Responses from the instant `cut` on. */
  readonly sinceCut: number;
  /** First and last response, in milliseconds since the epoch. */
  readonly firstMs: number;
  readonly lastMs: number;
}

/** A brand as upstream lists it, with counts of its responses. */
export interface BrandFigures {
  readonly id: string;
  readonly name: string;
  readonly responses: number;
  readonly mentioned: number;
}

/** What upstream has, counted with plain loops over its own pages. */
export interface Truth {
  /** Midnight UTC, as clients write it in a filter: `2026-11-20T00:00:00Z`. */
  readonly cut: string;
  readonly figures: Figures;
  /** Responses from the cut on if its literal is read as the time of New York: what a client without instants finds. */
  readonly sinceCutInNewYork: number;
  readonly brands: readonly BrandFigures[];
  /** An article, for the endpoint of one article. */
  readonly article: { readonly brandId: string; readonly id: string };
}

/** Address and key of upstream. */
export interface Upstream {
  readonly baseUrl: string;
  readonly key: string;
}

interface Item {
  readonly atMs: number;
  readonly isMentioned: boolean;
  readonly position: number;
  readonly citations: readonly number[];
}

const DAY_MS = 86_400_000;
/** Pages of a list; a longer one is an error of upstream's cursors. */
const PAGES_MAX = 10_000;

/** Counts the responses of upstream. No code of sightline's sync or queries is involved. */
export async function readTruth(upstream: Upstream, nowMs: number): Promise<Truth> {
  const listed = listOf(await get(upstream, '/brands'));
  const range = { from: dayOf(nowMs - 365 * DAY_MS), to: dayOf(nowMs) };
  const all: Item[] = [];
  const brands: BrandFigures[] = [];
  let article: Truth['article'] | null = null;
  for (const brand of listed) {
    const id = String(brand['id']);
    const items = await readResponses(upstream, id, range);
    all.push(...items);
    const mentioned = items.filter(({ isMentioned }) => isMentioned).length;
    brands.push({ id, name: String(brand['name']), responses: items.length, mentioned });
    const [first] = listOf(await get(upstream, `/brands/${id}/articles`));
    if (first !== undefined) article ??= { brandId: id, id: String(first['id']) };
  }
  if (all.length === 0 || article === null) throw new Error('upstream has no responses or no article');
  const times = all.map(({ atMs }) => atMs).sort((one, other) => one - other);
  const cutMs = Date.parse(dayOf(times[Math.floor(times.length / 2)] as number));
  const since = (ms: number): number => times.filter((time) => time >= ms).length;
  const sinceCutInNewYork = since(cutMs + offsetOfNewYork(cutMs));
  if (sinceCutInNewYork === since(cutMs)) throw new Error('the cut does not distinguish instants from local times');
  const citations = all.flatMap((item) => item.citations);
  const figures = {
    responses: all.length,
    mentioned: all.filter(({ isMentioned }) => isMentioned).length,
    positionSum: sum(all.map(({ position }) => position)),
    citations: citations.length,
    citationPositionSum: sum(citations),
    sinceCut: since(cutMs),
    firstMs: times[0] as number,
    lastMs: times.at(-1) as number,
  };
  return { cut: new Date(cutMs).toISOString().replace('.000', ''), figures, sinceCutInNewYork, brands, article };
}

async function readResponses(upstream: Upstream, brandId: string, range: Record<string, string>): Promise<Item[]> {
  const items: Item[] = [];
  let cursor = '';
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const query = new URLSearchParams({ ...range, limit: '100', ...(cursor === '' ? {} : { cursor }) });
    const page = await get(upstream, `/brands/${brandId}/responses?${query}`);
    items.push(...listOf(page).map(toItem));
    const next = isRecord(page) ? page['nextCursor'] : null;
    if (typeof next !== 'string') return items;
    cursor = next;
  }
  throw new Error(`upstream returned more than ${PAGES_MAX} pages`);
}

function toItem(response: Record<string, unknown>): Item {
  const cited = response['citations'];
  return {
    atMs: Date.parse(String(response['createdAt'])),
    isMentioned: response['brandMentioned'] === true,
    position: Number(response['brandPosition'] ?? 0),
    citations: (Array.isArray(cited) ? cited : []).map(({ position }) => Number(position ?? 0)),
  };
}

async function get({ baseUrl, key }: Upstream, path: string): Promise<unknown> {
  const response = await fetch(`${baseUrl}${path}`, { headers: { 'x-api-key': key } });
  if (!response.ok) throw new Error(`upstream returned ${response.status} for ${path}`);
  return response.json();
}

// Lists are bare or below `data`.
function listOf(body: unknown): Record<string, unknown>[] {
  const list = isRecord(body) ? body['data'] : body;
  if (!Array.isArray(list)) throw new Error('upstream returned no list');
  return list.filter(isRecord);
}

function offsetOfNewYork(ms: number): number {
  const parts = new Intl.DateTimeFormat('en-US', { timeZone: 'America/New_York', hour: 'numeric', hourCycle: 'h23' });
  return (24 - Number(parts.format(ms))) * 3_600_000;
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
