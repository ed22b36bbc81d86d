import type { FastifyReply } from 'fastify';
import Negotiator from 'negotiator';
import type { RowFormat } from '../../../read/formats/row-formats.ts';

/** Format of a response body. */
export type Format = 'json' | RowFormat;

const FILE_ENDINGS: Readonly<Record<RowFormat, string>> = {
  csv: 'csv',
  parquet: 'parquet',
  arrow: 'arrows',
  ndjson: 'ndjson',
};

/** Content encoding of a response body. */
export type Encoding = 'br' | 'gzip' | 'identity';

/** The media type of each format, in order of preference. */
export const MEDIA_TYPES: Readonly<Record<Format, string>> = {
  json: 'application/json',
  csv: 'text/csv',
  parquet: 'application/vnd.apache.parquet',
  arrow: 'application/vnd.apache.arrow.stream',
  ndjson: 'application/x-ndjson',
};

const formats = Object.entries(MEDIA_TYPES) as [Format, string][];
const mediaTypes = Object.values(MEDIA_TYPES);
const encodings: Encoding[] = ['br', 'gzip', 'identity'];

/** Number of cached header values: clients send few different ones, and parsing them is expensive. */
const REMEMBERED_MAX = 256;
const REMEMBERED_CHARACTERS_MAX = 512;

/** Returns the format that Accept prefers; JSON if no available format matches. */
export const formatOf = remember((accept): Format => {
  const chosen = new Negotiator({ headers: { accept } }).mediaType(mediaTypes);
  return formats.find(([, mediaType]) => mediaType === chosen)?.[0] ?? 'json';
}, 'json');

/** Returns the encoding that Accept-Encoding prefers; brotli before gzip if both are equal. */
export const encodingOf = remember((header): Encoding => {
  const negotiator = new Negotiator({ headers: { 'accept-encoding': header } }) as unknown as {
    encoding(available: readonly string[], options: { preferred: readonly string[] }): string | undefined;
  };
  const chosen = negotiator.encoding(encodings, { preferred: encodings });
  return encodings.find((encoding) => encoding === chosen) ?? 'identity';
}, 'identity');

/** Returns the media type of a format as a Content-Type header. */
export function contentTypeOf(format: Format): string {
  return format === 'parquet' || format === 'arrow' ? MEDIA_TYPES[format] : `${MEDIA_TYPES[format]}; charset=utf-8`;
}

/** Returns the Content-Disposition of a list in a format. */
export function fileOf(list: string, format: RowFormat): string {
  return attachment(`${list}.${FILE_ENDINGS[format]}`);
}

/** Returns the Content-Disposition of a file to save; the name must need no escaping. */
export function attachment(name: string): string {
  return `attachment; filename="${name}"`;
}

/** Returns the Vary header of a response: the request headers `names`, and those that the header already has. */
export function varyOf(reply: FastifyReply, names = 'Accept-Encoding'): string {
  const known = names.split(', ');
  const others = String(reply.getHeader('vary') ?? '').split(/\s*,\s*/);
  const isNew = (name: string): boolean =>
    name !== '' && !known.some((one) => one.toLowerCase() === name.toLowerCase());
  return [...known, ...others.filter(isNew)].join(', ');
}

function remember<T>(read: (header: string) => T, absent: T): (header: string | undefined) => T {
  const known = new Map<string, T>();
  return (header) => {
    if (header === undefined) return absent;
    const before = known.get(header);
    if (before !== undefined) return before;
    const value = read(header);
    if (known.size < REMEMBERED_MAX && header.length <= REMEMBERED_CHARACTERS_MAX) known.set(header, value);
    return value;
  };
}
