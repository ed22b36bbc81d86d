import { chmod, chown, cp, mkdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { proofOf } from '../../src/session/handshake.ts';
import { meetOwner } from '../../src/session/owner-client.ts';
import { type OwnerRecord, ownerRecordPath, readOwnerRecord } from '../../src/session/owner-record.ts';
import { becomeOwner } from '../../src/session/owner-server.ts';
import { createProcessSessions, thisProcess } from '../../src/session/process-driver.ts';
import { createSocketDriver, isServed } from '../../src/session/socket-driver.ts';
import { temporaryFolder } from '../support/folders.ts';
import { testWith } from '../support/needs.ts';

const NONCE = 'n'.repeat(43);

const claimIn = (folder: string) =>
  becomeOwner({ folder, command: 'serve', since: '2026-03-01T00:00:00.000Z', run: null, sessions: thisProcess });

async function claimed(folder: string): Promise<OwnerRecord> {
  const claim = await claimIn(folder);
  if (!claim.isOurs) throw new Error('another process owns the workspace');
  onTestFinished(claim.release);
  const written = await readOwnerRecord(folder);
  if (written === null) throw new Error('there is no claim');
  return written;
}

/** Listens at the socket that a workspace's claim names, calls `answer` in place of an owner, and records what it receives. */
async function impersonate(answer: (socket: Socket, line: string) => void = () => undefined) {
  const folder = await temporaryFolder();
  const first = await claimIn(folder);
  const claim = await readOwnerRecord(folder);
  if (!first.isOurs || claim === null) throw new Error('another process owns the workspace');
  await first.release();
  const received: string[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      received.push(chunk);
      answer(socket, chunk);
    });
  });
  const before = process.umask(0o177);
  await new Promise<void>((resolve) => server.listen(claim.socket, resolve));
  process.umask(before);
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  await writeFile(ownerRecordPath(folder), JSON.stringify(claim), { mode: 0o600 });
  return { folder, claim, received: () => received.join('') };
}

const say = (socket: Socket, frame: object): void => void socket.write(`${JSON.stringify(frame)}\n`);
const challenge = (socket: Socket, proof?: string): void => say(socket, { kind: 'challenge', nonce: NONCE, proof });

/** The proof that a client or the owner of a record sends. */
function proofIn(side: 'client' | 'server', record: OwnerRecord, clientNonce: string, serverNonce = NONCE): string {
  return proofOf(side, { ...record, recordId: record.id, clientNonce, serverNonce });
}

const nonceIn = (line: string): string => (JSON.parse(line) as { nonce: string }).nonce;

/** Connects to a socket and resolves with everything received until the other side ends the connection. */
function speak(path: string, ...sent: readonly string[]): { socket: Socket; ended: Promise<string> } {
  const socket = connect(path);
  let text = '';
  const ended = new Promise<string>((resolve) => {
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    socket.on('error', () => undefined).on('close', () => resolve(text));
  });
  for (const one of sent) socket.write(one);
  return { socket, ended };
}

it('does not take over a workspace from an owner that does not respond, and names that owner', async () => {
  const { folder, received } = await impersonate();
  expect(await claimIn(folder)).toMatchObject({
    isOurs: false,
    responds: false,
    owner: { command: 'serve', serves: false },
  });
  const entered = createSocketDriver(createProcessSessions()).acquire({
    folder,
    mode: 'wait',
    command: 'plan',
    description: 'plan',
    signal: AbortSignal.any([]),
    onWait: () => undefined,
  });
  await expect(entered).rejects.toMatchObject({
    code: 'warehouse_locked',
    message: expect.stringContaining('which does not respond'),
  });
  expect(received()).toMatch(/^(\{"kind":"hello","nonce":"[\w-]{43}"\}\n){2}$/);
});

it('removes its own claim but not the claim of another process', async () => {
  // Named like the folders of sockets whose path would be too long.
  const folder = await temporaryFolder();
  expect(folder).toMatch(/\/sightline-[^/]+$/);
  const first = await claimIn(folder);
  if (!first.isOurs) throw new Error('nobody else was there');
  const other = JSON.stringify({ ...(await readOwnerRecord(folder)), id: 'another' });
  await writeFile(ownerRecordPath(folder), other);
  await first.release();
  expect(await readFile(ownerRecordPath(folder), 'utf8')).toBe(other);
});

it('listens in a private short folder if the path of the workspace is too long for a socket', async () => {
  const folder = join(await temporaryFolder(), 'x'.repeat(60), 'y'.repeat(60));
  const claim = await claimIn(folder);
  if (!claim.isOurs) throw new Error('another process owns the workspace');
  const { socket = '' } = (await readOwnerRecord(folder)) ?? {};
  expect(socket.startsWith(folder)).toBe(false);
  expect((await stat(dirname(socket))).mode & 0o777).toBe(0o700);
  expect((await stat(socket)).mode & 0o777).toBe(0o600);
  expect(await isServed(folder)).toBe(true);
  await claim.release();
  await expect(stat(dirname(socket))).rejects.toThrow('ENOENT');
});

