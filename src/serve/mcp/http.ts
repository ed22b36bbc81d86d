import { type NodeIncomingMessageLike, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler as createLibraryHandler, ProtocolErrorCode } from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Service } from '../service.ts';
import { createServerFactory, type McpOptions } from './server.ts';

/** Node's own request and response. */
type Request = FastifyRequest['raw'];
type Response = FastifyReply['raw'];

/** Answers one HTTP request to the MCP endpoint, whose body has been read and parsed. */
export type McpHandler = (request: Request, response: Response, body: unknown) => Promise<void>;

/**
 * Serves MCP over HTTP without sessions, in the 2026-07-28 revision and the earlier ones: POST is answered, GET and
 * DELETE are told 405. Who may ask, from where and how often is for the caller to check.
 */
export function createMcpHandler(service: Service, options: McpOptions = {}): McpHandler {
  const onerror = (error: Error): void => options.onError?.(error);
  // Nothing here ever changes on its own, so there is nothing to subscribe to, and no stream to keep open.
  const handler = createLibraryHandler(createServerFactory(service, options), { onerror, maxSubscriptions: 0 });
  const answer = toNodeHandler(handler, { onerror });
  return async (request, response, body) => {
    if (request.method !== 'POST') response.setHeader('Allow', 'POST');
    if (Array.isArray(body) && body.length > 1) refuseBatch(response);
    else await answer(request as NodeIncomingMessageLike, response, body);
  };
}

// A batch would be many requests for the price of one; only a revision that nobody speaks any more has it.
function refuseBatch(response: Response): void {
  const message = 'Batches are not served: send one message a request.';
  const error = { code: ProtocolErrorCode.InvalidRequest, message };
  response.writeHead(400, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', error, id: null }));
}
