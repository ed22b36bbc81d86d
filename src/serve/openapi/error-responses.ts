import { type ErrorCode, errorTable, SightlineError } from '../../base/errors.ts';
import type { JsonSchema } from '../../contract/json-schema.ts';
import { envelope, statusOf, tooMany } from '../http/refusal.ts';
import { headersOf, type Json } from './header-objects.ts';

/** Headers of errors by status. */
const OWN_HEADERS: Readonly<Record<number, readonly string[]>> = {
  401: ['WWW-Authenticate'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

const REQUEST_ID = '0f8b6c1a-5d0e-4c0b-9a51-6e6f3f0f8d21';
const WAIT_SECONDS = 12;

/** The documented body of errors, by component name. */
export const errorSchemas: Readonly<Record<'Error' | 'ErrorDetail', JsonSchema>> = {
  Error: {
    type: 'object',
    description: 'Body of every error response.',
    properties: { error: { $ref: '#/components/schemas/ErrorDetail' } },
    required: ['error'],
    additionalProperties: true,
  },
  ErrorDetail: {
    type: 'object',
    description: 'What is wrong.',
    properties: {
      code: { type: 'string', description: 'Error code, for programs.' },
      message: { type: 'string', description: 'Description of the error, for people.' },
      requestId: { type: 'string', format: 'uuid', description: "Id of the request in the server's log." },
      parameter: { type: 'string', description: 'The parameter that is wrong; absent if none is.' },
      allowed: { type: 'string', description: 'What is allowed instead; absent if that is not known.' },
      docUrl: {
        type: 'string',
        format: 'uri-reference',
        description: 'Documentation of the code, relative to the server.',
      },
    },
    required: ['code', 'message', 'requestId', 'docUrl'],
    additionalProperties: true,
  },
};

/** Properties of an operation that determine its errors. */
export interface OperationKind {
  /** Whether the operation needs no key. */
  readonly isOpen?: true;
  /** Whether the path has an id that may not exist. */
  readonly hasId?: boolean;
  /** Whether the operation checks its parameters and queries the replica. */
  readonly reads?: true;
  /** Whether the operation reports if the server is ready for requests. */
  readonly reportsReadiness?: true;
  /** Whether the operation sends ranges of a file. */
  readonly sendsRanges?: true;
}

/** Returns the codes of all errors that an operation can return. */
export function codesOf({ isOpen, hasId, reads, reportsReadiness, sendsRanges }: OperationKind): ErrorCode[] {
  return [
    ...(reads === true
      ? (['invalid_parameter', 'no_data', 'overloaded', 'query_timeout', 'out_of_memory'] as const)
      : []),
    ...(isOpen === true ? [] : (['unauthorized', 'issuer_unreachable', 'rate_limited', 'overloaded'] as const)),
    ...(hasId === true ? (['not_found'] as const) : []),
    ...(reportsReadiness === true ? (['no_data', 'overloaded'] as const) : []),
    ...(sendsRanges === true ? (['range_not_satisfiable'] as const) : []),
    ...(['bad_request', 'forbidden', 'request_timeout', 'uri_too_long', 'headers_too_large', 'internal'] as const),
  ];
}

/** The error responses of operations, and the components to which they refer. */
export interface ErrorResponses {
  /** Returns references by status. */
  responsesOf(kind: OperationKind): Json;
  /** The components of all operations so far. */
  readonly components: Json;
}

/** Creates the error responses: one component for each status and set of its codes, with an example for each code. */
export function createErrorResponses(rateLimit: number | null): ErrorResponses {
  const components: Json = {};
  const referTo = (status: number, codes: readonly ErrorCode[]): Json => {
    const name = codes.map(toPascalCase).join('Or');
    components[name] ??= responseOf(status, codes, rateLimit);
    return { $ref: `#/components/responses/${name}` };
  };
  const responsesOf = (kind: OperationKind): Json => {
    const possible = new Set(codesOf(kind));
    const codes = (Object.keys(errorTable) as ErrorCode[]).filter((code) => possible.has(code));
    const statuses = [...new Set(codes.map((code) => statusOf(code) as number))].sort((a, b) => a - b);
    return Object.fromEntries(
      statuses.map((status) => {
        const own = codes.filter((code) => statusOf(code) === status);
        return [status, referTo(status, own)];
      }),
    );
  };
  return { responsesOf, components };
}

function responseOf(status: number, codes: readonly ErrorCode[], rateLimit: number | null): Json {
  const examples = codes.map((code) => [code, { summary: errorTable[code].about, value: exampleOf(code) }]);
  return {
    description: codes.map((code) => `\`${code}\`: ${errorTable[code].about}`).join(' '),
    headers: headersOf(status === 401 ? null : rateLimit, OWN_HEADERS[status]),
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        examples: Object.fromEntries(examples),
      },
    },
  };
}

function exampleOf(code: ErrorCode): unknown {
  return JSON.parse(envelope(exampleError(code), REQUEST_ID));
}

function exampleError(code: ErrorCode): SightlineError {
  if (code === 'rate_limited') return tooMany('Too many requests.', WAIT_SECONDS);
  if (code !== 'invalid_parameter') return new SightlineError(code, errorTable[code].about);
  const facts = { parameter: 'limit', allowed: 'a whole number from 1 to 100' };
  return new SightlineError(code, `${facts.parameter} must be ${facts.allowed}; got "0"`, facts);
}

function toPascalCase(code: string): string {
  return code
    .split('_')
    .map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`)
    .join('');
}
