import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { SightlineError } from '../../base/errors.ts';
import { isRecord } from '../../base/json.ts';
import type { Service } from '../../query/service.ts';
import type { Scope } from '../../session/stored-keys.ts';
import { type AccessControl, LOOPBACK } from '../auth/access-control.ts';
import type { SiteOAuth } from '../auth/oauth/oauth.ts';
import { SECRET_BYTES_MAX } from '../auth/session-handlers.ts';
import type { McpHandler } from '../mcp/mcp-http.ts';
import { createReferenceHandler } from '../pages/asset-handler.ts';
import type { Pages } from '../pages/site-pages.ts';
import { createDocumentHandler } from './document-handler.ts';
import { attempt } from './hooks.ts';
import type { ListStreams } from './list-streams.ts';
import { DATA_PATHS } from './page-paths.ts';
import {
  BASE_PATH,
  type Endpoint,
  LIVE_PATH,
  MCP_PATH,
  OPENAPI_PATH,
  READY_PATH,
  REFERENCE_PATHS,
  SNAPSHOT_FILE_PATHS,
  SNAPSHOT_MANIFEST_PATH,
  SNAPSHOTS_PATH,
  toFastifyPath,
} from './paths.ts';
import { createReadHandler, serviceFor } from './read-handler.ts';
import { nothingThere, Refusal } from './refusal.ts';
import { createResponseWriter } from './response-writer.ts';
import type { Answers } from './responses.ts';
import { createSnapshotHandlers } from './snapshots.ts';

/** Maximum nesting of the JSON in a request. */
const DEPTH_MAX = 64;

