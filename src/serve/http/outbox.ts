import type { ServerResponse } from 'node:http';

/** Ends responses, those of one turn of the event loop together. */
export interface Outbox {
  /** Ends a response whose head was written, with a body in latin1 or bytes. */
  end(response: ServerResponse, body: string | Buffer): void;
}

/**
 * Builds one. Each write wakes whoever reads from the connection, which costs more than a kept answer; written one right
 * after the other, many are read in one go.
 */
export function createOutbox(): Outbox {
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
