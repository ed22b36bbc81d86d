import type { ServerResponse } from 'node:http';
import type { Body } from './content/content-cache.ts';

/** Ends the responses of one turn of the event loop together. */
export interface ResponseWriter {
  /** Sends the body after the head, and ends the response. */
  end(response: ServerResponse, body: Body): void;
}

/**
 * Creates a writer. Each write wakes the reader of the connection, which costs more than a cached response.
 * Consecutive writes let the reader process many responses at once.
 */
export function createResponseWriter(): ResponseWriter {
  let waiting: [ServerResponse, Body][] = [];
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
