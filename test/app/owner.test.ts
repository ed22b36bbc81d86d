import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { claimPath, claimWorkspace } from '../../src/app/owner.ts';
import { temporaryFolder } from '../support/folders.ts';

const claimIn = (folder: string) =>
  claimWorkspace({ folder, command: 'serve', since: '2026-03-01T00:00:00.000Z', forOthers: null });

it('leaves a workspace to an owner that is stopped for a while, and says whose it is', async () => {
  const folder = await temporaryFolder();
  // It listens, as the system does for a stopped process, and says nothing.
  const silent = createServer();
  const socket = join(folder, 'owner.sock');
  await new Promise<void>((resolve) => silent.listen(socket, resolve));
  onTestFinished(() => new Promise<void>((resolve) => silent.close(() => resolve())));
  await writeFile(claimPath(folder), JSON.stringify({ pid: 42, command: 'serve', since: 'yesterday', socket }));
  const claim = await claimIn(folder);
  expect(claim).toMatchObject({ isOurs: false, owner: { pid: 42, command: 'serve', carries: false } });
});

it('takes away its own claim and nothing else', async () => {
  // Named as the folders are that hold sockets whose path would be too long.
  const folder = await temporaryFolder();
  expect(folder).toMatch(/\/sightline-[^/]+$/);
  const first = await claimIn(folder);
  if (!first.isOurs) throw new Error('nobody else was there');
  const other = JSON.stringify({ id: 'another', pid: process.pid, socket: join(folder, 'owner.sock') });
  await writeFile(claimPath(folder), other);
  await first.release();
  expect(await readFile(claimPath(folder), 'utf8')).toBe(other);
});