/** Dependencies of the routes. */
export interface RouteParts {
  readonly service: Service;
  readonly answers: Answers;
  readonly lists: ListStreams;
  readonly endpoints: readonly Endpoint[];
  /** Returns the base URL of the API, once the server listens. */
  readonly baseUrl: () => string;
  readonly rateLimit: number | 'off';
  /** Returns the handler of MCP requests for a reader with these scopes. */
  readonly mcp: (service: Service, scopes: readonly Scope[]) => McpHandler;
  readonly accessControl: AccessControl;
  readonly bodyBytesMax: number;
  /** Maximum number of concurrent MCP requests. */
  readonly mcpRunningMax: number;
  /** Whether any origin is allowed, so that responses may have CORS headers. */
  readonly hasPages: boolean;
  /** Folder of the published snapshots; null if none are served. */
  readonly snapshots: string | null;
  /** Null if no access tokens are accepted. */
  readonly oauth: SiteOAuth | null;
  /** Null if no pages are served. */
  readonly pages: Pages | null;
  /** Handlers of signing in and out, by path. */
  readonly sessionHandlers: ReadonlyMap<string, Handler>;
  readonly isStopping: () => boolean;
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => unknown;

/** Adds every endpoint to Fastify. */
export function addRoutes(app: FastifyInstance, parts: RouteParts): void {
  const { service, answers, endpoints, accessControl, hasPages } = parts;
  const admit = (request: FastifyRequest, endpoint: Endpoint): void => {
    try {
      accessControl.admit(request, endpoint);
    } catch (thrown) {
      // A tool call with a valid key gets this error as its result, which needs the body. Other requests get it as their response.
      const isLimited = thrown instanceof Refusal && thrown.code === 'rate_limited';
      if (endpoint.path !== MCP_PATH || request.visit.keyId === null || !isLimited) throw thrown;
      request.visit.refusal = thrown;
    }
  };
  const add = (path: string, handler: Handler, bodyLimit?: number): void => {
    const endpoint = endpoints.find((candidate) => candidate.path === path);
    if (endpoint === undefined) throw new TypeError(`${path} is not a declared endpoint`);
    app.route({
      method: [...endpoint.methods],
      url: toFastifyPath(path),
      config: { endpoint },
      onRequest: (request, _reply, done) => attempt(() => admit(request, endpoint), done),
      handler,
      ...(bodyLimit === undefined ? {} : { bodyLimit }),
    });
  };
  const reading = {
    service,
    answers,
    lists: parts.lists,
    responseWriter: createResponseWriter(),
    accessControl,
    hasPages,
  };
  for (const resource of service.catalogue.resources) {
    add(`${BASE_PATH}${resource.path}`, createReadHandler(reading, resource));
  }
  const snapshots = createSnapshotHandlers(parts.snapshots);
  add(SNAPSHOTS_PATH, snapshots.list);
  add(SNAPSHOT_MANIFEST_PATH, snapshots.manifest);
  for (const path of SNAPSHOT_FILE_PATHS) add(path, snapshots.file);
  for (const [path, handler] of parts.pages?.handlers(accessControl, snapshots) ?? []) add(path, handler);
  for (const [path, handler] of parts.sessionHandlers) add(path, handler, SECRET_BYTES_MAX);
  const { paths = [], metadata } = parts.oauth?.resource ?? {};
  for (const path of paths) add(path, (request, reply) => sendJson(request, reply, metadata));
  add(LIVE_PATH, (request, reply) => sendJson(request, reply, { status: 'ok' }));
  add(READY_PATH, createReadyHandler(service, parts.isStopping));
  add(
    OPENAPI_PATH,
    createDocumentHandler({ ...parts, hasData: endpoints.some(({ path }) => path === DATA_PATHS.queries) }),
  );
  const reference = createReferenceHandler();
  for (const path of REFERENCE_PATHS) add(path, reference);
  add(MCP_PATH, createMcpRoute(parts), parts.bodyBytesMax);
}

/** Sends a value as JSON that must not be cached. */
export function sendJson(request: FastifyRequest, reply: FastifyReply, value: unknown): FastifyReply {
  const bytes = Buffer.from(JSON.stringify(value));
  request.visit.bytes = request.method === 'HEAD' ? 0 : bytes.length;
  return reply
    .header('content-type', 'application/json; charset=utf-8')
    .header('cache-control', 'no-store')
    .send(bytes);
}

function createReadyHandler(service: Service, isStopping: () => boolean): Handler {
  return async (request, reply) => {
    if (isStopping()) throw new SightlineError('overloaded', 'The server is shutting down.');
    const { ready, syncedAt, status } = await service.freshness();
    if (!ready) {
      // Throws the reason: there is no replica yet, or it is damaged.
      await service.newest();
      throw new SightlineError('no_data', 'the replica was published just now; retry');
    }
    const synced = syncedAt === null ? null : new Date(syncedAt).toISOString();
    return sendJson(request, reply, { status: 'ready', syncedAt: synced, syncStatus: status });
  };
}

function createMcpRoute({ service, mcp, mcpRunningMax: runningMax }: RouteParts): Handler {
  let running = 0;
  return async (request, reply) => {
    checkDepth(request.body);
    const body = parseBody(request.body);
    const refusal = request.visit.refusal ?? (running >= runningMax ? busy(runningMax) : undefined);
    if (refusal !== undefined && !isToolCall(body)) throw refusal;
    if (body instanceof SyntaxError) {
      const error = { code: -32_700, message: 'Parse error: the body is not JSON.' };
      return reply
        .code(400)
        .type('application/json')
        .send(JSON.stringify({ jsonrpc: '2.0', id: null, error }));
    }
    running += 1;
    try {
      // The handler writes the response itself, so copy the headers that are already set.
      for (const [name, value] of Object.entries({
        ...reply.getHeaders(),
        ...request.visit.headers,
        ...refusal?.headers,
      })) {
        if (value !== undefined) reply.raw.setHeader(name, value);
      }
      reply.hijack();
      const handle = mcp(serviceFor(service, request), request.visit.access?.scopes ?? []);
      await handle(request.raw, reply.raw, body, { session: request.visit.keyId ?? LOOPBACK, refusal });
    } catch (thrown) {
      request.log.error({ id: request.id, err: thrown });
      reply.raw.destroy();
    } finally {
      running -= 1;
    }
    return reply;
  };
}

// Counts brackets before parsing, because the MCP library processes nested values recursively.
function checkDepth(text: unknown): void {
  if (typeof text !== 'string') return;
  let depth = 0;
  let isQuoted = false;
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    if (character === '"') isQuoted = !isQuoted;
    else if (isQuoted) index += character === '\\' ? 1 : 0;
    else if (character === '[' || character === '{') depth += 1;
    else if (character === ']' || character === '}') depth -= 1;
    if (depth > DEPTH_MAX) {
      const message = `the JSON is nested deeper than ${DEPTH_MAX} levels; allowed: up to ${DEPTH_MAX}`;
      throw new SightlineError('invalid_parameter', message);
    }
  }
}

// Whether a message calls a tool and expects a response.
function isToolCall(body: unknown): boolean {
  return isRecord(body) && body['method'] === 'tools/call' && body['id'] !== undefined;
}

function busy(runningMax: number): Refusal {
  const message = `${runningMax} MCP requests are in progress; allowed: ${runningMax}. Try again in 1 second.`;
  return new Refusal('overloaded', message, { 'Retry-After': '1' });
}

function parseBody(text: unknown): unknown {
  if (typeof text !== 'string' || text === '') return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch (thrown) {
    return thrown;
  }
}

/** Reads bodies as text, and rejects unknown routes. */
export function addBodyParser(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  // As text for any content type: only MCP requests have bodies, and their handler validates them.
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  app.setNotFoundHandler(() => {
    throw nothingThere();
  });
}
