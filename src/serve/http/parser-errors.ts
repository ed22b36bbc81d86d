import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { ErrorCode } from '../../base/errors.ts';
import { Refusal, toErrorReply } from './refusal.ts';

/** Time for the client to read the error before the connection is destroyed. */
const LINGER_MS = 1_000;

/** An error of Node's HTTP parser, with the bytes it could not parse. */
interface ParserError extends Error {
  readonly code?: string;
  readonly rawPacket?: unknown;
}

/** The error response to input that never became a request. */
export interface ParserRefusal {
  readonly requestId: string;
  readonly status: number;
  readonly bytes: number;
}

/** Responds to input that is not valid HTTP with the usual error envelope, then closes the connection. */
export function createParserErrorHandler(
  urlCharactersMax: number,
  onRefused: (refusal: ParserRefusal) => void,
): (error: ParserError, socket: Socket) => void {
  // Further input on a rejected connection is dropped.
  const refused = new WeakSet<Socket>();
  return (error, socket) => {
    if (refused.has(socket)) return;
    refused.add(socket);
    if (error.code === 'ECONNRESET' || !socket.writable || isMidAnswer(socket)) {
      socket.destroy();
      return;
    }
    const requestId = randomUUID();
    const { status, body } = toErrorReply(refusalOf(error, urlCharactersMax), requestId);
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      `X-Request-Id: ${requestId}`,
      'X-Content-Type-Options: nosniff',
      'Connection: close',
    ];
    onRefused({ requestId, status, bytes: Buffer.byteLength(body) });
    // end() instead of destroy(): with unread bytes, destroying resets the connection and the response is lost.
    socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
    const cut = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(cut));
  };
}

// Node's own handler makes the same check: writing into a response in progress would corrupt it.
function isMidAnswer(socket: Socket): boolean {
  const { _httpMessage: message } = socket as { _httpMessage?: { headersSent: boolean } | null };
  return message?.headersSent === true;
}

function refusalOf(error: ParserError, urlCharactersMax: number): Refusal {
  const refuse = (code: ErrorCode, message: string): Refusal => new Refusal(code, message);
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return hasLongAddress(error.rawPacket, urlCharactersMax)
        ? refuse('uri_too_long', 'The address is too long.')
        : refuse('headers_too_large', 'The headers are too large.');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return refuse('request_timeout', 'The request was not complete in time.');
    default:
      return refuse('bad_request', 'The request is not valid HTTP.');
  }
}

// Returns whether the request line overflowed, judging by the packet at hand.
function hasLongAddress(packet: unknown, charactersMax: number): boolean {
  if (!Buffer.isBuffer(packet)) return false;
  const [line = ''] = packet.toString('latin1').split('\r\n', 1);
  return /^[A-Z]{3,16} /.test(line) && line.length > charactersMax;
}
