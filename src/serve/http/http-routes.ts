import type { FastifyInstance, FastifyRequest } from 'fastify';
import { SightlineError } from '../../base/errors.ts';
import { isRecord } from '../../base/json.ts';
import type { Service } from '../../read/service.ts';
import type { Scope } from '../../workspace/stored-keys.ts';
import { type AccessControl, LOOPBACK } from '../auth/access-control.ts';
import type { McpHandler } from '../mcp/mcp-http.ts';
import { createReferenceHandler } from '../pages/asset-handler.ts';
import { sendJson } from './content/send.ts';
import { createDocumentHandler, type DocumentParts } from './document-handler.ts';
import { attempt } from './hooks.ts';
import {
  BASE_PATH,
  type Endpoint,
  type Handler,
  LIVE_PATH,
  MCP_PATH,
  OPENAPI_PATH,
  openRoute,
  READ,
  READY_PATH,
  REFERENCE_PATHS,
  type Route,
  toFastifyPath,
} from './paths.ts';
import { createReadHandler, type ReadParts, serviceFor } from './read-handler.ts';
import { nothingThere, Refusal } from './refusal.ts';
import { createResponseWriter } from './response-writer.ts';

/** Maximum nesting of the JSON in a request. */
const DEPTH_MAX = 64;

/** Dependencies of the routes of the API. */
export interface RouteParts extends Omit<ReadParts, 'responseWriter'>, Omit<DocumentParts, 'service'> {
  /** Returns the handler of MCP requests for a reader with these scopes. */
  readonly mcp: (service: Service, scopes: readonly Scope[]) => McpHandler;
  readonly bodyBytesMax: number;
  /** Maximum number of concurrent MCP requests. */
  readonly mcpRunningMax: number;
  readonly isStopping: () => boolean;
}

/** Returns the routes of the API, its description, MCP and the probes. */
export function createApiRoutes(parts: RouteParts): Route[] {
  const { service } = parts;
  const reading = { ...parts, responseWriter: createResponseWriter() };
  const reference = createReferenceHandler();
  return [
    ...service.catalogue.resources.map((resource): Route => {
      const handler = createReadHandler(reading, resource);
      return { path: `${BASE_PATH}${resource.path}`, methods: READ, isOpen: false, scopes: ['read'], handler };
    }),
    openRoute(OPENAPI_PATH, createDocumentHandler(parts)),
    ...REFERENCE_PATHS.map((path) => openRoute(path, reference)),
    {
      path: MCP_PATH,
      methods: ['POST', 'GET', 'DELETE'],
      isOpen: false,
      // Each tool checks its own scope.
      scopes: ['read', 'metrics', 'sql'],
      handler: createMcpRoute(parts),
      bodyBytesMax: parts.bodyBytesMax,
    },
    openRoute(LIVE_PATH, (request, reply) => sendJson(request, reply, { status: 'ok' })),
    openRoute(READY_PATH, createReadyHandler(service, parts.isStopping)),
  ];
}

/** Adds routes to Fastify, each behind the access control. */
export function addRoutes(app: FastifyInstance, routes: readonly Route[], accessControl: AccessControl): void {
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
  for (const { handler, bodyBytesMax: bodyLimit, ...endpoint } of routes) {
    app.route({
      method: [...endpoint.methods],
      url: toFastifyPath(endpoint.path),
      config: { endpoint },
      onRequest: (request, _reply, done) => attempt(() => admit(request, endpoint), done),
      handler,
      ...(bodyLimit === undefined ? {} : { bodyLimit }),
    });
  }
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
