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
  /**
   * Resolves when it is this process's turn to have the warehouse, which it keeps until the connection is closed. `onWait`
   * is told what goes on meanwhile. Throws the signal's reason, and `interrupted` when the owner ends before.
   */
  borrow(command: string, onWait: (current: string) => void, signal: AbortSignal): Promise<void>;
  close(): void;
}

/** Asks who listens at a socket; null when nobody does, `silent` when somebody does who does not answer. */
export async function greet(path: string): Promise<Greeting | 'silent' | null> {
  const met = await meet(path);
  if (met === null || met === 'silent') return met;
  met.close();
  return met.greeting;
}

/** Connects to a workspace's owner; null where there is none that answers. */
export async function connectOwner(path: string): Promise<OwnerConnection | null> {
  const met = await meet(path);
  return met === 'silent' ? null : met;
}

function meet(path: string): Promise<OwnerConnection | 'silent' | null> {
  return new Promise((resolve) => {
    const socket = connect(path);
    let isConnected = false;
    let take: (frame: Frame) => void = (frame) => {
      if (frame.kind !== 'greeting') return;
      clearTimeout(timer);
      resolve({
        greeting: frame.greeting,
        carry: (command, write, signal) => carry(socket, command, write, signal, (next) => (take = next)),
        borrow: (command, onWait, signal) => borrow(socket, command, onWait, signal, (next) => (take = next)),
        close: () => socket.destroy(),
      });
    };
    const giveUp = (): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(null);
    };
    const giveUpWaiting = (): void => {
      // Nobody listens for a process that has gone.
      if (isConnected) resolve('silent');
      giveUp();
    };
    const timer = setTimeout(giveUpWaiting, GREETING_MS_MAX);
    socket.once('connect', () => {
      isConnected = true;
    });
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

async function borrow(
  socket: Socket,
  command: string,
  onWait: (current: string) => void,
  signal: AbortSignal,
  listen: (take: (frame: Frame) => void) => void,
): Promise<void> {
  let giveUp: () => void = () => undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      signal.throwIfAborted();
      giveUp = () => reject(signal.reason as Error);
      signal.addEventListener('abort', giveUp, { once: true });
      socket.once('close', () => {
        reject(new SightlineError('interrupted', 'the process that owns the workspace ended before it was free'));
      });
      listen((frame) => {
        if (frame.kind === 'waiting') onWait(frame.current);
        if (frame.kind === 'lent') resolve();
      });
      void sendFrame(socket, { kind: 'borrow', command });
    });
  } catch (thrown) {
    socket.destroy();
    throw thrown;
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}
