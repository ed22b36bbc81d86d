import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Choices } from './choices.ts';
import { describeApi } from './describe-api.ts';
import {
  forBrand,
  type ListRequest,
  listAlerts,
  listAnswers,
  listArticles,
  listBrands,
  listCompetitors,
  listEngines,
  listGroups,
  listPlans,
  listPrompts,
  listThreads,
  showArticle,
  showBrand,
  showCredits,
} from './lists.ts';
import { Rejection, readSelection } from './parameters.ts';
import { createRandom } from './random.ts';
import {
  dailyReport,
  groupsReport,
  metricsReport,
  promptsReport,
  type ReportRequest,
  withoutCounts,
} from './reports.ts';
import { domainsReport, trafficReport, urlsReport } from './sources.ts';
import type { World } from './world.ts';

/** Status and body of a response. */
export interface Reply {
  readonly status: number;
  readonly body: unknown;
}

/** A running upstream. */
export interface Upstream {
  readonly baseUrl: string;
  /** Answers a request without HTTP and rate limit. */
  reply(pathAndQuery: string): Reply;
  /** Requests over HTTP that were not answered with 200, as path and query. */
  readonly rejected: readonly string[];
  close(): Promise<void>;
}

export interface UpstreamOptions {
  readonly world: World;
  readonly choices: Choices;
  readonly key: string;
  /** Milliseconds of a clock that never goes back, for the rate limit. */
  readonly monotonic: () => number;
}

// A key with a higher limit than usual, so that the test never waits.
const REQUESTS_PER_MINUTE = 6_000;
const MINUTE_MS = 60_000;

/** Starts an upstream on loopback. */
export async function startUpstream({ world, choices, key, monotonic }: UpstreamOptions): Promise<Upstream> {
  const ids = createRandom(7);
  let times: number[] = [];
  const rejected: string[] = [];
  const reply = (pathAndQuery: string): Reply => answer(world, choices, pathAndQuery, ids.uuid);
  const send = (response: ServerResponse, { status, body }: Reply, headers: Record<string, string> = {}): void => {
    response.sendDate = false;
    const common = { 'content-type': 'application/json', date: new Date(world.nowMs).toUTCString() };
    response.writeHead(status, { ...common, ...headers }).end(JSON.stringify(body));
  };
  const receive = (request: IncomingMessage, response: ServerResponse): void => {
    const path = (request.url ?? '').replace(/^\/v1/, '');
    if (keyOf(request) !== key) {
      send(response, failure(401, 'unauthorized', 'The API key is missing or invalid.', ids.uuid));
      return;
    }
    const now = monotonic();
    times = times.filter((at) => at > now - MINUTE_MS);
    if (times.length >= REQUESTS_PER_MINUTE) {
      const seconds = Math.ceil(((times[0] as number) + MINUTE_MS - now) / 1000);
      const body = failure(429, 'rate_limited', `Too many requests; wait ${seconds} seconds.`, ids.uuid);
      send(response, body, { 'retry-after': String(seconds) });
      return;
    }
    times.push(now);
    const replied = reply(path);
    if (replied.status !== 200) rejected.push(path);
    send(response, replied, {
      'x-ratelimit-limit': String(REQUESTS_PER_MINUTE),
      'x-ratelimit-remaining': String(REQUESTS_PER_MINUTE - times.length),
    });
  };
  const server = createServer(receive);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { baseUrl: `http://127.0.0.1:${port}/v1`, reply, rejected, close };
}

function keyOf({ headers }: IncomingMessage): string | null {
  const bearer = /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1];
  const plain = headers['x-api-key'];
  return bearer ?? (typeof plain === 'string' ? plain : null);
}

function failure(status: number, code: string, message: string, uuid: () => string): Reply {
  return { status, body: { error: { code, message, requestId: uuid() } } };
}

function answer(world: World, choices: Choices, pathAndQuery: string, uuid: () => string): Reply {
  const url = new URL(pathAndQuery, 'http://upstream.example');
  const query = new Map(url.searchParams);
  try {
    const body = route({ world, choices, query, path: url.pathname });
    return body === undefined ? failure(404, 'not_found', 'There is no such address.', uuid) : { status: 200, body };
  } catch (thrown) {
    if (thrown instanceof Rejection) return failure(thrown.status, thrown.code, thrown.message, uuid);
    throw thrown;
  }
}

const BRAND_LISTS: Readonly<Record<string, (request: ListRequest) => unknown>> = {
  '': ({ brand, choices }) => showBrand(brand, choices),
  competitors: listCompetitors,
  prompts: listPrompts,
  'prompt-groups': listGroups,
  metrics: (request) => withoutCounts(metricsReport(toReport(request))),
  'metrics/daily': (request) => dailyReport(toReport(request)),
  'metrics/prompts': (request) => promptsReport(toReport(request)),
  'metrics/groups': (request) => groupsReport(toReport(request)),
  traffic: trafficReport,
  'sources/domains': domainsReport,
  'sources/urls': urlsReport,
  responses: listAnswers,
  alerts: listAlerts,
  'action-plans': listPlans,
  articles: listArticles,
  'forum/opportunities': listThreads,
};

function toReport({ brand, world, query, choices }: ListRequest): ReportRequest {
  return { brand, query, choices, selection: readSelection(query, world, choices) };
}

function route(request: Omit<ListRequest, 'brand'>): unknown {
  const { path, world, choices } = request;
  if (path === '/openapi.json') return describeApi(choices);
  if (path === '/engines') return listEngines(world, choices);
  if (path === '/credits') return showCredits(world, choices);
  if (path === '/brands') return listBrands(world, choices);
  const [, brandId, rest = ''] = /^\/brands\/([^/]+)(?:\/(.+))?$/.exec(path) ?? [];
  if (brandId === undefined) return undefined;
  const articleId = /^articles\/([^/]+)$/.exec(rest)?.[1];
  if (articleId !== undefined) return showArticle(forBrand(request, brandId), articleId);
  return BRAND_LISTS[rest]?.(forBrand(request, brandId));
}
