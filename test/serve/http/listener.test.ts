import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { type Listener, listenEarly } from '../../../src/serve/http/listener.ts';
import { NO_REPLICA, openServer, readRaw, requestText, sendRaw } from './support.ts';

async function listenHere(): Promise<Listener & { readonly port: number; readonly origin: string }> {
  const listener = await listenEarly('127.0.0.1', 0);
  onTestFinished(() => listener.close());
  const { port } = listener.server.address() as AddressInfo;
  return { ...listener, port, origin: `http://127.0.0.1:${port}` };
}

it('answers /livez before its routes exist, and other requests once they do', async () => {
  const listener = await listenHere();
  const early = await fetch(`${listener.origin}/livez`);
  expect([early.status, await early.json()]).toEqual([200, { status: 'ok' }]);
  expect(early.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  const head = readRaw(await sendRaw(listener.port, requestText('HEAD', '/livez?probe=1')));
  expect([head.status, head.body]).toEqual([200, '']);
  let isAnswered = false;
  const waiting = fetch(`${listener.origin}/readyz`).finally(() => {
    isAnswered = true;
  });
  const posted = fetch(`${listener.origin}/livez`, { method: 'POST', body: 'x' });
  await new Promise((resolve) => listener.server.once('request', resolve));
  expect((await fetch(`${listener.origin}/livez`)).status).toBe(200);
  expect(isAnswered).toBe(false);
  const server = await openServer(NO_REPLICA, { listener, port: listener.port });
  expect(server.port).toBe(listener.port);
  const { status, headers } = await waiting;
  expect([status, headers.has('retry-after')]).toEqual([503, true]);
  expect((await posted).status).toBe(405);
  const later = await fetch(`${listener.origin}/livez`);
  expect(later.status).toBe(200);
  expect((await server.log()).filter(({ path }) => path === '/livez')).toHaveLength(2);
});

it('stops listening when the server is closed', async () => {
  const listener = await listenHere();
  const server = await openServer(NO_REPLICA, { listener, port: listener.port });
  await server.close();
  expect(listener.server.listening).toBe(false);
  await expect(fetch(`${listener.origin}/livez`)).rejects.toThrow('fetch failed');
});

it('closes connections of waiting requests if the server cannot be started', async () => {
  const listener = await listenHere();
  const waiting = expect(fetch(`${listener.origin}/readyz`)).rejects.toThrow('fetch failed');
  await new Promise((resolve) => listener.server.once('request', resolve));
  await listener.close();
  await waiting;
});
