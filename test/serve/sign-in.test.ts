import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loadConfig } from '../../src/base/config/config.ts';
import { createKey, type KeyRights, revokeKey } from '../../src/serve/auth/keys.ts';
import { createLink } from '../../src/serve/auth/sessions.ts';
import type { ServeWorkspaceOptions } from '../../src/serve/serve-workspace.ts';
import type { Me } from '../../src/web/app/state/api.ts';
import { NOW_MS } from '../support/clocks.ts';
import { temporaryFolder } from '../support/folders.ts';
import { readRaw, sendRaw } from './http/support.ts';
import { serveWorld } from './served-world.ts';

/** A server of a workspace without data, and a browser without cookies. */
async function open(changes: Partial<ServeWorkspaceOptions> = {}) {
  const config = loadConfig({ flags: {}, environment: {}, folder: await temporaryFolder() });
  const keyOf = async (name: string, rights: KeyRights = {}, expiresAtMs: number | null = null) =>
    (await createKey(config.folder, name, expiresAtMs, NOW_MS, rights)).text;
  const lines: string[] = [];
  const log = (line: string) => void lines.push(line);
  const server = await serveWorld(config, { logLevel: 'info', log, ...changes });
  let closing: Promise<void> | null = null;
  const close = (): Promise<void> => {
    closing ??= server.close();
    return closing;
  };
  onTestFinished(close);
  const { origin } = new URL(server.baseUrl);
  return { ...server, close, origin, config, keyOf, lines, link: () => createLink(config.folder, NOW_MS) };
}

type Server = Awaited<ReturnType<typeof open>>;

