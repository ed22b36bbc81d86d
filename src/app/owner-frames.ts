import type { Socket } from 'node:net';

/** Longest message between a command and the process that carries it out. */
const FRAME_CHARACTERS_MAX = 4_000_000;

/** What the owner says first. */
export interface Greeting {
  readonly pid: number;
  /** Without the program's name. */
  readonly command: string;
  readonly since: string;
  readonly version: string;
  /** Whether it carries out what others ask for. */
  readonly carries: boolean;
}

/** A command to be carried out, with all that its result depends on. */
export interface Carried {
  readonly arguments: readonly string[];
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly timeZone: string;
  readonly stdout: { readonly isTTY: boolean; readonly columns: number | null };
  readonly stderr: { readonly isTTY: boolean; readonly columns: number | null };
}

/** What goes over the socket, a line of JSON each; text that a command writes is base64. */
export type Frame =
  | { readonly kind: 'greeting'; readonly greeting: Greeting }
  | { readonly kind: 'run'; readonly command: Carried }
  | { readonly kind: 'cancel' }
  // Work that is not carried out but has its turn: until the connection ends, the warehouse is left alone.
  | { readonly kind: 'borrow'; readonly command: string }
  | { readonly kind: 'waiting'; readonly current: string }
  | { readonly kind: 'lent' }
  | { readonly kind: 'output'; readonly stream: 'stdout' | 'stderr'; readonly bytes: string }
  | { readonly kind: 'end'; readonly exitCode: number };

/** Sends a frame; resolves once it is out, or the other side has gone. */
export function sendFrame(socket: Socket, frame: Frame): Promise<void> {
  return new Promise((resolve) => {
    if (!socket.writable) resolve();
    else socket.write(`${JSON.stringify(frame)}\n`, () => resolve());
  });
}

/** Calls `take` with each frame that comes; what is no frame ends the connection. */
export function readFrames(socket: Socket, take: (frame: Frame) => void): void {
  let text = '';
  socket.setEncoding('utf8');
  socket.on('data', (chunk) => {
    text += chunk;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
      const line = text.slice(0, end);
      text = text.slice(end + 1);
      try {
        take(JSON.parse(line) as Frame);
      } catch {
        socket.destroy();
        return;
      }
    }
    if (text.length > FRAME_CHARACTERS_MAX) socket.destroy();
  });
}
