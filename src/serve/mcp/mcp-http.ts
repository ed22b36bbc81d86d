import { type NodeIncomingMessageLike, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler as createLibraryHandler, ProtocolErrorCode } from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SightlineError } from '../../base/errors.ts';
import { createServerFactory } from './mcp-server.ts';
import type { Served } from './served.ts';
import type { McpOptions } from './tool-calls.ts';

/** Node's request and response. */
type Request = FastifyRequest['raw'];
type Response = FastifyReply['raw'];

/**
 * Handles one HTTP request to the MCP endpoint, with its body already parsed. If the caller has a `refusal`, such as an exceeded rate
 * limit, tool calls return it as their result, because clients do not show the status of a response to the model.
 */
export type McpHandler = (request: Request, response: Response, body: unknown, caller: McpCaller) => Promise<void>;

/** The caller of a request. Callers with different `session` take turns to run SQL. `refusal` is returned as the result of each tool call. */
export interface McpCaller {
  readonly session: string;
  readonly refusal?: SightlineError | undefined;
}

/**
 * Serves MCP over HTTP without sessions, in revision 2026-07-28 and earlier ones. GET and DELETE are rejected with 405.
 * The caller must check authentication, origin and rate limit.
 */
export function createMcpHandler(served: Served, options: McpOptions = {}): McpHandler {
  const onerror = (error: Error): void => options.onError?.(error);
  // Tools and resources never change at runtime, so there are no subscriptions and no streams to keep open.
  const handler = createLibraryHandler(createServerFactory(served, options), { onerror, maxSubscriptions: 0 });
  const answer = toNodeHandler(handler, { onerror });
  return async (raw, response, body, { session, refusal }) => {
    // The library passes `auth` on to the handlers, which do not need the token.
    const request = Object.assign(raw, { auth: { token: '', clientId: session, scopes: [], extra: { refusal } } });
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
