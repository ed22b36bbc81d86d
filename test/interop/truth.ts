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
  /** Values of the required arguments of MCP tools, by name. */
  readonly toolArguments: Readonly<Record<string, string>>;
  /** Calls of MCP tools with what their results must contain. */
  readonly toolCalls: readonly ToolCall[];
}

/** A call of an MCP tool. */
export interface ToolCall {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Members of the result. Of a member that is an object, only the listed members are compared. */
  readonly expected: Readonly<Record<string, unknown>>;
}

/** Address and key of upstream. */
export interface Upstream {
  readonly baseUrl: string;
  readonly key: string;
}

interface Item {
  readonly brand: string;
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
    const items = await readResponses(upstream, brand, range);
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
  return {
    cut: new Date(cutMs).toISOString().replace('.000', ''),
    figures,
    sinceCutInNewYork,
    brands,
    article,
    toolArguments: {
      brandId: article.brandId,
      articleId: article.id,
      brand: brands[0]?.name ?? '',
      dimension: 'engine',
      since: '7d',
      table: 'responses',
    },
    toolCalls: toolCalls(all, brands, cutMs),
  };
}

const SQL = `SELECT b.name, CAST(count(*) AS INTEGER), CAST(count(*) FILTER (r.brand_mentioned) AS INTEGER)
  FROM responses r JOIN brands b ON b.id = r.brand_id GROUP BY b.name ORDER BY b.name`;

// The numbers of all brands by the metrics layer and by SQL, and a change of the first brand from the days before the cut.
function toolCalls(all: readonly Item[], brands: readonly BrandFigures[], cutMs: number): ToolCall[] {
  const times = all.map(({ atMs }) => atMs);
  const first = dayOf(Math.min(...times));
  const to = dayOf(Math.max(...times));
  const rows = brands
    .map(({ name, responses, mentioned }) => [name, responses, mentioned])
    .sort(([one], [other]) => (String(one) < String(other) ? -1 : 1));
  const brand = brands[0]?.name ?? '';
  // Periods are compared only if they are over.
  const last = { to: dayOf(Math.max(...times) - DAY_MS) };
  const own = all.filter((item) => item.brand === brand && dayOf(item.atMs) <= last.to);
  const before = own.filter(({ atMs }) => atMs < cutMs);
  const after = own.filter(({ atMs }) => atMs >= cutMs);
  const compared = { from: dayOf(cutMs), ...last, before_from: first, before_to: dayOf(cutMs - DAY_MS) };
  return [
    {
      tool: 'query_metrics',
      arguments: { metrics: ['responses', 'mentions'], group_by: ['brand'], from: first, to, order: ['brand'] },
      expected: { columns: ['brand', 'responses', 'mentions'], rows },
    },
    { tool: 'query', arguments: { sql: SQL }, expected: { rows } },
    {
      tool: 'explain_change',
      arguments: { metric: 'visibility', brand, ...compared },
      expected: {
        ...compared,
        total: { before: shareOf(before), after: shareOf(after), n_before: before.length, n_after: after.length },
      },
    },
    ...['brief', 'find_opportunities'].map((tool) => ({
      tool,
      arguments: { brand, from: dayOf(cutMs), ...last },
      expected: { from: dayOf(cutMs), ...last },
    })),
  ];
}

/** Mentioned responses as a share, with the digits of the tools. */
function shareOf(items: readonly Item[]): number {
  return Number((items.filter(({ isMentioned }) => isMentioned).length / items.length).toPrecision(4));
}

async function readResponses(
  upstream: Upstream,
  brand: Record<string, unknown>,
  range: Record<string, string>,
): Promise<Item[]> {
  const items: Item[] = [];
  let cursor = '';
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const query = new URLSearchParams({ ...range, limit: '100', ...(cursor === '' ? {} : { cursor }) });
    const page = await get(upstream, `/brands/${brand['id']}/responses?${query}`);
    items.push(...listOf(page).map((response) => toItem(response, String(brand['name']))));
    const next = isRecord(page) ? page['nextCursor'] : null;
    if (typeof next !== 'string') return items;
    cursor = next;
  }
  throw new Error(`upstream returned more than ${PAGES_MAX} pages`);
}

function toItem(response: Record<string, unknown>, brand: string): Item {
  const cited = response['citations'];
  return {
    brand,
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
