import { randomUUID } from 'node:crypto';
import { chmod, mkdtemp, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { Writable } from 'node:stream';
import { EXIT, SightlineError } from '../base/errors.ts';
import { takeLock } from '../base/file-lock.ts';
import { ensureWritableFolder } from '../base/files.ts';
import { VERSION } from '../base/version.ts';
import {
  createNonce,
  createSettingDigest,
  type DigestSetting,
  type Handshake,
  isNonce,
  isProof,
  proofOf,
} from './handshake.ts';
import { type ForwardedEnd, meetOwner } from './owner-client.ts';
import {
  checkFolders,
  folderIdOf,
  type OwnerRecord,
  ownerRecordPath,
  readOwnerRecord,
  removeSharedWriting,
} from './owner-record.ts';
import type { ProcessSessions } from './process-driver.ts';
import { type ForwardedCommand, type Frame, type Greeting, readFrames, sendFrame } from './socket-frames.ts';

/** Longest path of a Unix socket: 107 bytes on Linux, 103 on some systems. */
const PATH_BYTES_MAX = 103;
const SHORT_FOLDER = 'sightline-';
/** Largest piece of a command's output in one frame, in bytes. */
const OUTPUT_BYTES_MAX = 65_536;
/** Concurrent connections. Further clients receive `busy`. */
const CONNECTIONS_MAX = 64;
/** Time in which a client must prove the secret before it is disconnected, in milliseconds. */
const HANDSHAKE_MS_MAX = 3_000;

/** Output streams of a command that the owner runs for a client. */
export interface ForwardedOutput {
  readonly stdout: Writable;
  readonly stderr: Writable;
}

/**
 * Runs a client's command with this process's settings, unless one of the client's differs by `digest`. Does not throw. The
 * signal is aborted when the client cancels the command or disconnects.
 */
export type RunForwarded = (
  command: ForwardedCommand,
  output: ForwardedOutput,
  signal: AbortSignal,
  digest: DigestSetting,
) => Promise<ForwardedEnd>;

/** A process's request to own a workspace. */
export interface OwnerRequest {
  readonly folder: string;
  /** The command of this process, shown to other processes. */
  readonly command: string;
  readonly since: string;
  /** Runs the commands of clients, which may also wait in the queue of `sessions`; null if clients are refused. */
  readonly run: RunForwarded | null;
  readonly sessions: ProcessSessions;
}

/** Whether this process owns the workspace now, or another one does. `responds` is whether that one responded. */
export type Ownership =
  | { readonly isOurs: true; release(): Promise<void> }
  | { readonly isOurs: false; readonly owner: Greeting; readonly responds: boolean };

/**
 * Makes this process the owner of a workspace until it releases it, unless a live process owns it.
 *
 * @throws `folder_unwritable`, and `owner_untrusted` if other users could replace the owner record.
 */
export async function becomeOwner(request: OwnerRequest): Promise<Ownership> {
  const { folder, command, since, sessions } = request;
  await ensureWritableFolder(folder);
  await removeSharedWriting(folder);
  await checkFolders(folder);
  const lock = await takeLock(`${ownerRecordPath(folder)}.lock`, 'is claiming the workspace');
  try {
    const earlier = await readOwnerRecord(folder);
    const met = earlier === null ? null : await meetOwner(earlier);
    met?.connection?.close();
    // A stopped or overloaded owner does not respond but still owns the workspace.
    if (met !== null) return { isOurs: false, owner: met.greeting, responds: met.connection !== null };
    // No process listens: the owner was killed and left its socket.
    if (earlier !== null) await removeSocket(earlier.socket);
    const path = await choosePath(folder);
    const record: OwnerRecord = {
      id: randomUUID(),
      pid: process.pid,
      command,
      since,
      version: VERSION,
      socket: path,
      folderId: await folderIdOf(folder),
      secret: createNonce(),
    };
    const { server, close } = createOwner(request, record);
    await listen(server, path);
    await writeRecord(folder, record);
    const stopListening = sessions.setListening(path);
    const release = async (): Promise<void> => {
      // Remove the socket first: another process may listen at this path before all work here has ended.
      const closed = close();
      await removeShortFolder(path);
      await closed;
      stopListening();
      await removeRecord(folder, record.id);
    };
    return { isOurs: true, release };
  } finally {
    await lock.release();
  }
}

// Rename into place, so the file never has an earlier file's permissions and is never read half-written.
async function writeRecord(folder: string, record: OwnerRecord): Promise<void> {
  const aside = `${ownerRecordPath(folder)}.${record.id}`;
  try {
    await writeFile(aside, `${JSON.stringify(record)}\n`, { mode: 0o600, flag: 'wx' });
    await rename(aside, ownerRecordPath(folder));
  } finally {
    await rm(aside, { force: true });
  }
}

// Removes the record only if it is still this one. A record that cannot be removed has no listener and is replaced later.
async function removeRecord(folder: string, id: string): Promise<void> {
  const lock = await takeLock(`${ownerRecordPath(folder)}.lock`, 'is claiming the workspace').catch(() => null);
  try {
    if ((await readOwnerRecord(folder).catch(() => null))?.id === id)
      await rm(ownerRecordPath(folder), { force: true });
  } finally {
    await lock?.release();
  }
}

function createOwner(
  { folder, command, since, run, sessions }: OwnerRequest,
  record: OwnerRecord,
): { server: Server; close: () => Promise<void> } {
  const open = new Map<Socket, { readonly stop: AbortController; work: Promise<void> | null }>();
  const greeting: Greeting = { pid: process.pid, command, since, version: VERSION, serves: run !== null };
  const digest = createSettingDigest(record.secret);
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    if (open.size >= CONNECTIONS_MAX) {
      void sendFrame(socket, { kind: 'busy' });
      socket.destroySoon();
      return;
    }
    const stop = new AbortController();
    const cancel = (): void => stop.abort(new SightlineError('interrupted', 'stopped'));
    const one: { readonly stop: AbortController; work: Promise<void> | null } = { stop, work: null };
    open.set(socket, one);
    const timer = setTimeout(() => socket.destroy(), HANDSHAKE_MS_MAX);
    socket.once('close', () => {
      clearTimeout(timer);
      cancel();
      open.delete(socket);
    });
    let isProven = false;
    const prove = createProver(socket, record, () => {
      isProven = true;
      clearTimeout(timer);
      void sendFrame(socket, { kind: 'greeting', greeting });
    });
    const take = (frame: Frame): void => {
      if (!isProven) {
        prove(frame);
        return;
      }
      if (frame.kind === 'cancel') cancel();
      if (one.work !== null || run === null) return;
      if (frame.kind === 'run')
        one.work = runFor(socket, frame.command, run, stop.signal, digest).catch(() => void socket.destroy());
      if (frame.kind === 'enter') one.work = handOver(socket, folder, frame.command, sessions, stop.signal);
    };
    readFrames(socket, take, () => isProven);
  });
  const close = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const { stop } of open.values()) stop.abort(new SightlineError('interrupted', 'stopped'));
    // Clients receive the result of their running command before the connection is closed.
    await Promise.all([...open.values()].map(({ work }) => work));
    for (const socket of open.keys()) socket.destroy();
    await closed;
  };
  return { server, close };
}

