import { randomUUID } from 'node:crypto';
import { chmod, mkdtemp, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { Writable } from 'node:stream';
import { EXIT, SightlineError } from '../base/errors.ts';
import { ensureWritableFolder } from '../base/files.ts';
import { isRecord } from '../base/json.ts';
import { VERSION } from '../base/version.ts';
import { takeLock } from '../serve/key-file.ts';
import { greet } from './owner-client.ts';
import { type Carried, type Greeting, readFrames, sendFrame } from './owner-frames.ts';

/** A socket's path may have 107 bytes, on some systems 103. */
const PATH_BYTES_MAX = 103;
const SHORT_FOLDER = 'sightline-';
/** Of what a command writes, in one frame. */
const OUTPUT_BYTES_MAX = 65_536;

/** Where a carried-out command writes. */
export interface CarriedOutput {
  readonly stdout: Writable;
  readonly stderr: Writable;
}

/** Carries out a command and gives its exit code; does not throw. The signal is aborted when who asked wants it stopped, or has gone. */
export type Carry = (command: Carried, output: CarriedOutput, signal: AbortSignal) => Promise<number>;

/** Lets somebody else work on the warehouse in their turn; `onWait` is told what goes on before. Does not throw. */
export type Lend = (
  command: string,
  work: () => Promise<void>,
  onWait: (current: string) => void,
  signal: AbortSignal,
) => Promise<void>;

/** What a process claims a workspace for. */
export interface ClaimRequest {
  readonly folder: string;
  /** The command, for what others are told. */
  readonly command: string;
  readonly since: string;
  /** Carries out others' commands and lends them the warehouse; null where they are refused. */
  readonly forOthers: { readonly carry: Carry; readonly lend: Lend } | null;
}

/** A workspace that is claimed by this process, or by another. */
export type Claim =
  | { readonly isOurs: true; release(): Promise<void> }
  | { readonly isOurs: false; readonly owner: Greeting };

/** Where it is written down who owns a workspace, and where they are reached. */
export function claimPath(folder: string): string {
  return join(folder, 'serving.json');
}

// Process numbers do not tell: in containers that share a folder every process may be the first.
const ownSockets = new Set<string>();

/** Whether this process is the one that is reached at a socket. */
export function isOwnSocket(socket: string): boolean {
  return ownSockets.has(socket);
}

/** The socket at which a workspace's owner is reached; null where nobody says to own it. */
export async function readClaim(folder: string): Promise<string | null> {
  return (await readClaimFile(folder))?.socket ?? null;
}

/** What is written down of an owner; the id tells one claim from another at the same socket. */
interface WrittenClaim extends Omit<Greeting, 'carries'> {
  readonly id: string;
  readonly socket: string;
}

async function readClaimFile(folder: string): Promise<WrittenClaim | null> {
  try {
    const claim: unknown = JSON.parse(await readFile(claimPath(folder), 'utf8'));
    if (!isRecord(claim) || typeof claim['socket'] !== 'string') return null;
    const unknown = { id: '', pid: 0, command: 'serve', since: 'a while ago', version: VERSION };
    return { ...unknown, ...claim, socket: claim['socket'] };
  } catch {
    return null;
  }
}

/** Claims a workspace until it is released, unless a process that lives has done so. Throws `folder_unwritable`. */
export async function claimWorkspace(request: ClaimRequest): Promise<Claim> {
  const { folder } = request;
  await ensureWritableFolder(folder);
  const lock = await takeLock(`${claimPath(folder)}.lock`, 'is claiming the workspace');
  try {
    const earlier = await readClaimFile(folder);
    const owner = earlier === null ? null : await greet(earlier.socket);
    // One that is stopped, or has no time to answer, goes on where it was.
    if (earlier !== null && owner === 'silent') return { isOurs: false, owner: { ...earlier, carries: false } };
    if (owner !== null && owner !== 'silent') return { isOurs: false, owner };
    // What a process left that was killed.
    if (earlier !== null) await removeSocket(earlier.socket);
    const path = await choosePath(folder);
    const { server, close } = createOwner(request);
    await listen(server, path);
    const { command, since } = request;
    const claim: WrittenClaim = { id: randomUUID(), pid: process.pid, command, since, version: VERSION, socket: path };
    await writeFile(claimPath(folder), `${JSON.stringify(claim)}\n`, { mode: 0o600 });
    ownSockets.add(path);
    const release = async (): Promise<void> => {
      // The socket goes first, and at once: by the time all work has ended another may listen there.
      const closed = close();
      await removeShortFolder(path);
      await closed;
      ownSockets.delete(path);
      await removeClaim(folder, claim.id);
    };
    return { isOurs: true, release };
  } finally {
    await lock.release();
  }
}

// Where it is still the one that was written: what cannot be removed leads nowhere, and is replaced by the next.
async function removeClaim(folder: string, id: string): Promise<void> {
  const lock = await takeLock(`${claimPath(folder)}.lock`, 'is claiming the workspace').catch(() => null);
  try {
    if ((await readClaimFile(folder))?.id === id) await rm(claimPath(folder), { force: true });
  } finally {
    await lock?.release();
  }
}

function createOwner({ command, since, forOthers }: ClaimRequest): { server: Server; close: () => Promise<void> } {
  const open = new Map<Socket, { readonly stop: AbortController; work: Promise<void> | null }>();
  const greeting: Greeting = { pid: process.pid, command, since, version: VERSION, carries: forOthers !== null };
  const server = createServer((socket) => {
    const stop = new AbortController();
    const cancel = (): void => stop.abort(new SightlineError('interrupted', 'stopped'));
    const one: { readonly stop: AbortController; work: Promise<void> | null } = { stop, work: null };
    open.set(socket, one);
    socket.on('error', () => undefined);
    socket.once('close', () => {
      cancel();
      open.delete(socket);
    });
    readFrames(socket, (frame) => {
      if (frame.kind === 'cancel') cancel();
      if (one.work !== null || forOthers === null) return;
      if (frame.kind === 'run') one.work = carryOut(socket, frame.command, forOthers.carry, stop.signal);
      if (frame.kind === 'borrow') one.work = lendTo(socket, frame.command, forOthers.lend, stop.signal);
    });
    void sendFrame(socket, { kind: 'greeting', greeting });
  });
  const close = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const { stop } of open.values()) stop.abort(new SightlineError('interrupted', 'stopped'));
    // Who asked for work is told how it ended.
    await Promise.all([...open.values()].map(({ work }) => work));
    for (const socket of open.keys()) socket.destroy();
    await closed;
  };
  return { server, close };
}

