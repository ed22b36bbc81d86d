import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { SightlineError } from '../../base/errors.ts';
import type { McpHandler } from '../mcp/http.ts';
import type { Service } from '../service.ts';
import type { Answers } from './answers.ts';
import { createDocumentHandler } from './document.ts';
import type { Gate } from './gate.ts';
import { attempt } from './hooks.ts';
import { createOutbox } from './outbox.ts';
import {
  BASE_PATH,
  type Endpoint,
  LIVE_PATH,
  MCP_PATH,
  OPENAPI_PATH,
  READY_PATH,
  SNAPSHOT_FILE_PATHS,
  SNAPSHOT_MANIFEST_PATH,
  SNAPSHOTS_PATH,
  toFastifyPath,
} from './paths.ts';
import { createReadHandler } from './read.ts';
import { nothingThere } from './refusal.ts';
import { createSnapshotHandlers } from './snapshots.ts';
import type { StatusPage } from './status.ts';

/** What the routes need. */
export interface RouteParts {
  readonly service: Service;
  readonly answers: Answers;
  readonly endpoints: readonly Endpoint[];
  /** The address at which clients find the API, once the server listens. */
  readonly baseUrl: () => string;
  readonly rateLimit: number | 'off';
  readonly mcp: McpHandler;
  readonly gate: Gate;
  readonly bodyBytesMax: number;
  /** How many assistants' requests may be under way. */
  readonly mcpRunningMax: number;
  /** What answers vary by. */
  readonly vary: string;
  /** Whether some origins are allowed, so that answers may have headers for their pages. */
  readonly hasPages: boolean;
  /** Folder of the published snapshots; null where none are served. */
  readonly snapshots: string | null;
  /** Null where there is no status page. */
  readonly page: StatusPage | null;
  readonly isStopping: () => boolean;
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => unknown;

/** Puts every endpoint in its place. */
export function addRoutes(app: FastifyInstance, parts: RouteParts): void {
  const { service, answers, endpoints, mcp, gate, vary, hasPages } = parts;
  const add = (path: string, handler: Handler, bodyLimit?: number): void => {
    const endpoint = endpoints.find((candidate) => candidate.path === path);
    if (endpoint === undefined) throw new TypeError(`${path} is no endpoint`);
    app.route({
      method: [...endpoint.methods],
      url: toFastifyPath(path),
      config: { endpoint },
      onRequest: (request, _reply, done) => attempt(() => gate.admit(request, endpoint), done),
      handler,
      ...(bodyLimit === undefined ? {} : { bodyLimit }),
    });
  };
  const reading = { service, answers, outbox: createOutbox(), vary, hasPages };
  for (const resource of service.catalogue.resources) {
    add(`${BASE_PATH}${resource.path}`, createReadHandler(reading, resource));
  }
  const snapshots = createSnapshotHandlers(parts.snapshots);
  add(SNAPSHOTS_PATH, snapshots.list);
  add(SNAPSHOT_MANIFEST_PATH, snapshots.manifest);
  for (const path of SNAPSHOT_FILE_PATHS) add(path, snapshots.file);
  for (const [path, handler] of parts.page?.handlers(gate, snapshots) ?? []) add(path, handler);
  add(LIVE_PATH, (request, reply) => sendJson(request, reply, { status: 'ok' }));
  add(READY_PATH, createReadyHandler(service, parts.isStopping));
  add(OPENAPI_PATH, createDocumentHandler(parts));
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
      for (const [name, value] of Object.entries({ ...reply.getHeaders(), ...request.visit.headers })) {
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

/** Reads bodies as text, and refuses what no route and no hook has refused. */
export function addBodyParser(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  // As text, whatever it calls itself: only assistants send bodies, and their handler says what is wrong with one.
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  app.setNotFoundHandler(() => {
    throw nothingThere();
  });
}
