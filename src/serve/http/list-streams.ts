import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream';
import { SightlineError } from '../../base/errors.ts';
import { createRowEncoder, type RowFormat } from '../../read/formats/row-formats.ts';
import type { CompleteList } from '../../read/service.ts';
import { compressor } from './content/compression.ts';
import type { Encoding } from './content/negotiation.ts';
import type { HttpLimits } from './http-limits.ts';

/** Complete lists that are being sent. */
export interface ListStreams {
  /**
   * Reads the first page of a list and returns the rest of the transfer, so that an error of the first page can still become a
   * response.
   *
   * @throws SightlineError `overloaded` if too many lists are being sent, in total or with the same key, and the errors of the first page
   */
  begin(list: CompleteList, format: RowFormat, encoding: Encoding, client: ListClient): Promise<ListTransfer>;
}

/** The client that receives a list. */
export interface ListClient {
  /** Aborted if the client disconnects. */
  readonly signal: AbortSignal;
  /** Id of the key; a key can use half of the transfers, so that others are not rejected. */
  readonly holder: string;
  /** @throws Refusal if the key was revoked or has expired since the request */
  readonly checkAccess: () => void;
}

/** A list whose first page was read. Either `send` or `cancel` must be called. */
export interface ListTransfer {
  /**
   * Writes the bytes without ending the output, and returns the number of rows. Reads the next page only after the output has
   * accepted the previous one, and if the key is still valid.
   *
   * @throws SightlineError `query_timeout` if the transfer takes too long, and the errors of a page and of the check of the key
   */
  send(output: Writable, onBytes: (bytes: number) => void): Promise<number>;
  cancel(): Promise<void>;
}

/** Creates the set of transfers; `monotonic` is in milliseconds. */
export function createListStreams(
  { listsMax, listMs }: Pick<HttpLimits, 'listsMax' | 'listMs'>,
  monotonic: () => number,
): ListStreams {
  const running: string[] = [];
  const perHolderMax = Math.ceil(listsMax / 2);
  const begin: ListStreams['begin'] = async (list, format, encoding, { signal, holder, checkAccess }) => {
    if (running.length >= listsMax) {
      throw new SightlineError('overloaded', `${listsMax} complete lists are being sent; allowed: ${listsMax}`);
    }
    if (running.filter((one) => one === holder).length >= perHolderMax) {
      const message = `${perHolderMax} complete lists are being sent with this key; allowed: ${perHolderMax}`;
      throw new SightlineError('overloaded', message);
    }
    running.push(holder);
    const counted = { rows: 0 };
    const chunks = encode(list, format, signal, counted);
    let isEnded = false;
    const end = async (): Promise<void> => {
      if (isEnded) return;
      isEnded = true;
      running.splice(running.indexOf(holder), 1);
      await chunks.return();
    };
    const deadline = monotonic() + listMs;
    try {
      const first = await chunks.next();
      const source = checked(first, chunks, () => {
        checkTime(monotonic, deadline, listMs);
        checkAccess();
      });
      return {
        send: async (output, onBytes) => {
          try {
            // Also while a client accepts nothing, or single bytes.
            const inTime = AbortSignal.any([
              signal,
              AbortSignal.timeout(Math.max(0, Math.ceil(deadline - monotonic()))),
            ]);
            await pump(encoding === 'identity' ? source : compressed(source, encoding), output, inTime, onBytes);
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
    counted.rows += page.texts.length;
    yield await encoder.encode(page);
  }
  yield await encoder.end();
}

async function* checked(first: IteratorResult<Uint8Array, void>, rest: Chunks, check: () => void): Chunks {
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