// The owner's side of the handshake. Anything unexpected ends the connection.
function createProver(socket: Socket, record: OwnerRecord, onProven: () => void): (frame: Frame) => void {
  const serverNonce = createNonce();
  let handshake: Handshake | null = null;
  return (frame) => {
    if (frame.kind === 'hello' && handshake === null && isNonce(frame.nonce)) {
      handshake = { ...record, recordId: record.id, clientNonce: frame.nonce, serverNonce };
      void sendFrame(socket, { kind: 'challenge', nonce: serverNonce, proof: proofOf('server', handshake) });
    } else if (frame.kind === 'proof' && handshake !== null && isProof(proofOf('client', handshake), frame.proof)) {
      onProven();
    } else socket.destroy();
  };
}

// Does not throw.
async function runFor(
  socket: Socket,
  command: ForwardedCommand,
  run: RunForwarded,
  signal: AbortSignal,
  digest: DigestSetting,
): Promise<void> {
  const output = { stdout: outputOf(socket, 'stdout', command), stderr: outputOf(socket, 'stderr', command) };
  const ended = await run(command, output, signal, digest).catch(() => EXIT.failed);
  // Send the remaining output before the exit code.
  await Promise.all(
    [output.stdout, output.stderr].map((stream) => new Promise<void>((done) => stream.end(() => done()))),
  );
  const isRun = typeof ended === 'number';
  await sendFrame(socket, isRun ? { kind: 'end', exitCode: ended } : { kind: 'differs', names: ended.differs });
  socket.end();
}

// Hands the workspace over to a client, until the client disconnects or this process stops. Does not throw.
async function handOver(
  socket: Socket,
  folder: string,
  command: string,
  sessions: ProcessSessions,
  signal: AbortSignal,
): Promise<void> {
  const description = `\`sightline ${command}\``;
  const onWait = (holder: string): void => void sendFrame(socket, { kind: 'waiting', holder });
  // A client that no longer waits gets no response.
  const grant = await sessions
    .acquire({ folder, mode: 'wait', command, description, signal, onWait })
    .catch(() => null);
  if (grant === null) return;
  await sendFrame(socket, { kind: 'entered' });
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  await grant.release();
}

function outputOf(socket: Socket, stream: 'stdout' | 'stderr', command: ForwardedCommand): Writable {
  const { isTTY, columns } = command[stream];
  const output = new Writable({
    decodeStrings: true,
    write: (chunk: Buffer, _encoding, done) => {
      void sendOutput(socket, stream, chunk).then(() => done());
    },
  });
  return Object.assign(output, { isTTY, columns: columns ?? undefined });
}

async function sendOutput(socket: Socket, stream: 'stdout' | 'stderr', chunk: Buffer): Promise<void> {
  for (let from = 0; from < chunk.length; from += OUTPUT_BYTES_MAX) {
    const bytes = chunk.subarray(from, from + OUTPUT_BYTES_MAX).toString('base64');
    await sendFrame(socket, { kind: 'output', stream, bytes });
  }
}

// The umask makes the socket private from the start, so no other user can connect before `chmod`.
async function listen(server: Server, path: string): Promise<void> {
  const before = process.umask(0o177);
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(path, () => resolve());
      process.umask(before);
    });
  } finally {
    process.umask(before);
  }
  await chmod(path, 0o600);
}

async function choosePath(folder: string): Promise<string> {
  const path = join(folder, 'owner.sock');
  if (Buffer.byteLength(path) <= PATH_BYTES_MAX) {
    await rm(path, { force: true });
    return path;
  }
  return join(await mkdtemp(join(tmpdir(), SHORT_FOLDER)), 'owner.sock');
}

async function removeSocket(path: string): Promise<void> {
  if (basename(path) === 'owner.sock') await rm(path, { force: true });
  await removeShortFolder(path);
}

// Removes the folder only if it is empty: a workspace's own folder may have such a name.
async function removeShortFolder(path: string): Promise<void> {
  const folder = dirname(path);
  if (dirname(folder) !== tmpdir() || !basename(folder).startsWith(SHORT_FOLDER)) return;
  await rmdir(folder).catch(() => undefined);
}
