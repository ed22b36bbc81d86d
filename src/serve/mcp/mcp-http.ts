import { type NodeIncomingMessageLike, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler as createLibraryHandler, ProtocolErrorCode, type Server } from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SightlineError } from '../../base/errors.ts';
import type { Service } from '../../query/service.ts';
import { createRefusing, createServerFactory, type McpOptions } from './mcp-server.ts';
import { servedOne } from './served.ts';

/** Node's request and response. */
type Request = FastifyRequest['raw'];
type Response = FastifyReply['raw'];

/**
 * Handles one HTTP request to the MCP endpoint, with its body already parsed. A tool call with a `refusal`, such as an exceeded rate
 * limit, gets it as its result, because clients do not show the status of a response to the model.
 */
export type McpHandler = (
  request: Request,
  response: Response,
  body: unknown,
  refusal?: SightlineError,
) => Promise<void>;

/**
 * Serves MCP over HTTP without sessions, in revision 2026-07-28 and earlier ones. GET and DELETE are rejected with 405.
 * The caller must check authentication, origin and rate limit.
 */
export function createMcpHandler(service: Service, options: McpOptions = {}): McpHandler {
  const onerror = (error: Error): void => options.onError?.(error);
  // Tools and resources never change at runtime, so there are no subscriptions and no streams to keep open.
  const toHandler = (factory: () => Server): NodeHandler =>
    toNodeHandler(createLibraryHandler(factory, { onerror, maxSubscriptions: 0 }), { onerror });
  const answer = toHandler(createServerFactory(servedOne(service), options));
  return async (request, response, body, refusal) => {
    if (request.method !== 'POST') response.setHeader('Allow', 'POST');
    if (Array.isArray(body) && body.length > 1) refuseBatch(response);
    else if (refusal === undefined) await answer(request as NodeIncomingMessageLike, response, body);
    else await toHandler(createRefusing(refusal))(request as NodeIncomingMessageLike, response, body);
  };
}

type NodeHandler = ReturnType<typeof toNodeHandler>;

// A batch would count as one request against the rate limit; only an obsolete revision has batches.
function refuseBatch(response: Response): void {
  const message = 'Batches are not supported; send one message per request.';
  const error = { code: ProtocolErrorCode.InvalidRequest, message };
  response.writeHead(400, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', error, id: null }));
}