/** A client that keeps its cookie like a browser, and sends the headers of a page of the server. */
function createBrowser(server: Server, own: Record<string, string> = {}) {
  const state = { cookie: '', csrf: '' };
  const send = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(new URL(path, server.origin), {
      method,
      headers: {
        origin: server.origin,
        'sec-fetch-site': 'same-origin',
        ...(state.cookie === '' ? {} : { cookie: state.cookie }),
        ...(state.csrf === '' ? {} : { 'x-sightline-csrf': state.csrf }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...own,
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const set = response.headers.get('set-cookie');
    if (set !== null) state.cookie = (set.split(';')[0] as string).replace(/^[^=]*=$/, '');
    return response;
  };
  const me = async (): Promise<Me> => (await (await send('GET', '/data/me')).json()) as Me;
  const signIn = async (secret: { token: string } | { key: string }): Promise<Response> => {
    const response = await send('POST', '/data/session', secret);
    if (response.status === 200) state.csrf = String(((await response.clone().json()) as Me).csrf);
    return response;
  };
  const statusOf = async (method: string, path: string, headers: Record<string, string> = {}) =>
    (await send(method, path, undefined, headers)).status;
  return { state, send, me, signIn, statusOf };
}

interface Listed {
  readonly sessions: readonly { readonly id: string; readonly key: string | null; readonly current: boolean }[];
}

describe('a sign-in link', () => {
  it('gives a session with all rights, once, in a cookie that scripts cannot read', async () => {
    const server = await open();
    const browser = createBrowser(server);
    expect(await browser.me()).toMatchObject({
      access: 'none',
      signedIn: false,
      workspace: null,
      csrf: null,
      scopes: [],
    });
    expect(await browser.statusOf('GET', '/status/data')).toBe(401);
    const token = await server.link();
    const response = await browser.signIn({ token });
    expect(response.status).toBe(200);
    expect(response.headers.get('set-cookie')).toMatch(
      /^sightline-\d+=gss_[A-Za-z0-9_-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    expect(await browser.me()).toMatchObject({
      access: 'key',
      signedIn: true,
      key: null,
      scopes: ['read', 'metrics', 'sql', 'snapshots'],
      workspace: 'default',
      workspaces: null,
      hasData: false,
      features: { sql: true, writing: true, operations: true, setup: false },
    });
    expect(await browser.statusOf('GET', '/status/data')).toBe(200);
    expect(await browser.statusOf('GET', '/snapshots')).toBe(200);
    // Programs need keys: a cookie is never accepted by the API.
    expect(await browser.statusOf('GET', '/v1/brands')).toBe(401);
    const again = await createBrowser(server).signIn({ token });
    expect(again.status).toBe(401);
    expect(await again.json()).toMatchObject({
      error: { message: expect.stringContaining('was used or has expired') },
    });
    const secrets = [token, browser.state.cookie.split('=')[1] as string, browser.state.csrf];
    await server.close();
    for (const secret of secrets) expect(server.lines.join('')).not.toContain(secret);
  });

  it('and wrong keys are limited by address', async () => {
    const server = await open();
    const browser = createBrowser(server);
    const statuses: number[] = [];
    for (let time = 0; time < 32; time++) {
      const secret = time % 2 === 0 ? { token: `gsl_${time}` } : { key: `gsk_${time}` };
      statuses.push((await browser.signIn(secret)).status);
    }
    expect(statuses.filter((status) => status === 401)).toHaveLength(30);
    expect(statuses.slice(30)).toEqual([429, 429]);
    expect((await browser.signIn({ token: await server.link() })).status).toBe(200);
  });
});

describe('signing in with a key', () => {
  it('gives the rights of the key, until it is revoked', async () => {
    const server = await open();
    const key = await server.keyOf('anna', { scopes: ['metrics', 'read'], brands: ['Acme'] });
    const browser = createBrowser(server);
    expect((await browser.signIn({ key })).status).toBe(200);
    expect(await browser.me()).toMatchObject({
      key: { name: 'anna' },
      scopes: ['metrics', 'read'],
      features: { sql: false, writing: false, operations: false, setup: false },
    });
    // The status page and snapshots have the data of all brands.
    expect(await browser.statusOf('GET', '/status/data')).toBe(403);
    expect(await browser.statusOf('GET', '/snapshots')).toBe(403);
    await revokeKey(server.config.folder, 'anna');
    expect(await browser.me()).toMatchObject({ access: 'none', signedIn: false });
    expect(await browser.statusOf('GET', '/data/sessions')).toBe(401);
    expect((await browser.signIn({ key })).status).toBe(401);
    expect((await browser.signIn({ key: await server.keyOf('short', {}, NOW_MS + 60_000) })).status).toBe(200);
    const refused = await browser.signIn({ key: await server.keyOf('past', {}, NOW_MS - 1) });
    expect(refused.status).toBe(401);
    expect(await refused.json()).toMatchObject({ error: { message: 'The API key has expired.' } });
  });

  it('counts as one of its requests', async () => {
    const server = await open({ rateLimit: 3 });
    const key = await server.keyOf('anna');
    const browser = createBrowser(server);
    const statuses: number[] = [];
    for (let time = 0; time < 4; time++) statuses.push((await browser.signIn({ key })).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
  });

  it('accepts JSON with one secret only', async () => {
    const server = await open();
    const browser = createBrowser(server);
    const key = await server.keyOf('anna');
    for (const body of [{}, { key: 1 }, { key, token: 'x' }, [], null, 'text']) {
      expect((await browser.send('POST', '/data/session', body)).status, JSON.stringify(body)).toBe(400);
    }
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      const response = await browser.send('POST', '/data/session', { key }, { 'content-type': type });
      expect(response.status, type).toBe(400);
    }
    const long = await browser.send('POST', '/data/session', { key: 'x'.repeat(5_000) });
    expect(long.status).toBe(413);
    expect((await browser.send('GET', '/data/session')).status).toBe(405);
  });
});

it('the sessions of a server are listed and ended by the owner, and by a key only if it opened them', async () => {
  const server = await open();
  const [anna, ben] = [await server.keyOf('anna'), await server.keyOf('ben')];
  const browsers = { owner: createBrowser(server), anna: createBrowser(server), ben: createBrowser(server) };
  await browsers.owner.signIn({ token: await server.link() });
  await browsers.anna.signIn({ key: anna });
  await browsers.ben.signIn({ key: ben });
  const listOf = async ({ send }: ReturnType<typeof createBrowser>) =>
    ((await (await send('GET', '/data/sessions')).json()) as Listed).sessions;
  const all = await listOf(browsers.owner);
  expect(all.map(({ key, current }) => [key, current])).toEqual([
    [null, true],
    ['anna', false],
    ['ben', false],
  ]);
  expect((await listOf(browsers.anna)).map(({ key, current }) => [key, current])).toEqual([['anna', true]]);
  const idOf = (name: string | null): string => all.find(({ key }) => key === name)?.id ?? '';
  expect(await browsers.anna.statusOf('DELETE', `/data/sessions/${idOf('ben')}`)).toBe(404);
  expect(await browsers.anna.statusOf('DELETE', `/data/sessions/${idOf(null)}`)).toBe(404);
  expect(await browsers.owner.statusOf('DELETE', `/data/sessions/${idOf('ben')}`)).toBe(204);
  await expect.poll(async () => (await browsers.ben.me()).signedIn).toBe(false);
  expect(await browsers.anna.statusOf('DELETE', '/data/session')).toBe(204);
  expect(browsers.anna.state.cookie).toBe('');
  await expect.poll(async () => (await listOf(browsers.owner)).length).toBe(1);
});

describe('a request that changes something', () => {
  it('needs the CSRF token and the origin of the server', async () => {
    const server = await open();
    const browser = createBrowser(server);
    await browser.signIn({ token: await server.link() });
    const attempt = (headers: Record<string, string>) => browser.statusOf('DELETE', '/data/session', headers);
    for (const headers of [
      { 'x-sightline-csrf': '' },
      { 'x-sightline-csrf': 'wrong' },
      { 'x-sightline-csrf': `${browser.state.csrf}x` },
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: server.origin.replace(/\d+$/, '1') },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
    ]) {
      expect(await attempt(headers), JSON.stringify(headers)).toBe(403);
    }
    expect(await browser.me()).toMatchObject({ signedIn: true });
    expect(await attempt({})).toBe(204);
    expect(await browser.me()).toMatchObject({ signedIn: false });
    const foreign = await createBrowser(server).send(
      'POST',
      '/data/session',
      { token: await server.link() },
      { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
    );
    expect(foreign.status).toBe(403);
  });

  it('needs no CSRF token with a key, which a page of another site does not have', async () => {
    const server = await open();
    const key = await server.keyOf('anna');
    const browser = createBrowser(server);
    await browser.signIn({ key });
    const { sessions } = (await (await browser.send('GET', '/data/sessions')).json()) as Listed;
    const response = await fetch(new URL(`/data/sessions/${sessions[0]?.id}`, server.origin), {
      method: 'DELETE',
      headers: { authorization: `Bearer ${key}` },
    });
    expect(response.status).toBe(204);
  });
});

it('the session cookie has the name and the attributes of the address at which it is set', async () => {
  const server = await open({ allowedHosts: ['data.example.com'] });
  const { host, port } = new URL(server.origin);
  const send = async (start: string, headers: Record<string, string>, body = '') => {
    const lines = Object.entries({ Host: host, Connection: 'close', ...headers }).map((pair) => pair.join(': '));
    return readRaw(await sendRaw(Number(port), `${start} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`));
  };
  for (const [headers, pattern] of [
    [{}, /^sightline-\d+=.*SameSite=Strict$/],
    [{ Host: 'data.example.com' }, /^__Host-sightline=.*; Path=\/; HttpOnly; SameSite=Strict; Secure$/],
    [{ Host: 'data.example.com:8443' }, /^__Host-sightline-8443=.*; Secure$/],
    [{ 'X-Forwarded-Proto': 'https' }, /^__Host-sightline-\d+=.*; Secure$/],
    [{ Forwarded: 'for=203.0.113.9;proto=https' }, /^__Host-sightline-\d+=.*; Secure$/],
    [{ 'X-Forwarded-Proto': 'http' }, /^sightline-\d+=.*SameSite=Strict$/],
  ] as [Record<string, string>, RegExp][]) {
    const about = JSON.stringify(headers);
    const body = JSON.stringify({ token: await server.link() });
    const typed = { 'Content-Type': 'application/json', 'Content-Length': String(body.length), ...headers };
    const answer = await send('POST /data/session', typed, body);
    expect(answer.status, about).toBe(200);
    expect(answer.headers['set-cookie'], about).toMatch(pattern);
    const cookie = answer.headers['set-cookie']?.split(';')[0] ?? '';
    const isKnown = async (Cookie: string): Promise<boolean> =>
      (JSON.parse((await send('GET /data/me', { ...headers, Cookie })).body) as Me).signedIn;
    expect(await isKnown(`other=1; ${cookie}; last=2`), about).toBe(true);
    expect(await isKnown(cookie.replace('sightline', 'other')), about).toBe(false);
    expect(await isKnown(cookie.slice(0, -1)), about).toBe(false);
  }
});

it('--pages loopback needs no sign-in on this machine, but the CSRF token', async () => {
  const server = await open({ pages: 'loopback' });
  const browser = createBrowser(server);
  const me = await browser.me();
  expect(me).toMatchObject({ access: 'loopback', signedIn: false, workspace: 'default', features: { setup: false } });
  const id = '7f8c1f4e-4f55-4a0d-9d3a-2f3f6f0d6a51';
  expect(await browser.statusOf('DELETE', `/data/sessions/${id}`)).toBe(403);
  expect(await browser.statusOf('DELETE', `/data/sessions/${id}`, { 'x-sightline-csrf': String(me.csrf) })).toBe(404);
  // A session limits the rights even if requests need no credential.
  await browser.signIn({ key: await server.keyOf('anna', { scopes: ['read'] }) });
  expect(await browser.me()).toMatchObject({ access: 'key', signedIn: true, scopes: ['read'] });
  expect(await browser.statusOf('GET', '/status/data')).toBe(403);
});

it('a server without keys accepts a key of the data folder that opens its workspace', async () => {
  const server = await open();
  const dataFolder = join(server.config.folder, '..');
  const keyFor = async (name: string, workspaces: KeyRights['workspaces']) =>
    (await createKey(dataFolder, name, null, NOW_MS, workspaces === undefined ? {} : { workspaces })).text;
  const statusOf = async (key: string) =>
    (await fetch(`${server.baseUrl}/brands`, { headers: { 'x-api-key': key } })).status;
  // Without data, the status is 503 for a key that opens the workspace.
  expect(await statusOf(await keyFor('all', 'all'))).toBe(503);
  expect(await statusOf(await keyFor('named', ['other', 'default']))).toBe(503);
  expect(await statusOf(await keyFor('others', ['other']))).toBe(401);
  expect(await statusOf(await keyFor('copied', undefined))).toBe(401);
  await revokeKey(server.config.folder, 'named', dataFolder);
  expect(await statusOf(await server.keyOf('own'))).toBe(503);
});
