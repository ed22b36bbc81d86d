import { type ErrorCode, errorTable } from '../../base/errors.ts';
import type { JsonSchema } from '../../contract/json-schema.ts';
import { envelope, statusOf, tooMany } from '../http/refusal.ts';
import { errorHeaders, type Json } from './header-objects.ts';

const REQUEST_ID = '0f8b6c1a-5d0e-4c0b-9a51-6e6f3f0f8d21';
const WAIT_SECONDS = 12;

/** The documented envelope of errors. */
export const errorSchema: JsonSchema = {
  type: 'object',
  description: 'Body of every error response.',
  properties: {
    error: {
      type: 'object',
      properties: {
        code: { type: 'string', description: 'Error code, for programs.' },
        message: { type: 'string', description: 'Description of the error, for people.' },
        requestId: { type: 'string', format: 'uuid', description: "Id of the request in the server's log." },
      },
      required: ['code', 'message', 'requestId'],
    },
  },
  required: ['error'],
};

/** A response object of the document and the name of its component. */
export interface ErrorResponse {
  readonly name: string;
  readonly response: Json;
}

/** Returns a response object for each status of the error table, with an example for each code. */
export function errorResponses(rateLimit: number | null): Readonly<Record<number, ErrorResponse>> {
  const codes = (Object.keys(errorTable) as ErrorCode[]).filter((code) => statusOf(code) !== null);
  const statuses = [...new Set(codes.map((code) => statusOf(code) as number))].sort((a, b) => a - b);
  return Object.fromEntries(
    statuses.map((status) => {
      const all = codes.filter((code) => statusOf(code) === status);
      const examples = all.map((code) => [code, { summary: errorTable[code].about, value: exampleOf(code) }]);
      const response = {
        description: all.map((code) => `\`${code}\`: ${errorTable[code].about}`).join(' '),
        headers: errorHeaders(rateLimit, status),
        content: {
          'application/json': {
            schema: { $ref: '#/components/schemas/Error' },
            examples: Object.fromEntries(examples),
          },
        },
      };
      return [status, { name: `Error${status}`, response }];
    }),
  );
}

function exampleOf(code: ErrorCode): unknown {
  const message =
    code === 'rate_limited' ? tooMany('Too many requests.', WAIT_SECONDS).message : errorTable[code].about;
  return JSON.parse(envelope(code, message, REQUEST_ID));
}
