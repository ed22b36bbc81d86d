import type { ServerResponse } from 'node:http';

/** Ends the responses of one turn of the event loop together. */
export interface ResponseWriter {
  /** Ends a response whose head is written, with a latin1 string or bytes as body. */
  end(response: ServerResponse, body: string | Buffer): void;
}

/**
 * Creates an outbox. Each write wakes the reader of the connection, which costs more than a cached response.
 * Consecutive writes let the reader process many responses at once.
 */
export function createResponseWriter(): ResponseWriter {
  let waiting: [ServerResponse, string | Buffer][] = [];
  const flush = (): void => {
    const now = waiting;
    waiting = [];
    for (const [response, body] of now) response.end(body, 'latin1');
  };
  return {
    end: (response, body) => {
      if (waiting.length === 0) setImmediate(flush);
      waiting.push([response, body]);
    },
  };
}
