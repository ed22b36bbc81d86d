/** A part of the document. */
export type Json = Record<string, unknown>;

/** Header objects by component name. */
type Headers = Readonly<Record<string, Json>>;

const RATE_HEADERS = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'RateLimit', 'RateLimit-Policy'];

/** Headers of a response with data of the API. */
export const DATA_HEADERS = ['ETag', 'X-Data-As-Of', 'X-Data-Coverage', 'X-Sync-Progress'];
/** Headers of a page of a list. */
export const PAGE_HEADERS = ['X-Next-Cursor', 'Link'];

/** Returns the header components; rate limit headers are left out if there is no limit. */
export function headerComponents(rateLimit: number | null): Headers {
  const limited = rateLimit === null ? {} : rateHeaders(rateLimit);
  return { ...limited, ...common };
}

/** Returns references to the headers of a response: those of the rate limit, if there is one, `names`, and those of all responses. */
export function headersOf(rateLimit: number | null, names: readonly string[] = []): Headers {
  const limited = rateLimit === null ? [] : RATE_HEADERS;
  const all = [...limited, ...names, 'X-Request-Id', 'X-Content-Type-Options'];
  return Object.fromEntries(all.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function rateHeaders(rateLimit: number): Headers {
  const count = { type: 'integer', minimum: 0 };
  const left = Math.max(0, rateLimit - 1);
  return {
    'X-RateLimit-Limit': header('Requests that the key may make in any minute.', rateLimit, count),
    'X-RateLimit-Remaining': header('Requests that the key has left in the current minute.', left, count),
    RateLimit: header(
      'Requests left and seconds until there are more (draft-ietf-httpapi-ratelimit-headers-10).',
      `"key";r=${left};t=60`,
    ),
    'RateLimit-Policy': header(
      'Requests that the key may make, and the window in seconds.',
      `"key";q=${rateLimit};w=60`,
    ),
  };
}

function header(description: string, example: unknown, schema: Json = {}): Json {
  return { description, schema: { type: 'string', ...schema }, example };
}

const common: Headers = {
  ETag: header(
    'Identifies this version of the response; send it as If-None-Match to check whether it is still current.',
    '"6f1c1c5e0f6e4f0e-json"',
  ),
  'X-Data-As-Of': header(
    'When upstream last confirmed the data of the response; absent if never.',
    '2026-03-15T02:15:00.000Z',
    { format: 'date-time' },
  ),
  'X-Data-Coverage': header(
    '`partial` if part of the range or list was never read completely from upstream.',
    'complete',
    { enum: ['complete', 'partial'] },
  ),
  'X-Sync-Progress': header(
    'Requests done and expected by the running sync, `done/expected`; absent if none is running.',
    '118/195',
    { pattern: '^[0-9]+/[0-9]+$' },
  ),
  'X-Next-Cursor': header(
    'Cursor of the next page, as in the body; absent on the last page.',
    'the-cursor-of-the-next-page',
  ),
  Link: header(
    'URL of the next page, with `rel="next"`; absent on the last page.',
    '</v1/path?cursor=the-cursor-of-the-next-page>; rel="next"',
  ),
  'X-Content-Type-Options': header('Forbids clients to guess the media type.', 'nosniff', { const: 'nosniff' }),
  'X-Request-Id': header('Id of the request, as in the body of an error.', '0f8b6c1a-5d0e-4c0b-9a51-6e6f3f0f8d21', {
    format: 'uuid',
  }),
  'Retry-After': header('Seconds to wait before the next request.', 12, { type: 'integer', minimum: 0 }),
  'WWW-Authenticate': header('How to send a key.', 'Bearer'),
};
