import { randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import { type FastifyHttpOptions, type FastifyInstance, type FastifyReply, fastify, LogController } from 'fastify';
import type { HttpLimits } from './limits.ts';
import type { Log } from './log.ts';
import { createParserErrorHandler } from './parser-errors.ts';
import { toReadableUrl } from './paths.ts';
import { toErrorReply } from './refusal.ts';

/** Builds Fastify without any route: its bounds, its log, and the envelope for what it refuses by itself. */
export function createFramework(limits: HttpLimits, { logger }: Log): FastifyInstance {
  const options: FastifyHttpOptions<Server> = {
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    // One line a request is written at its end; a logger for each would cost more than the line.
    childLoggerFactory: (parent) => parent,
    genReqId: () => randomUUID(),
    requestIdHeader: false,
    exposeHeadRoutes: false,
    // While it stops, requests get the same envelope as ever, from the gate.
    return503OnClosing: false,
    // No route has a schema of Fastify's: compilers that nobody asks for take as long to load as all of the schemas here.
    schemaController: { compilersFactory: { buildValidator: refuseSchema, buildSerializer: refuseSchema } },
    bodyLimit: limits.bodyBytesMax,
    connectionTimeout: limits.idleTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    routerOptions: { maxParamLength: limits.headerBytesMax, querystringParser: () => ({}) },
    http: {
      maxHeaderSize: limits.headerBytesMax,
      headersTimeout: limits.headersTimeoutMs,
      connectionsCheckingInterval: Math.min(1_000, limits.headersTimeoutMs),
      // A missing Host is refused by the gate, in the envelope.
      requireHostHeader: false,
    },
    rewriteUrl: (request) => toReadableUrl(request.url ?? ''),
    clientErrorHandler: createParserErrorHandler(limits.urlCharactersMax, ({ requestId, status, bytes }) =>
      app.log.info({ id: requestId, method: null, path: null, status, ms: 0, key: null, bytes, cache: null }),
    ),
    frameworkErrors: (error, request, reply) => sendError(error, request.id, reply as unknown as FastifyReply),
  };
  const app = fastify(options);
  app.server.maxConnections = limits.connectionsMax;
  // What a client expects of a server that does not offer it is left unmet, rather than answered without an envelope.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  return app;
}

function refuseSchema(): never {
  throw new TypeError('routes check and write what they take and give by themselves');
}

// No hook has seen such a request: addresses are made readable before, so that there should be none.
function sendError(thrown: unknown, requestId: string, reply: FastifyReply): void {
  const { status, headers, body } = toErrorReply(thrown, requestId);
  void reply
    .code(status)
    .headers({ ...headers, 'x-request-id': requestId, 'content-type': 'application/json; charset=utf-8' })
    .send(body);
}
