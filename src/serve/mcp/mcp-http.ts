import { type NodeIncomingMessageLike, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler as createLibraryHandler, ProtocolErrorCode } from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Service } from '../../query/service.ts';
import { createServerFactory, type McpOptions } from './mcp-server.ts';

/** Node's request and response. */
type Request = FastifyRequest['raw'];
type Response = FastifyReply['raw'];

/** Handles one HTTP request to the MCP endpoint, with its body already parsed. */
export type McpHandler = (request: Request, response: Response, body: unknown) => Promise<void>;

/**
 * Serves MCP over HTTP without sessions, in revision 2026-07-28 and earlier ones. GET and DELETE are rejected with 405.
 * The caller must check authentication, origin and rate limit.
 */
export function createMcpHandler(service: Service, options: McpOptions = {}): McpHandler {
  const onerror = (error: Error): void => options.onError?.(error);
  // Tools and resources never change at runtime, so there are no subscriptions and no streams to keep open.
  const handler = createLibraryHandler(createServerFactory(service, options), { onerror, maxSubscriptions: 0 });
  const answer = toNodeHandler(handler, { onerror });
  return async (request, response, body) => {
    if (request.method !== 'POST') response.setHeader('Allow', 'POST');
    if (Array.isArray(body) && body.length > 1) refuseBatch(response);
    else await answer(request as NodeIncomingMessageLike, response, body);
  };
}

// A batch would count as one request against the rate limit; only an obsolete revision has batches.
function refuseBatch(response: Response): void {
  const message = 'Batches are not supported; send one message per request.';
  const error = { code: ProtocolErrorCode.InvalidRequest, message };
  response.writeHead(400, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', error, id: null }));
}
