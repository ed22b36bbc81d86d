import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { expect, onTestFinished } from 'vitest';
import type { WorkspaceConfig } from '../../../src/base/config/config.ts';
import type { Streams } from '../../../src/serve/mcp/stdio.ts';
import { serveMcp } from '../../../src/serve/serve-mcp.ts';
import { type CloseLater, stillClock } from '../served-world.ts';
import type { Body } from './support.ts';

/** A client over a pair of streams, without a library, so that tests see each message. */
export type StreamClient = Awaited<ReturnType<typeof openStream>>;

/** Serves workspaces like `sightline mcp`, at the time of worlds; an error that is not for the client fails the test. */
export function openMcp(configs: readonly WorkspaceConfig[], closeLater?: CloseLater): Promise<StreamClient> {
  const onError = (error: Error): void => expect.unreachable(error.message);
  const options = { queryTimeoutMs: 30_000, onStart: () => undefined, onError };
  const context = { clock: stillClock, signal: new AbortController().signal };
  return openStream((streams) => serveMcp(configs, context, { ...options, streams }), closeLater);
}

/** Starts a server over streams and initializes it; both end after the test. */
export async function openStream(
  serve: (streams: Streams) => Promise<unknown>,
  closeLater: CloseLater = onTestFinished,
  revision = '2025-06-18',
) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const served = serve({ input, output });
  const responses = new Map<number, (message: Body) => void>();
  /** Messages without an id, in their order. */
  const notifications: Body[] = [];
  createInterface({ input: output }).on('line', (line) => {
    const message = JSON.parse(line);
    if (message.id === undefined) notifications.push(message);
    else responses.get(message.id)?.(message);
  });
  let last = 0;
  const write = (message: object): void => void input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  /** Sends a request and returns its id. */
  const send = (method: string, params: object = {}): number => {
    last += 1;
    write({ id: last, method, params });
    return last;
  };
  /** Sends a request and returns its response: `result` or `error`. */
  const request = (method: string, params?: object): Promise<Body> =>
    new Promise((resolve) => responses.set(send(method, params), resolve));
  const notify = (method: string, params?: object): void => write({ method, params });
  closeLater(async () => {
    input.end();
    await served;
    output.end();
  });
  const clientInfo = { name: 'tests', version: '1' };
  const { result } = await request('initialize', { protocolVersion: revision, capabilities: {}, clientInfo });
  expect(result.protocolVersion).toBe(revision);
  notify('notifications/initialized');
  /** Calls a tool; returns its result. */
  const call = async (name: string, given: object): Promise<Body> =>
    (await request('tools/call', { name, arguments: given })).result;
  return { instructions: result.instructions ?? '', request, send, notify, notifications, call };
}
