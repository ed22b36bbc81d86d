import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { ErrorCode } from '../../base/errors.ts';
import { Refusal, toErrorReply } from './refusal.ts';

/** How long a client may take to read its refusal before the connection is cut. */
const LINGER_MS = 1_000;

/** What Node's parser reports, and the bytes it stumbled over. */
interface ParserError extends Error {
  readonly code?: string;
  readonly rawPacket?: unknown;
}

/** What was answered to something that never became a request. */
export interface ParserRefusal {
  readonly requestId: string;
  readonly status: number;
  readonly bytes: number;
}

/** Answers what is no HTTP in the same envelope as everything else, then closes the connection. */
export function createParserErrorHandler(
  urlCharactersMax: number,
  onRefused: (refusal: ParserRefusal) => void,
): (error: ParserError, socket: Socket) => void {
  // What follows on a connection that was refused is refused as well, silently.
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
      'Connection: close',
    ];
    onRefused({ requestId, status, bytes: Buffer.byteLength(body) });
    // Ended rather than destroyed: unread bytes would make the system reset the connection, and the refusal be lost.
    socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
    const cut = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(cut));
  };
}

// Node's own handler asks the same; writing into an answer that is under way would garble it.
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
      return refuse('request_timeout', 'The request did not come to its end in time.');
    default:
      return refuse('bad_request', 'The request is not HTTP as it is specified.');
  }
}

// Whether what overflowed is the line with the address, as far as the packet at hand tells.
function hasLongAddress(packet: unknown, charactersMax: number): boolean {
  if (!Buffer.isBuffer(packet)) return false;
  const [line = ''] = packet.toString('latin1').split('\r\n', 1);
  return /^[A-Z]{3,16} /.test(line) && line.length > charactersMax;
}
