import { connect, type Socket } from 'node:net';
import { SightlineError } from '../base/errors.ts';
import { type Carried, type Frame, type Greeting, readFrames, sendFrame } from './owner-frames.ts';

/** A process that lives greets at once; one that is stopped does not. */
const GREETING_MS_MAX = 3_000;

/** A connection to a workspace's owner. */
export interface OwnerConnection {
  readonly greeting: Greeting;
  /**
   * Has a command carried out; what it writes goes to `write`, in order. Aborting the signal has it stopped. Throws
   * `interrupted` when the owner ends before the command does.
   */
  carry(
    command: Carried,
    write: (stream: 'stdout' | 'stderr', bytes: Uint8Array) => void,
    signal: AbortSignal,
  ): Promise<number>;
  close(): void;
}

/** Asks who listens at a socket; null when nobody does. */
export async function greet(path: string): Promise<Greeting | null> {
  const connection = await connectOwner(path);
  connection?.close();
  return connection?.greeting ?? null;
}

/** Connects to a workspace's owner; null where there is none that may be reached. */
export function connectOwner(path: string): Promise<OwnerConnection | null> {
  return new Promise((resolve) => {
    const socket = connect(path);
    let take: (frame: Frame) => void = (frame) => {
      if (frame.kind !== 'greeting') return;
      clearTimeout(timer);
      resolve({
        greeting: frame.greeting,
        carry: (command, write, signal) => carry(socket, command, write, signal, (next) => (take = next)),
        close: () => socket.destroy(),
      });
    };
    const giveUp = (): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(null);
    };
    const timer = setTimeout(giveUp, GREETING_MS_MAX);
    socket.once('error', giveUp).once('close', giveUp);
    readFrames(socket, (frame) => take(frame));
  });
}

async function carry(
  socket: Socket,
  command: Carried,
  write: (stream: 'stdout' | 'stderr', bytes: Uint8Array) => void,
  signal: AbortSignal,
  listen: (take: (frame: Frame) => void) => void,
): Promise<number> {
  const cancel = (): void => void sendFrame(socket, { kind: 'cancel' });
  try {
    return await new Promise<number>((resolve, reject) => {
      socket.once('close', () => {
        reject(new SightlineError('interrupted', 'the process that carried out the command ended before it did'));
      });
      listen((frame) => {
        if (frame.kind === 'output') write(frame.stream, Buffer.from(frame.bytes, 'base64'));
        if (frame.kind === 'end') resolve(frame.exitCode);
      });
      void sendFrame(socket, { kind: 'run', command });
      if (signal.aborted) cancel();
      else signal.addEventListener('abort', cancel, { once: true });
    });
  } finally {
    signal.removeEventListener('abort', cancel);
    socket.destroy();
  }
}
