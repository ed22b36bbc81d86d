import type { ServerResponse } from 'node:http';
import type { Refusal } from './fixture.ts';

/** A complete response, before it is sent. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** How a response is sent over the wire. */
export type Delivery = 'whole' | 'reset' | 'reset-midway' | 'hang' | 'truncate' | 'slow';

const SLOW_CHUNKS = 20;

/** Returns a JSON response. */
export function jsonReply(body: unknown, headers: Readonly<Record<string, string>> = {}): Reply {
  return {
    status: 200,
    headers: { 'Content-Type': 'application/json; charset=utf-8', ...headers },
    body: toJson(body),
  };
}

/** Returns an error in the documented envelope. */
export function errorReply(refusal: Refusal, requestId: string): Reply {
  const { code, message } = refusal;
  return { ...jsonReply({ error: { code, message, requestId } }, refusal.headers), status: refusal.status };
}

/**
 * Sends a response, or breaks it as `delivery` requires. `later` runs a step after a delay, unless the server is closed
 * first.
 */
export function deliver(
  response: ServerResponse,
  reply: Reply,
  delivery: Delivery,
  later: (step: () => void, delayMs: number) => void,
  chunkDelayMs: number,
): void {
  if (delivery === 'hang' || response.destroyed) return;
  if (delivery === 'reset') {
    response.socket?.resetAndDestroy();
    return;
  }
  const bytes = Buffer.from(reply.body);
  response.writeHead(reply.status, { ...reply.headers, 'Content-Length': String(bytes.length) });
  const half = bytes.subarray(0, Math.floor(bytes.length / 2));
  switch (delivery) {
    case 'whole':
      response.end(bytes);
      return;
    case 'truncate':
      response.write(half, () => response.socket?.destroySoon());
      return;
    case 'reset-midway':
      response.write(half, () => response.socket?.resetAndDestroy());
      return;
    case 'slow':
      trickle(response, bytes, later, chunkDelayMs);
  }
}

function trickle(
  response: ServerResponse,
  bytes: Buffer,
  later: (step: () => void, delayMs: number) => void,
  chunkDelayMs: number,
): void {
  const size = Math.max(1, Math.ceil(bytes.length / SLOW_CHUNKS));
  const step = (offset: number): void => {
    if (response.destroyed) return;
    if (offset >= bytes.length) {
      response.end();
      return;
    }
    response.write(bytes.subarray(offset, offset + size));
    later(() => step(offset + size), chunkDelayMs);
  };
  step(0);
}

function toJson(body: unknown): string {
  return JSON.stringify(body) ?? 'null';
}
