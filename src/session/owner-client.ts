import { connect, type Socket } from 'node:net';
import { SightlineError } from '../base/errors.ts';
import { VERSION } from '../base/version.ts';
import { createNonce, createSettingDigest, type DigestSetting, isNonce, isProof, proofOf } from './handshake.ts';
import { type OwnerRecord, untrusted } from './owner-record.ts';
import { type ForwardedCommand, type Frame, type Greeting, readFrames, sendFrame } from './socket-frames.ts';

/** Time limit for the handshake, in milliseconds. A running owner takes a few; a stopped one does not respond. */
const HANDSHAKE_MS_MAX = 3_000;

/** Errors of `connect` that mean that no process listens at the socket. */
const NOBODY: readonly (string | undefined)[] = ['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE'];

/** The exit code of a command that the owner ran, or the names of the settings because of which it refused to run it. */
export type ForwardedEnd = number | { readonly differs: readonly string[] };

/** A connection to a workspace's owner, which has proven the secret of the owner record. */
export interface OwnerConnection {
  readonly digest: DigestSetting;
  /**
   * Has the owner run a command and passes its output to `write`, in order. Aborting the signal stops the command. Throws
   * `interrupted` when the owner ends before the command does.
   */
  run(
    command: ForwardedCommand,
    write: (stream: 'stdout' | 'stderr', bytes: Uint8Array) => void,
    signal: AbortSignal,
  ): Promise<ForwardedEnd>;
  /**
   * Resolves when this process may use the warehouse, until it closes the connection. Calls `onWait` with the command that is
   * using it. Throws the signal's reason, and `interrupted` when the owner ends before.
   */
  enter(command: string, onWait: (holder: string) => void, signal: AbortSignal): Promise<void>;
  close(): void;
}

/** The process that listens at the socket of an owner record. */
export interface MetOwner {
  /** From the owner record if the process does not respond. */
  readonly greeting: Greeting;
  /** Null if the owner does not respond in time, has another version, or accepts no more connections. */
  readonly connection: OwnerConnection | null;
}

/**
 * Connects to the process that an owner record names; null if no process listens there. Throws `owner_untrusted` if the process
 * that listens does not prove the secret of the record; nothing but a nonce has been sent to it by then.
 */
export function meetOwner(record: OwnerRecord): Promise<MetOwner | null> {
  return new Promise((resolve, reject) => {
    const socket = connect(record.socket);
    let settled = false;
    let take: (frame: Frame) => void = () => undefined;
    let isProven = false;
    const settle = (end: () => void, keeps = false): void => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      if (!keeps) socket.destroy();
      end();
    };
    const { pid, command, since, version } = record;
    const silent = (): void => {
      const greeting = { pid, command, since, version, serves: false };
      settle(() => resolve({ greeting, connection: null }));
    };
    const refuse = (): void =>
      settle(() =>
        reject(untrusted(`the process that listens at ${record.socket} does not know the secret of the claim`)),
      );
    const timer = setTimeout(silent, HANDSHAKE_MS_MAX);
    const clientNonce = createNonce();
    socket.once('connect', () => {
      // Another version may have another handshake.
      if (version !== VERSION) silent();
      else void sendFrame(socket, { kind: 'hello', nonce: clientNonce });
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      // The queue of a stopped process is full.
      if (error.code === 'EAGAIN') silent();
      else settle(() => (NOBODY.includes(error.code) ? resolve(null) : reject(error)));
    });
    socket.once('close', () => settle(() => resolve(null)));
    take = (frame) => {
      if (settled) return;
      if (frame.kind === 'busy') silent();
      else if (frame.kind === 'challenge' && isNonce(frame.nonce) && !isProven) {
        const handshake = { ...record, recordId: record.id, clientNonce, serverNonce: frame.nonce };
        if (!isProof(proofOf('server', handshake), frame.proof)) return refuse();
        isProven = true;
        void sendFrame(socket, { kind: 'proof', proof: proofOf('client', handshake) });
      } else if (frame.kind === 'greeting' && isProven) {
        const listen = (next: (frame: Frame) => void): void => {
          take = next;
        };
        const connection: OwnerConnection = {
          digest: createSettingDigest(record.secret),
          run: (command, write, signal) => run(socket, command, write, signal, listen),
          enter: (command, onWait, signal) => enter(socket, command, onWait, signal, listen),
          close: () => socket.destroy(),
        };
        settle(() => resolve({ greeting: frame.greeting, connection }), true);
      } else refuse();
    };
    readFrames(
      socket,
      (frame) => take(frame),
      () => isProven,
      refuse,
    );
  });
}

async function run(
  socket: Socket,
  command: ForwardedCommand,
  write: (stream: 'stdout' | 'stderr', bytes: Uint8Array) => void,
  signal: AbortSignal,
  listen: (take: (frame: Frame) => void) => void,
): Promise<ForwardedEnd> {
  const cancel = (): void => void sendFrame(socket, { kind: 'cancel' });
  try {
    return await new Promise<ForwardedEnd>((resolve, reject) => {
      socket.once('close', () => {
        reject(new SightlineError('interrupted', 'the process that ran the command ended before the command did'));
      });
      listen((frame) => {
        if (frame.kind === 'output') write(frame.stream, Buffer.from(frame.bytes, 'base64'));
        if (frame.kind === 'differs') resolve({ differs: frame.names });
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

async function enter(
  socket: Socket,
  command: string,
  onWait: (holder: string) => void,
  signal: AbortSignal,
  listen: (take: (frame: Frame) => void) => void,
): Promise<void> {
  let abort: () => void = () => undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      signal.throwIfAborted();
      abort = () => reject(signal.reason as Error);
      signal.addEventListener('abort', abort, { once: true });
      socket.once('close', () => {
        reject(
          new SightlineError('interrupted', 'the process that owns the workspace ended before the warehouse was free'),
        );
      });
      listen((frame) => {
        if (frame.kind === 'waiting') onWait(frame.holder);
        if (frame.kind === 'entered') resolve();
      });
      void sendFrame(socket, { kind: 'enter', command });
    });
  } catch (thrown) {
    socket.destroy();
    throw thrown;
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
