import { describe, expect, it } from 'vitest';
import { layoutOf } from '../../src/publish/snapshot/layout.ts';
import { createKey, revokeKey } from '../../src/serve/auth/keys.ts';
import { openServer, PAGE_STATUS, readRaw, requestText, sendRaw } from '../serve/http/support.ts';
import { stillClock } from '../serve/served-world.ts';
import { eventsOf, type StatusServer, serveStatus, worldBefore } from './support.ts';

const workspace = worldBefore('tiny');
const DATA = ['/status/data', '/data/queries', '/status/events'] as const;

/** Sends a request from this machine with custom headers and returns the status. */
async function rawStatus({ origin }: StatusServer, path: string, headers: Readonly<Record<string, string>>) {
  const { status } = readRaw(await sendRaw(Number(new URL(origin).port), requestText('GET', path, headers)));
  return status;
}

async function accessOf(server: StatusServer, headers: Readonly<Record<string, string>>): Promise<string> {
  const response = await server.ask('/data/me', headers);
  expect(response.status).toBe(200);
  return ((await response.json()) as { access: string }).access;
}

describe('the status page with --pages key', () => {
  it('is available with a key, without using up the rate limit of the API', async () => {
    const server = await serveStatus(workspace(), { rateLimit: 1 });
    for (const path of DATA) {
      const response = await server.ask(path, {});
      expect(response.status, path).toBe(401);
      expect(response.headers.get('www-authenticate')).toBe('Bearer');
      expect(response.headers.get('content-security-policy')).not.toBeNull();
      expect((await server.ask(path, { authorization: 'Bearer gsk_wrong' })).status).toBe(401);
    }
    expect(await accessOf(server, {})).toBe('none');
    expect(await accessOf(server, { 'x-api-key': 'gsk_wrong' })).toBe('none');
    expect(await accessOf(server, { 'x-api-key': workspace().key })).toBe('key');
    for (let time = 0; time < 5; time++) expect((await server.ask('/status/data')).status).toBe(200);
    // The only request of the API's limit is still available.
    const get = () => fetch(`${server.baseUrl}/brands`, { headers: { 'x-api-key': workspace().key } });
    expect([(await get()).status, (await get()).status]).toEqual([200, 429]);
    expect((await server.ask('/status/data')).status).toBe(200);
    expect(await rawStatus(server, '/snapshots', {})).toBe(401);
  });

  it('limits page requests separately', async () => {
    const { analytics } = layoutOf(workspace().config.folder);
    const { get, origin, key } = await openServer(analytics, {
      limits: { pageRequestsMax: 20 },
      pages: { status: PAGE_STATUS },
    });
    const ask = () => fetch(`${origin}/data/queries/Unknown`, { headers: { 'x-api-key': key } });
    const statuses: number[] = [];
    for (let time = 0; time < 21; time++) statuses.push((await ask()).status);
    expect(statuses).toEqual([...Array<number>(20).fill(404), 429]);
    expect((await get('/brands')).status).toBe(200);
  });

  it('limits the number of listening pages', async () => {
    const server = await serveStatus(workspace());
    const { folder } = workspace().config;
    const listen = async (count: number, key = workspace().key): Promise<Response[]> => {
      const headers = { authorization: `Bearer ${key}` };
      return Promise.all(Array.from({ length: count }, () => server.ask('/status/events', headers)));
    };
    const statusesOf = (responses: Response[]) => responses.map(({ status }) => status).sort();
    // Half of the places stay free for other keys.
    const own = await listen(34);
    expect(statusesOf(own)).toEqual([...Array<number>(32).fill(200), 503, 503]);
    const others = await listen(32, (await createKey(folder, 'other', null, stillClock.now())).text);
    expect(statusesOf(others)).toEqual(Array<number>(32).fill(200));
    const third = await listen(1, (await createKey(folder, 'third', null, stillClock.now())).text);
    expect(statusesOf(third)).toEqual([503]);
    await server.close();
    for (const stream of [...own, ...others]) await stream.body?.cancel();
  });

  it('limits wrong keys', async () => {
    const server = await serveStatus(workspace());
    const guess = () => server.ask('/data/me', { authorization: 'Bearer gsk_guess' });
    const statuses = [];
    for (let time = 0; time < 31; time++) statuses.push((await guess()).status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(30);
    expect(statuses.at(-1)).toBe(429);
    expect((await server.ask('/status/data')).status).toBe(200);
  });

  it('ends the event stream when its key is revoked, and all streams when the server stops', async () => {
    const { config } = workspace();
    const server = await serveStatus(workspace());
    const { text } = await createKey(config.folder, 'lost', null, stillClock.now());
    const next = eventsOf(await server.ask('/status/events', { authorization: `Bearer ${text}` }));
    const stays = eventsOf(await server.ask('/status/events'));
    await revokeKey(config.folder, 'lost');
    expect(await next()).toEqual({ event: 'refused', data: null });
    expect(await next()).toBeNull();
    expect((await server.ask('/status/data', { authorization: `Bearer ${text}` })).status).toBe(401);
    expect(await stays()).toEqual({ event: 'changed', data: ['keys'] });
    const ended = stays();
    await server.close();
    expect(await ended).toEqual({ event: 'bye', data: null });
    expect(await stays()).toBeNull();
  });

  it('rejects pages of other sites, even from origins that may read the API', async () => {
    const allowed = 'https://app.example.com';
    const server = await serveStatus(workspace(), { corsOrigins: [allowed] });
    const key = { Authorization: `Bearer ${workspace().key}` };
    for (const headers of [
      { Origin: 'https://evil.example' },
      { Origin: allowed },
      { Origin: 'null' },
      { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'cors' },
      { 'Sec-Fetch-Site': 'same-site', 'Sec-Fetch-Mode': 'no-cors' },
      { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' },
    ]) {
      for (const path of DATA) expect(await rawStatus(server, path, { ...key, ...headers }), path).toBe(403);
    }
    const response = await server.ask('/data/me', { ...key, origin: allowed });
    expect(response.status).toBe(403);
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
    // A link from another site opens the page, which contains no data, and its own requests are accepted.
    expect(
      await rawStatus(server, '/operations', { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' }),
    ).toBe(200);
    expect(
      await rawStatus(server, '/operations', { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'no-cors' }),
    ).toBe(403);
    const own = { ...key, Host: '127.0.0.1:1', Origin: 'http://127.0.0.1:1', 'Sec-Fetch-Site': 'same-origin' };
    expect(await rawStatus(server, '/status/data', own)).toBe(200);
  });
});

it('the status page with --pages loopback needs no key on this machine, and a key from other machines', async () => {
  const server = await serveStatus(workspace(), { pages: 'loopback', allowedHosts: ['status.example.com'] });
  expect(await accessOf(server, {})).toBe('loopback');
  expect(await rawStatus(server, '/status/data', {})).toBe(200);
  expect(await rawStatus(server, '/status/data', { Host: 'localhost:80' })).toBe(200);
  expect(await rawStatus(server, '/snapshots', {})).toBe(200);
  for (const headers of [
    { Host: 'status.example.com' },
    { 'X-Forwarded-For': '203.0.113.9' },
    { 'X-Forwarded-Proto': 'https' },
    { Forwarded: 'for=203.0.113.9' },
    { Via: '1.1 proxy' },
    { 'X-Real-IP': '203.0.113.9' },
    { 'Fastly-Client-IP': '203.0.113.9' },
    { 'CF-Ray': '1' },
  ]) {
    expect(await rawStatus(server, '/status/data', headers), JSON.stringify(headers)).toBe(401);
    expect(await rawStatus(server, '/snapshots', headers), JSON.stringify(headers)).toBe(401);
    const key = { ...headers, Authorization: `Bearer ${workspace().key}` };
    expect(await rawStatus(server, '/status/data', key), JSON.stringify(headers)).toBe(200);
  }
  // nginx sends such requests if configured only with the address.
  const old = requestText('GET', '/status/data', { Host: '127.0.0.1' }).replace('HTTP/1.1', 'HTTP/1.0');
  expect(readRaw(await sendRaw(Number(new URL(server.origin).port), old)).status).toBe(401);
  expect(await rawStatus(server, '/status/data', { 'Sec-Fetch-Site': 'cross-site' })).toBe(403);
  expect(await rawStatus(server, '/snapshots', { 'Sec-Fetch-Site': 'cross-site' })).toBe(401);
  expect(await rawStatus(server, '/status/data', { Host: 'rebound.example' })).toBe(403);
  // The API itself still needs a key.
  expect(await rawStatus(server, '/v1/brands', {})).toBe(401);
});

it('the status page with --pages off returns 404', async () => {
  const server = await serveStatus(workspace(), { pages: 'off' });
  expect(server).toMatchObject({ pageUrl: null, statusUrl: null });
  expect(await server.signInUrl()).toBeNull();
  const paths = ['/', '/operations', '/prompts', '/assets/a.js', '/status/page.js'];
  for (const path of [...paths, '/data/me', '/data/session', '/data/sessions', ...DATA]) {
    expect((await server.ask(path)).status, path).toBe(404);
  }
  expect(await rawStatus(server, '/snapshots', {})).toBe(401);
});