async function carryOut(socket: Socket, command: Carried, carry: Carry, signal: AbortSignal): Promise<void> {
  const output = { stdout: outputOf(socket, 'stdout', command), stderr: outputOf(socket, 'stderr', command) };
  const exitCode = await carry(command, output, signal).catch(() => EXIT.failed);
  // What it wrote goes first.
  await Promise.all(
    [output.stdout, output.stderr].map((stream) => new Promise<void>((done) => stream.end(() => done()))),
  );
  await sendFrame(socket, { kind: 'end', exitCode });
  socket.end();
}

// Until who borrowed it has gone, or this process goes.
function lendTo(socket: Socket, command: string, lend: Lend, signal: AbortSignal): Promise<void> {
  const given = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  const work = async (): Promise<void> => {
    await sendFrame(socket, { kind: 'lent' });
    await given;
  };
  return lend(command, work, (current) => void sendFrame(socket, { kind: 'waiting', current }), signal);
}

function outputOf(socket: Socket, stream: 'stdout' | 'stderr', command: Carried): Writable {
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

// Made with the permissions that it keeps: there is no moment in which others could connect.
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

// Only when nothing else is in it: a workspace's own folder may have such a name as well.
async function removeShortFolder(path: string): Promise<void> {
  const folder = dirname(path);
  if (dirname(folder) !== tmpdir() || !basename(folder).startsWith(SHORT_FOLDER)) return;
  await rmdir(folder).catch(() => undefined);
}
