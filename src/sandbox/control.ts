import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Fault, parseFaults } from './faults.ts';
import { jsonReply, type Reply } from './reply.ts';

/** Path prefix of the requests that change a running sandbox; outside the API's own paths. */
export const CONTROL_PREFIX = '/_sandbox/';

const BODY_BYTES_MAX = 65_536;
const LOOPBACK = /^(::1|(::ffff:)?127\.\d+\.\d+\.\d+)$/;

/** Operations of the control requests. */
export interface Controls {
  advance(change: Record<string, unknown>): unknown;
  setFaults(faults: readonly Fault[]): void;
}

/** Handles a control request and returns the result as JSON. Accepts connections from this machine only. */
export async function control(request: IncomingMessage, response: ServerResponse, controls: Controls): Promise<void> {
  const reply = await carryOut(request, controls);
  response.writeHead(reply.status, { ...reply.headers, 'Content-Length': String(Buffer.byteLength(reply.body)) });
  response.end(reply.body);
}

async function carryOut(request: IncomingMessage, controls: Controls): Promise<Reply> {
  const refuse = (status: number, message: string): Reply => ({ ...jsonReply({ error: { message } }), status });
  if (!LOOPBACK.test(request.socket.remoteAddress ?? '')) return refuse(403, 'only from this machine');
  // Reject web pages, so that a page open in a local browser cannot change the sandbox; browsers always send Origin.
  if (request.headers.origin !== undefined) return refuse(403, 'not from a web page');
  if (request.method !== 'POST') return refuse(405, 'POST only');
  try {
    const body = readObject(await readText(request));
    switch (request.url?.slice(CONTROL_PREFIX.length)) {
      case 'advance':
        return jsonReply({ changes: controls.advance(body) });
      case 'faults': {
        const faults = readFaults(body['faults']);
        controls.setFaults(faults);
        return jsonReply({ faults });
      }
      default:
        return refuse(404, 'known are advance and faults');
    }
  } catch (error) {
    return refuse(400, error instanceof Error ? error.message : String(error));
  }
}

function readObject(text: string): Record<string, unknown> {
  const value: unknown = text.trim() === '' ? {} : JSON.parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new TypeError('the body must be a JSON object');
  }
  return value as Record<string, unknown>;
}

function readFaults(value: unknown): Fault[] {
  if (typeof value !== 'string') throw new TypeError('faults must be a text such as "429=0.02,500=3x"');
  return parseFaults(value);
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) throw new RangeError(`the body must have at most ${BODY_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
