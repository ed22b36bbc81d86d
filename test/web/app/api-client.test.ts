import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ApiError, createApi, queryOf } from '../../../src/web/app/state/api.ts';

interface Sent {
  readonly url: string;
  readonly init: RequestInit;
  readonly respond: (body: unknown, status?: number) => void;
}

// A client with requests that wait until the test responds.
function clientOf() {
  const sent: Sent[] = [];
  const request = (url: unknown, init: RequestInit = {}): Promise<Response> =>
    new Promise((resolve, reject) => {
      const respond = (body: unknown, status = 200): void => resolve(new Response(JSON.stringify(body), { status }));
      init.signal?.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError')));
      sent.push({ url: String(url), init, respond });
    });
  return { api: createApi('/w/one', request as typeof fetch), sent };
}

test('equal requests under way are sent once, and the result is known without another request', async () => {
  const { api, sent } = clientOf();
  const { signal } = new AbortController();
  const both = [api.get('/data/x', { b: 1, a: 2 }, signal), api.get('/data/x', { a: 2, b: 1 }, signal)];
  await setImmediate();
  expect(sent.map(({ url }) => url)).toEqual(['/w/one/data/x?a=2&b=1']);
  sent[0]?.respond({ ok: true });
  expect(await Promise.all(both)).toEqual([{ ok: true }, { ok: true }]);
  expect(api.peek('/data/x', { a: 2, b: 1 })).toEqual({ ok: true });
  api.changed();
  expect(api.peek('/data/x', { a: 2, b: 1 })).toBeNull();
});

test('a shared request is aborted when the last of its callers aborts', async () => {
  const { api, sent } = clientOf();
  const [first, second] = [new AbortController(), new AbortController()];
  const both = [api.get('/data/x', {}, first.signal), api.get('/data/x', {}, second.signal)];
  for (const each of both) each.catch(() => undefined);
  await setImmediate();
  first.abort();
  expect(sent[0]?.init.signal?.aborted).toBe(false);
  second.abort();
  expect(sent[0]?.init.signal?.aborted).toBe(true);
  const third = api.get('/data/x', {}, new AbortController().signal);
  await setImmediate();
  expect(sent).toHaveLength(2);
  sent[1]?.respond(1);
  expect(await third).toBe(1);
});

test('an error has the code, message and request of the envelope', async () => {
  const { api, sent } = clientOf();
  const asked = api.get('/data/x', {}, new AbortController().signal);
  await setImmediate();
  sent[0]?.respond({ error: { code: 'invalid_request', message: 'from is x', requestId: 'r' } }, 400);
  const error = await asked.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({ status: 400, code: 'invalid_request', message: 'from is x', requestId: 'r' });
});

test('a request that changes something carries the token against forged requests', async () => {
  const { api, sent } = clientOf();
  api.setCsrf('token');
  const asked = api.send('POST', '/data/sql', { sql: 'SELECT 1' });
  sent[0]?.respond({});
  await asked;
  expect(sent[0]?.init).toMatchObject({
    method: 'POST',
    body: '{"sql":"SELECT 1"}',
    headers: { 'x-sightline-csrf': 'token', 'content-type': 'application/json' },
  });
});

test('listeners are called after changes until they are removed', () => {
  const { api } = clientOf();
  const heard: number[] = [];
  const end = api.onChange(() => heard.push(1));
  api.changed();
  end();
  api.changed();
  expect(heard).toEqual([1]);
});

test('missing parameters are left out of a query', () => {
  expect(queryOf({ a: null, b: undefined, c: '', d: [], e: ['x', 'y z'] })).toBe('?e=x&e=y+z');
});

test('at most three requests are under way; the others follow in their order, and aborted ones are not sent', async () => {
  const { api, sent } = clientOf();
  const { signal } = new AbortController();
  const fourth = new AbortController();
  const asked = [0, 1, 2].map((id) => api.get('/data/x', { id }, signal));
  const given = api.get('/data/x', { id: 3 }, fourth.signal).catch((error: unknown) => error);
  const last = api.get('/data/x', { id: 4 }, signal);
  await setImmediate();
  expect(sent).toHaveLength(3);
  fourth.abort();
  sent[1]?.respond('second');
  expect(await asked[1]).toBe('second');
  expect(await given).toMatchObject({ name: 'AbortError' });
  expect(sent.map(({ url }) => url.slice(-1))).toEqual(['0', '1', '2', '4']);
  sent[3]?.respond('last');
  expect(await last).toBe('last');
});

test('of requests that are asked together, those with the first turn are sent first, and those with the last turn last', async () => {
  const { api, sent } = clientOf();
  const { signal } = new AbortController();
  const turns = ['last', 'next', 'next', 'first'] as const;
  const asked = turns.map((turn, id) => api.get('/data/x', { id }, signal, turn));
  await setImmediate();
  expect(sent.map(({ url }) => url.slice(-1))).toEqual(['3', '1', '2']);
  sent[0]?.respond('done');
  await asked[3];
  expect(sent.map(({ url }) => url.slice(-1))).toEqual(['3', '1', '2', '0']);
});
