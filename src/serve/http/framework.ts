import { randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import {
  type FastifyHttpOptions,
  type FastifyInstance,
  type FastifyReply,
  type FastifyServerFactory,
  fastify,
  LogController,
} from 'fastify';
import type { Log } from '../telemetry/server-log.ts';
import type { HttpLimits } from './http-limits.ts';
import { type Listener, parserOptions } from './listener.ts';
import { createParserErrorHandler } from './parser-errors.ts';
import { splitWorkspace, toReadableUrl } from './paths.ts';
import { toErrorReply } from './refusal.ts';

/**
 * Creates Fastify without routes: limits, log, and the error envelope for its own errors. With `isFleet`, routes are found without the
 * prefix that names a workspace. With a listener, its server is used.
 */
export function createFramework(
  limits: HttpLimits,
  { logger }: Log,
  isFleet: boolean,
  listener?: Listener,
): FastifyInstance {
  const options: FastifyHttpOptions<Server> = {
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    // Each request is logged in one line at its end, so a child logger per request is not needed.
    childLoggerFactory: (parent) => parent,
    genReqId: () => randomUUID(),
    requestIdHeader: false,
    exposeHeadRoutes: false,
    // During shutdown the access control rejects requests, with the usual envelope.
    return503OnClosing: false,
    // No route uses Fastify's schemas, and loading the unused compilers takes as long as loading all schemas here.
    schemaController: { compilersFactory: { buildValidator: refuseSchema, buildSerializer: refuseSchema } },
    bodyLimit: limits.bodyBytesMax,
    connectionTimeout: limits.idleTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    routerOptions: { maxParamLength: limits.headerBytesMax, querystringParser: () => ({}) },
    http: parserOptions(limits),
    rewriteUrl: ({ url = '' }) => (isFleet ? splitWorkspace(toReadableUrl(url)).rest : toReadableUrl(url)),
    clientErrorHandler: createParserErrorHandler(limits.urlCharactersMax, ({ requestId, status, bytes }) =>
      app.log.info({ id: requestId, method: null, path: null, status, ms: 0, key: null, bytes, cache: null }),
    ),
    frameworkErrors: (error, request, reply) => sendError(error, request.id, reply as unknown as FastifyReply),
  };
  const app = fastify(listener === undefined ? options : { ...options, serverFactory: adopt(listener, limits) });
  app.server.maxConnections = limits.connectionsMax;
  // A client may close its half of the connection after the request. Node then waits for the response; the option is not typed.
  Object.assign(app.server, { httpAllowHalfOpen: true });
  // Ignore Expect headers that Node does not support, because Node would respond 417 without the envelope.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  return app;
}

function adopt(listener: Listener, limits: HttpLimits): FastifyServerFactory {
  return (handler) => {
    listener.adopt(handler, limits);
    return listener.server;
  };
}

function refuseSchema(): never {
  throw new TypeError('routes validate and serialize without Fastify schemas');
}

// No hook has run for such a request. This should not happen, because rewriteUrl makes all URLs decodable.
function sendError(thrown: unknown, requestId: string, reply: FastifyReply): void {
  const { status, headers, body } = toErrorReply(thrown, requestId);
  void reply
    .code(status)
    .headers({ ...headers, 'x-request-id': requestId, 'x-content-type-options': 'nosniff' })
    .type('application/json; charset=utf-8')
    .send(body);
}