describe('a client', () => {
  const greeting = { pid: 1, command: 'serve', since: 'now', version: '0', serves: true };
  it.each<[string, (socket: Socket, line: string, claim: OwnerRecord) => void]>([
    ['greets without a proof', (socket) => say(socket, { kind: 'greeting', greeting })],
    ['does not know the secret', (socket) => challenge(socket, 'p'.repeat(43))],
    ['sends a proof of another length', (socket) => challenge(socket, 'p')],
    ['sends no proof', (socket) => challenge(socket)],
    [
      "sends the client's proof back",
      (socket, line, claim) => challenge(socket, proofIn('client', claim, nonceIn(line))),
    ],
    ['sends what is not JSON', (socket) => socket.write('HTTP/1.1 200 OK\r\n\r\n')],
    ['sends JSON that is not a frame', (socket) => socket.write('null\n')],
    ['sends without end', (socket) => socket.write('x'.repeat(1_000_000))],
  ])('sends nothing but a nonce to a listener that %s', async (_title, answer) => {
    let claim: OwnerRecord | null = null;
    const listener = await impersonate((socket, line) => {
      if (claim !== null) answer(socket, line, claim);
    });
    claim = listener.claim;
    await expect(meetOwner(claim)).rejects.toMatchObject({
      code: 'owner_untrusted',
      message: `the process that listens at ${claim.socket} does not know the secret of the claim`,
    });
    expect(listener.received()).toMatch(/^\{"kind":"hello","nonce":"[\w-]{43}"\}\n$/);
  });

  it('rejects a challenge that was recorded on an earlier connection', async () => {
    let recorded = '';
    const { claim, received } = await impersonate((socket, line) => {
      if (line.includes('"proof"')) return void socket.end();
      recorded ||= proofIn('server', claim, nonceIn(line));
      challenge(socket, recorded);
    });
    // A listener that knows the secret receives the client's proof.
    expect(await meetOwner(claim)).toBeNull();
    expect(received()).toContain('"kind":"proof"');
    await expect(meetOwner(claim)).rejects.toMatchObject({ code: 'owner_untrusted' });
    expect(received().match(/"kind":"proof"/g)).toHaveLength(1);
  });

  it('ignores the claim in a copied folder and does not affect the original', async () => {
    const folder = await temporaryFolder();
    const claim = await claimed(folder);
    const copy = join(await temporaryFolder(), 'copy');
    await cp(folder, copy, { recursive: true, filter: (path) => !path.endsWith('.sock') });
    expect(await readFile(ownerRecordPath(copy), 'utf8')).toContain(claim.socket);
    expect(await readOwnerRecord(copy)).toBeNull();
    expect(await isServed(copy)).toBe(false);
    const second = await claimed(copy);
    expect(second.socket).toBe(join(copy, 'owner.sock'));
    expect(second.secret).not.toBe(claim.secret);
    expect(await isServed(folder)).toBe(true);
    expect([claim.socket, second.socket].every(thisProcess.isListening)).toBe(true);
  });

  it('does not connect to an owner with the identity of another folder', async () => {
    const claim = await claimed(await temporaryFolder());
    await expect(meetOwner({ ...claim, folderId: '1:1' })).rejects.toMatchObject({ code: 'owner_untrusted' });
  });

  const nobody = 65_534;
  const isRoot = process.getuid?.() === 0;
  const dangers: readonly [string, (folder: string, socket: string) => Promise<unknown>, string, boolean?][] = [
    [
      'a claim that others may read',
      (folder) => chmod(ownerRecordPath(folder), 0o644),
      'serving.json has permissions 0644; allowed: 0600',
    ],
    [
      'a claim that is a symbolic link',
      async (folder) => {
        await rename(ownerRecordPath(folder), join(folder, 'elsewhere'));
        await symlink('elsewhere', ownerRecordPath(folder));
      },
      'serving.json is a symbolic link',
    ],
    [
      'a claim that is a folder',
      (folder) => rm(ownerRecordPath(folder)).then(() => mkdir(ownerRecordPath(folder))),
      'serving.json is not a file',
    ],
    [
      'a socket that others may use',
      (_folder, socket) => chmod(socket, 0o666),
      'owner.sock has permissions 0666; allowed: 0600',
    ],
    [
      'a file in place of the socket',
      (_folder, socket) => rm(socket).then(() => writeFile(socket, '', { mode: 0o600 })),
      'owner.sock is not a socket',
    ],
    [
      'a folder that everybody may write to',
      (folder) => chmod(folder, 0o777),
      'has permissions 0777, so other users can replace',
    ],
    [
      'a folder that a group may write to',
      (folder) => chmod(folder, 0o770),
      'has permissions 0770, so other users can replace',
    ],
    ['a folder within one that everybody may write to', (folder) => chmod(join(folder, '..'), 0o777), 'chmod o-w'],
    [
      "another user's claim",
      (folder) => chown(ownerRecordPath(folder), nobody, nobody),
      `belongs to user ${nobody}; allowed: user 0`,
      true,
    ],
    [
      "another user's socket",
      (_folder, socket) => chown(socket, nobody, nobody),
      `belongs to user ${nobody}; allowed: user 0`,
      true,
    ],
  ];
  for (const [title, endanger, message, needsRoot = false] of dangers) {
    const missing = needsRoot && !isRoot ? 'only root can give files away' : null;
    testWith(missing)(`refuses ${title} before it connects`, async () => {
      const folder = join(await temporaryFolder(), 'workspace');
      const { socket } = await claimed(folder);
      await endanger(folder, socket);
      for (const refused of [readOwnerRecord, isServed]) {
        await expect(refused(folder)).rejects.toMatchObject({
          code: 'owner_untrusted',
          message: expect.stringContaining(message),
        });
      }
    });
  }

  it('removes the write permission of other users when it claims a folder', async () => {
    const folder = await temporaryFolder();
    await chmod(folder, 0o777);
    await claimed(folder);
    expect((await stat(folder)).mode & 0o777).toBe(0o755);
    expect(await isServed(folder)).toBe(true);
  });
});

