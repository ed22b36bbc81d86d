import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { HostRules } from '../auth/hosts.ts';
import { nothingThere, Refusal, toErrorReply } from '../http/refusal.ts';
import type { Telemetry } from './telemetry.ts';

/** Path of the metrics. */
export const METRICS_PATH = '/metrics';

/**
 * Creates the metrics listener. It has its own port, so that access to metrics and to the API can be granted
 * separately.
 */
export function createMetricsServer(telemetry: Telemetry, hosts: HostRules): Server {
  return createServer({ requestTimeout: 10_000, keepAliveTimeout: 5_000 }, (request, response) => {
    request.resume();
    response.setHeader('X-Content-Type-Options', 'nosniff');
    answer(telemetry, hosts, request, response).catch((thrown: unknown) => {
      const requestId = randomUUID();
      const { status, headers, body } = toErrorReply(thrown, requestId);
      response.writeHead(status, {
        'Content-Type': 'application/json; charset=utf-8',
        'Content-Length': Buffer.byteLength(body),
        'X-Request-Id': requestId,
        ...headers,
      });
      response.end(body);
    });
  });
}

async function answer(
  telemetry: Telemetry,
  hosts: HostRules,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (!hosts.acceptsHost(request.headers.host ?? '')) {
    throw new Refusal('forbidden', 'This server does not answer under that host name.');
  }
  if ((request.url ?? '').split('?')[0] !== METRICS_PATH) throw nothingThere();
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    throw new Refusal('method_not_allowed', 'This address accepts GET, HEAD.', { Allow: 'GET, HEAD' });
  }
  const { text, mediaType } = await telemetry.render();
  response.writeHead(200, { 'Content-Type': mediaType, 'Content-Length': Buffer.byteLength(text) });
  response.end(text);
}
