import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { BodyError, PageBoundError } from '../contract/body.ts';

/** Maximum nested codings of a body. */
const CODINGS_MAX = 2;
/** Maximum ratio of decoded to encoded length; bodies of up to 1 MiB may have any ratio. */
const RATIO_MAX = 400;
const RATIO_FREE_BYTES = 1024 * 1024;

type Decode = (bytes: Uint8Array, options: zlib.ZlibOptions & zlib.BrotliOptions) => Promise<Buffer>;

const gunzip: Decode = promisify(zlib.gunzip);
const decoders: Readonly<Record<string, Decode>> = {
  gzip: gunzip,
  'x-gzip': gunzip,
  br: promisify(zlib.brotliDecompress),
  // Some servers send raw deflate without zlib's two-byte header.
  deflate: (bytes, options) => (isZlib(bytes) ? inflate(bytes, options) : inflateRaw(bytes, options)),
};
const inflate: Decode = promisify(zlib.inflate);
const inflateRaw: Decode = promisify(zlib.inflateRaw);

/**
 * Decodes the Content-Encoding of a body. Requests do not ask for one, but some servers send it.
 * @throws BodyError if the coding is unknown or the bytes do not match it
 * @throws PageBoundError if the decoded body exceeds `bytesMax` or the maximum ratio
 */
export async function decodeBody(
  encoded: Uint8Array,
  header: string | string[] | undefined,
  bytesMax: number,
): Promise<Uint8Array> {
  const codings = [header ?? []]
    .flat()
    .flatMap((value) => value.split(','))
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '' && coding !== 'identity');
  if (codings.length > CODINGS_MAX) throw unknownCoding(codings.join(', '));
  let bytes = encoded;
  for (const coding of codings.reverse()) {
    const decode = decoders[coding];
    if (decode === undefined) throw unknownCoding(coding);
    const maxOutputLength = Math.min(bytesMax, Math.max(RATIO_FREE_BYTES, bytes.length * RATIO_MAX));
    try {
      bytes = await decode(bytes, { maxOutputLength });
    } catch (thrown) {
      const { code, message } = thrown as NodeJS.ErrnoException;
      if (code === 'ERR_BUFFER_TOO_LARGE') {
        throw new PageBoundError(
          `the ${coding} body of ${bytes.length} bytes is too long when decoded; allowed: up to ${maxOutputLength} bytes`,
        );
      }
      throw new BodyError(`the Content-Encoding is ${coding}, but the body cannot be decoded (${message})`, {
        cause: thrown,
      });
    }
  }
  return bytes;
}

function unknownCoding(coding: string): BodyError {
  const allowed = `${Object.keys(decoders).join(', ')}, at most ${CODINGS_MAX}`;
  return new BodyError(`the Content-Encoding is ${JSON.stringify(coding.slice(0, 40))}; allowed: ${allowed}`);
}

function isZlib([first = 0, second = 0]: Uint8Array): boolean {
  return (first & 0x0f) === 8 && ((first << 8) | second) % 31 === 0;
}
