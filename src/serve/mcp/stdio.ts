import type { Readable, Writable } from 'node:stream';
import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  ReadBuffer,
  type RequestId,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/server';
import { serveStdio as serveWithLibrary } from '@modelcontextprotocol/server/stdio';
import { createServerFactory } from './mcp-server.ts';
import type { Served } from './served.ts';
import type { McpOptions } from './tool-calls.ts';

/** Maximum wait for pending responses after the input has ended. */
const DRAIN_MS_MAX = 60_000;

/** Streams of a server over stdio. Only protocol messages are written. */
export interface Streams {
  readonly input: Readable;
  readonly output: Writable;
}

/**
 * Serves MCP over a pair of streams until the input has ended and every request has a response, or until the signal is
 * aborted.
 */
export async function serveStdio(
  served: Served,
  streams: Streams,
  signal: AbortSignal,
  options: McpOptions = {},
): Promise<void> {
  const { transport, ended } = createTransport(streams);
  const stopped = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
  const onerror = (error: Error): void => options.onError?.(error);
  const handle = serveWithLibrary(createServerFactory(served, options), { transport, onerror, maxSubscriptions: 0 });
  await Promise.race([ended, stopped]);
  await handle.close();
}

// The library's transport drops pending requests when the input ends, but clients that pipe requests need the
// responses.
function createTransport({ input, output }: Streams): { transport: Transport; ended: Promise<void> } {
  const buffer = new ReadBuffer();
  const waiting = new Set<RequestId>();
  let hasEnded = false;
  let finish: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const finishIfDone = (): void => {
    if (hasEnded && waiting.size === 0) finish();
  };
  const receive = (message: JSONRPCMessage): void => {
    if (isJSONRPCRequest(message)) waiting.add(message.id);
    const cancelled = isJSONRPCNotification(message) && message.method === 'notifications/cancelled';
    if (cancelled) waiting.delete(message.params?.['requestId'] as RequestId);
    transport.onmessage?.(message);
  };
  const onData = (chunk: Buffer): void => {
    try {
      buffer.append(chunk);
    } catch (thrown) {
      // After a message that exceeds the size limit, the start of the next one cannot be found.
      transport.onerror?.(thrown as Error);
      finish();
    }
    for (let message = next(); message !== null; message = next()) receive(message);
  };
  const next = (): JSONRPCMessage | null => {
    for (;;) {
      try {
        return buffer.readMessage();
      } catch (thrown) {
        transport.onerror?.(thrown as Error);
      }
    }
  };
  const onEnd = (): void => {
    hasEnded = true;
    finishIfDone();
    setTimeout(finish, DRAIN_MS_MAX).unref();
  };
  const transport: Transport = {
    start: async () => {
      input.on('data', onData).once('end', onEnd).once('close', onEnd).once('error', onEnd);
    },
    send: async (message) => {
      await new Promise<void>((resolve) => output.write(serializeMessage(message), () => resolve()));
      if ((isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) && message.id !== undefined) {
        waiting.delete(message.id);
        finishIfDone();
      }
    },
    close: async () => {
      input.off('data', onData).pause();
      transport.onclose?.();
      finish();
    },
  };
  return { transport, ended };
}
