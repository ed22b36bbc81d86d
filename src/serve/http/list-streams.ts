import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream';
import { SightlineError } from '../../base/errors.ts';
import { createRowEncoder, type RowFormat } from '../../query/formats/row-formats.ts';
import type { CompleteList } from '../../query/service.ts';
import { compressor } from './content/compression.ts';
import type { Encoding } from './content/negotiation.ts';
import type { HttpLimits } from './http-limits.ts';

/** Complete lists that are being sent. */
export interface ListStreams {
  /**
   * Reads the first page of a list and returns the rest of the transfer, so that an error of the first page can still become a
   * response.
   *
   * @throws SightlineError `overloaded` if too many lists are being sent; also whatever the first page throws
   */
  begin(list: CompleteList, format: RowFormat, encoding: Encoding, signal: AbortSignal): Promise<ListTransfer>;
}

/** A list whose first page was read. Either `send` or `cancel` must be called. */
export interface ListTransfer {
  /**
   * Writes the bytes without ending the output, and returns the number of rows. Reads the next page only after the output has
   * accepted the previous one.
   *
   * @throws SightlineError `query_timeout` if the transfer takes too long; also whatever a page throws
   */
  send(output: Writable, onBytes: (bytes: number) => void): Promise<number>;
  cancel(): Promise<void>;
}

/** Creates the set of transfers; `monotonic` is in milliseconds. */
export function createListStreams(
  { listsMax, listMs }: Pick<HttpLimits, 'listsMax' | 'listMs'>,
  monotonic: () => number,
): ListStreams {
  let running = 0;
  const begin: ListStreams['begin'] = async (list, format, encoding, signal) => {
    if (running >= listsMax) {
      throw new SightlineError('overloaded', `${listsMax} complete lists are being sent; allowed: ${listsMax}`);
    }
    running += 1;
    const counted = { rows: 0 };
    const chunks = encode(list, format, signal, counted);
    let isEnded = false;
    const end = async (): Promise<void> => {
      if (isEnded) return;
      isEnded = true;
      running -= 1;
      await chunks.return();
    };
    const deadline = monotonic() + listMs;
    try {
      const first = await chunks.next();
      const source = untilDeadline(first, chunks, () => checkTime(monotonic, deadline, listMs));
      return {
        send: async (output, onBytes) => {
          try {
            await pump(encoding === 'identity' ? source : compressed(source, encoding), output, signal, onBytes);
            return counted.rows;
          } finally {
            await end();
          }
        },
        cancel: end,
      };
    } catch (thrown) {
      await end();
      throw thrown;
    }
  };
  return { begin };
}

type Chunks = AsyncGenerator<Uint8Array, void, undefined>;

async function* encode(list: CompleteList, format: RowFormat, signal: AbortSignal, counted: { rows: number }): Chunks {
  const encoder = await createRowEncoder(format);
  for await (const page of list.pages(signal)) {
    counted.rows += page.items.length;
    yield await encoder.encode(page);
  }
  yield await encoder.end();
}

async function* untilDeadline(first: IteratorResult<Uint8Array, void>, rest: Chunks, check: () => void): Chunks {
  if (first.done !== true) yield first.value;
  for await (const chunk of rest) {
    check();
    yield chunk;
  }
}

function checkTime(monotonic: () => number, deadline: number, allowedMs: number): void {
  if (monotonic() <= deadline) return;
  throw new SightlineError('query_timeout', `the list was not sent within ${allowedMs / 1_000} s`);
}

// An error of either stream destroys both, and iterating over the compressed stream then throws it.
function compressed(source: Chunks, encoding: Exclude<Encoding, 'identity'>): AsyncIterable<Uint8Array> {
  return pipeline(source, compressor(encoding), () => undefined);
}

async function pump(
  chunks: AsyncIterable<Uint8Array>,
  output: Writable,
  signal: AbortSignal,
  onBytes: (bytes: number) => void,
): Promise<void> {
  for await (const chunk of chunks) {
    signal.throwIfAborted();
    if (chunk.length === 0) continue;
    onBytes(chunk.length);
    if (!output.write(chunk)) await once(output, 'drain', { signal });
  }
}
