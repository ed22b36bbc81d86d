import type { FastifyRequest } from 'fastify';
import { isRecord } from '../../base/json.ts';

/** Returns the JSON object in a request's body; null if the body is something else. */
export function jsonObjectOf({ body }: FastifyRequest): Record<string, unknown> | null {
  try {
    const value: unknown = typeof body === 'string' ? JSON.parse(body) : null;
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

/** Returns the JSON object in a request's body like `jsonObjectOf`, of type application/json only: pages of other sites cannot send it without a preflight. */
export function typedJsonOf(request: FastifyRequest): Record<string, unknown> | null {
  return /^application\/json\b/i.test(request.headers['content-type'] ?? '') ? jsonObjectOf(request) : null;
}