describe('an owner', () => {
  const hello = `${JSON.stringify({ kind: 'hello', nonce: 'c'.repeat(43) })}\n`;
  const run = `${JSON.stringify({ kind: 'run', command: {} })}\n`;

  async function open() {
    const folder = await temporaryFolder();
    const ran: unknown[] = [];
    const run = (command: unknown) => Promise.resolve(ran.push(command));
    const claim = await becomeOwner({ folder, command: 'serve', since: 'now', run, sessions: thisProcess });
    if (!claim.isOurs) throw new Error('another process owns the workspace');
    onTestFinished(claim.release);
    const written = await readOwnerRecord(folder);
    if (written === null) throw new Error('there is no claim');
    return { folder, ran, claim: written };
  }

  const greets = async (claim: OwnerRecord): Promise<boolean> => {
    const met = await meetOwner(claim);
    met?.connection?.close();
    return met?.connection !== null && met !== null;
  };

  it('runs no command for a client that has not proven the secret, and keeps running', async () => {
    const { claim, ran } = await open();
    const proof = (text: string): string => `${JSON.stringify({ kind: 'proof', proof: text })}\n`;
    const { socket, ended } = speak(claim.socket, hello);
    const challenged = JSON.parse(await new Promise<string>((resolve) => socket.once('data', resolve)));
    const right = proof(proofIn('client', claim, 'c'.repeat(43), challenged.nonce));
    socket.write(right);
    // A value that is not a command ends the connection, and the owner keeps running.
    socket.write(run);
    expect(await ended).toContain('"kind":"greeting"');
    const attempts: readonly (readonly string[])[] = [
      [run],
      [hello, run],
      [hello, proof('p'.repeat(43))],
      [hello, proof(challenged.proof)],
      // The proof and nonce of an earlier connection.
      [hello, right, run],
      [right, run],
      [hello, hello],
      ['GET / HTTP/1.1\r\n\r\n'],
      ['null\n'],
      ['x'.repeat(2_000_000)],
    ];
    for (const sent of attempts) {
      const answer = await speak(claim.socket, ...sent).ended;
      expect(answer, sent.join('').slice(0, 200)).not.toContain('greeting');
    }
    expect(ran).toEqual([]);
    expect(await greets(claim)).toBe(true);
  });

  it('ends connections without a proof, and sends `busy` to clients beyond its limit', async () => {
    const { claim } = await open();
    const idle = Array.from({ length: 64 }, () => speak(claim.socket));
    await Promise.all(idle.map(({ socket }) => new Promise((resolve) => socket.once('connect', resolve))));
    expect(await speak(claim.socket).ended).toBe('{"kind":"busy"}\n');
    expect(await meetOwner(claim)).toMatchObject({ connection: null, greeting: { serves: false } });
    expect(await Promise.all(idle.map(({ ended }) => ended))).toEqual(Array.from({ length: 64 }, () => ''));
    expect(await greets(claim)).toBe(true);
  });
});
