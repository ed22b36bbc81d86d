import type { Socket } from 'node:net';
import { isRecord } from '../base/json.ts';

/** Longest frame from a peer that has not proven the secret yet, in characters. */
const UNPROVEN_FRAME_CHARACTERS_MAX = 1_024;
/** Longest frame after that, in characters. Output is sent in pieces of 64 KiB, which are 88,000 characters of base64. */
const FRAME_CHARACTERS_MAX = 1_000_000;

/** The process that owns a workspace, as it introduces itself to a client that has proven the secret. */
export interface Greeting {
  readonly pid: number;
  /** Without the program's name. */
  readonly command: string;
  readonly since: string;
  readonly version: string;
  /** Whether it runs commands for clients and lets them wait for the warehouse. */
  readonly serves: boolean;
}

/** A command line that a client forwards to the owner. It runs with the owner's settings: no value of a setting is sent. */
export interface ForwardedCommand {
  readonly arguments: readonly string[];
  /** Keyed digests of the client's settings, by name; the owner refuses the command if one of its own differs. */
  readonly settings: Readonly<Record<string, string>>;
  readonly timeZone: string;
  readonly stdout: { readonly isTTY: boolean; readonly columns: number | null };
  readonly stderr: { readonly isTTY: boolean; readonly columns: number | null };
}

/**
 * A line of JSON on the socket. Both sides prove that they know the secret of the owner record before anything else is sent: the client
 * sends `hello`, the owner sends `challenge`, the client sends `proof`, the owner sends `greeting`.
 */
export type Frame =
  | { readonly kind: 'hello'; readonly nonce: string }
  | { readonly kind: 'challenge'; readonly nonce: string; readonly proof: string }
  | { readonly kind: 'proof'; readonly proof: string }
  // The owner already has its maximum number of connections.
  | { readonly kind: 'busy' }
  | { readonly kind: 'greeting'; readonly greeting: Greeting }
  | { readonly kind: 'run'; readonly command: ForwardedCommand }
  | { readonly kind: 'cancel' }
  // The client waits in the owner's queue and has the right to write from `entered` until it closes the connection.
  | { readonly kind: 'enter'; readonly command: string }
  | { readonly kind: 'waiting'; readonly holder: string }
  | { readonly kind: 'entered' }
  | { readonly kind: 'output'; readonly stream: 'stdout' | 'stderr'; readonly bytes: string }
  // The command was not run because these settings differ.
  | { readonly kind: 'differs'; readonly names: readonly string[] }
  | { readonly kind: 'end'; readonly exitCode: number };

/** Sends a frame; resolves when it is written or the connection has ended. */
export function sendFrame(socket: Socket, frame: Frame): Promise<void> {
  return new Promise((resolve) => {
    if (!socket.writable) resolve();
    else socket.write(`${JSON.stringify(frame)}\n`, () => resolve());
  });
}

/**
 * Calls `take` with each received frame. Calls `onGarbage` and ends the connection on data that are not a frame or are longer
 * than allowed, which depends on `isProven`.
 */
export function readFrames(
  socket: Socket,
  take: (frame: Frame) => void,
  isProven: () => boolean,
  onGarbage: () => void = () => undefined,
): void {
  let text = '';
  const refuse = (): void => {
    text = '';
    onGarbage();
    socket.destroy();
  };
  const isTooLong = (characters: number): boolean =>
    characters > (isProven() ? FRAME_CHARACTERS_MAX : UNPROVEN_FRAME_CHARACTERS_MAX);
  socket.setEncoding('utf8');
  socket.on('data', (chunk) => {
    text += chunk;
    for (let end = text.indexOf('\n'); end >= 0 && !socket.destroyed; end = text.indexOf('\n')) {
      const frame = isTooLong(end) ? null : parseFrame(text.slice(0, end));
      text = text.slice(end + 1);
      if (frame === null) return refuse();
      take(frame);
    }
    if (isTooLong(text.length)) refuse();
  });
}

function parseFrame(line: string): Frame | null {
  try {
    const frame: unknown = JSON.parse(line);
    return isRecord(frame) && typeof frame['kind'] === 'string' ? (frame as unknown as Frame) : null;
  } catch {
    return null;
  }
}
