import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { SightlineError } from '../../base/errors.ts';
import type { McpHandler } from '../mcp/http.ts';
import type { Service } from '../service.ts';
import type { Answers } from './answers.ts';
import { compress } from './compression.ts';
import { encodingOf } from './negotiation.ts';
import { BASE_PATH, type Endpoint, LIVE_PATH, MCP_PATH, OPENAPI_PATH, READY_PATH, toFastifyPath } from './paths.ts';
import { createReadHandler } from './read.ts';
import { Refusal } from './refusal.ts';

/** What the routes need. */
export interface RouteParts {
  readonly service: Service;
  readonly answers: Answers;
  readonly endpoints: readonly Endpoint[];
  /** Writes the OpenAPI document; left out where there is none. */
  readonly openApi?: () => unknown;
  readonly mcp: McpHandler;
  readonly bodyBytesMax: number;
  /** How many assistants' requests may be under way. */
  readonly mcpRunningMax: number;
  /** What answers vary by. */
  readonly vary: string;
  readonly isStopping: () => boolean;
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => unknown;

/** Puts every endpoint in its place. */
export function addRoutes(app: FastifyInstance, parts: RouteParts): void {
  const { service, answers, endpoints, openApi, mcp, vary } = parts;
  const add = (path: string, handler: Handler, bodyLimit?: number): void => {
    const endpoint = endpoints.find((candidate) => candidate.path === path);
    if (endpoint === undefined) throw new TypeError(`${path} is no endpoint`);
    app.route({
      method: [...endpoint.methods],
      url: toFastifyPath(path),
      config: { endpoint },
      handler,
      ...(bodyLimit === undefined ? {} : { bodyLimit }),
    });
  };
  for (const resource of service.catalogue.resources) {
    add(`${BASE_PATH}${resource.path}`, createReadHandler(service, answers, resource, vary));
  }
  add(LIVE_PATH, (request, reply) => sendJson(request, reply, { status: 'ok' }));
  add(READY_PATH, createReadyHandler(service, parts.isStopping));
  if (openApi !== undefined) add(OPENAPI_PATH, createDocumentHandler(openApi));
  add(MCP_PATH, createMcpRoute(mcp, parts.mcpRunningMax), parts.bodyBytesMax);
}

/** Sends a value as JSON, never to be kept. */
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
    if (!ready) throw new SightlineError('no_data', 'The first sync has not published anything yet.');
    const synced = syncedAt === null ? null : new Date(syncedAt).toISOString();
    return sendJson(request, reply, { status: 'ready', syncedAt: synced, syncStatus: status });
  };
}

// The document changes with what upstream's sends, so it is written anew each time; it is asked for rarely.
function createDocumentHandler(openApi: () => unknown): Handler {
  return async (request, reply) => {
    const plain = Buffer.from(JSON.stringify(openApi()));
    const encoding = encodingOf(request.headers['accept-encoding']);
    const bytes = encoding === 'identity' ? plain : await compress(plain, encoding);
    if (encoding !== 'identity') reply.header('content-encoding', encoding);
    request.visit.bytes = request.method === 'HEAD' ? 0 : bytes.length;
    return reply
      .header('content-type', 'application/json; charset=utf-8')
      .header('cache-control', 'no-cache')
      .header('vary', 'Accept-Encoding')
      .send(bytes);
  };
}

function createMcpRoute(mcp: McpHandler, runningMax: number): Handler {
  let running = 0;
  return async (request, reply) => {
    if (running >= runningMax) {
      throw new SightlineError(
        'overloaded',
        `${runningMax} requests of assistants are under way, as many as are allowed`,
      );
    }
    const body = parseBody(request.body);
    if (body instanceof SyntaxError) {
      const error = { code: -32_700, message: 'Parse error: the body is not JSON.' };
      return reply
        .code(400)
        .type('application/json')
        .send(JSON.stringify({ jsonrpc: '2.0', id: null, error }));
    }
    running += 1;
    try {
      // From here on the handler writes; what was to be said beside it goes along.
      for (const [name, value] of Object.entries(reply.getHeaders())) {
        if (value !== undefined) reply.raw.setHeader(name, value);
      }
      reply.hijack();
      await mcp(request.raw, reply.raw, body);
    } catch (thrown) {
      request.log.error({ id: request.id, err: thrown });
      reply.raw.destroy();
    } finally {
      running -= 1;
    }
    return reply;
  };
}

function parseBody(text: unknown): unknown {
  if (typeof text !== 'string' || text === '') return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch (thrown) {
    return thrown;
  }
}

/** The refusal of a request whose body was read and is of no use. */
export function addBodyParser(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  // As text, whatever it calls itself: only assistants send bodies, and their handler says what is wrong with one.
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  app.setNotFoundHandler(() => {
    throw new Refusal('not_found', 'There is nothing at this address.');
  });
}
