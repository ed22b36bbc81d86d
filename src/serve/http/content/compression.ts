import type { Transform } from 'node:stream';
import { promisify } from 'node:util';
import { brotliCompress, createBrotliCompress, createGzip, gzip, constants as zlib } from 'node:zlib';
import type { Encoding } from './negotiation.ts';

/** Smaller bodies are not compressed. */
export const COMPRESSED_BYTES_MIN = 1024;

/** Quality 4 gains most of what the highest quality gains, at the speed of gzip. */
const BROTLI_QUALITY = 4;
const GZIP_LEVEL = 6;

const toBrotli = promisify(brotliCompress);
const toGzip = promisify(gzip);

/** Compresses bytes, off the event loop. */
export async function compress(bytes: Buffer, encoding: Exclude<Encoding, 'identity'>): Promise<Buffer> {
  switch (encoding) {
    case 'br':
      return toBrotli(bytes, {
        params: {
          [zlib.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
          [zlib.BROTLI_PARAM_SIZE_HINT]: bytes.length,
        },
      });
    case 'gzip':
      return toGzip(bytes, { level: GZIP_LEVEL });
  }
}

/** Creates a stream that compresses, off the event loop. */
export function compressor(encoding: Exclude<Encoding, 'identity'>): Transform {
  switch (encoding) {
    case 'br':
      return createBrotliCompress({ params: { [zlib.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } });
    case 'gzip':
      return createGzip({ level: GZIP_LEVEL });
  }
}
