import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { readProxies } from '../../src/base/proxies.ts';
import { webhookSender } from '../../src/operations/notify/send-webhook.ts';
import { fetchKeySet } from '../../src/serve/auth/oauth/issuer-documents.ts';
import { skippingClock } from '../support/clocks.ts';
import { openClient } from '../upstream/support.ts';

const PROXIES = { HTTPS_PROXY: 'http://secure.proxy:3128', http_proxy: 'plain.proxy:8080' };

test.for([
  ['https://api.example/v1', {}, 'http://secure.proxy:3128'],
  ['http://api.example/v1', {}, 'http://plain.proxy:8080'],
  ['https://api.example/v1', { https_proxy: 'http://lower.proxy' }, 'http://lower.proxy'],
  ['https://api.example/v1', { NO_PROXY: '*' }, null],
  ['https://api.example/v1', { NO_PROXY: 'other, example' }, null],
  ['https://api.example/v1', { NO_PROXY: 'other .api.example' }, null],
  ['https://api.example/v1', { no_proxy: '*.Example' }, null],
  ['https://api.example:8443/v1', { NO_PROXY: 'api.example:8443' }, null],
  ['https://api.example:8443/v1', { NO_PROXY: 'api.example:9443' }, 'http://secure.proxy:3128'],
  ['https://notexample/v1', { NO_PROXY: 'example' }, 'http://secure.proxy:3128'],
  ['https://api.example/v1', { NO_PROXY: 'api.example:443' }, null],
  ['http://api.example/v1', { NO_PROXY: 'api.example:443' }, 'http://plain.proxy:8080'],
  ['https://api.example./v1', { NO_PROXY: 'example' }, null],
  ['https://api.example/v1', { NO_PROXY: 'example.' }, null],
  ['https://10.1.2.3/v1', { NO_PROXY: '10.0.0.0/8' }, null],
  ['https://11.1.2.3/v1', { NO_PROXY: '10.0.0.0/8 11.1.2.3/99 a/8' }, 'http://secure.proxy:3128'],
  ['https://[fd00::1]/v1', { NO_PROXY: 'fd00::1' }, null],
  ['https://[fd00::1]:8443/v1', { NO_PROXY: '[fd00::1]:8443' }, null],
  ['https://[fd00::2]/v1', { NO_PROXY: 'fd00::/64' }, null],
  ['https://[fd01::2]/v1', { NO_PROXY: 'fd00::/64 fd00::1' }, 'http://secure.proxy:3128'],
  ['http://localhost:4010/v1', {}, null],
  ['http://localhost.:4010/v1', {}, null],
  ['http://[::ffff:127.0.0.1]:4010/v1', {}, null],
  ['http://127.0.0.9:4010/v1', {}, null],
  ['http://[::1]:4010/v1', {}, null],
] as const)('requests to %s with %o use the proxy %s', ([url, variables, proxy]) => {
  expect(readProxies({ ...PROXIES, ...variables })(new URL(url))?.origin ?? null).toBe(proxy);
});

test.for(['ftp://p:secret@proxy', 'http://', 'socks5://p:secret@proxy:1080'])('%s is not a proxy', (HTTPS_PROXY) => {
  const find = (): unknown => readProxies({ HTTPS_PROXY })(new URL('https://api.example'));
  expect(find).toThrow('HTTPS_PROXY is not the address of a proxy; allowed: http://host:port');
});

/** Starts a proxy that answers requests itself and refuses tunnels with a status. */
async function startProxy(answer: object, refusal = 403) {
  const asked: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    asked.push(request);
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
  }).on('connect', (request, socket) => {
    asked.push(request);
    socket.end(`HTTP/1.1 ${refusal} No\r\n\r\n`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { asked, url: new URL(`http://user:pa%24s@127.0.0.1:${port}`), shown: `http://127.0.0.1:${port}` };
}

const signal = new AbortController().signal;

test('requests to upstream go through the proxy, with its password', async () => {
  const proxy = await startProxy({ data: [] });
  const options = { proxy: proxy.url, baseUrl: 'http://api.example/v1' };
  const { client, requests } = await openClient(() => undefined, { options });
  const { value } = await client.get({ path: '/brands', query: { limit: '2' } }, (body) => body, { signal });
  expect(value).toEqual({ data: [] });
  expect(requests).toEqual([]);
  expect(proxy.asked.map(({ url }) => url)).toEqual(['http://api.example/v1/brands?limit=2']);
  expect(proxy.asked[0]?.headers['proxy-authorization']).toBe(`Basic ${btoa('user:pa$s')}`);
});

test.for([
  [403, 'refuses the connection with status 403'],
  [407, 'does not accept the user name and password; set HTTPS_PROXY to http://user:password@host:port'],
] as const)('a proxy that answers %i is named in the error, without its password', async ([status, problem]) => {
  const proxy = await startProxy({}, status);
  const said = `the proxy ${proxy.shown} ${problem}`;
  const options = { proxy: proxy.url, baseUrl: 'https://api.example/v1' };
  const { client } = await openClient(() => undefined, { options });
  const asking = client.get({ path: '/brands', query: {} }, (body) => body, { signal });
  await expect(asking).rejects.toMatchObject({ code: 'unreachable', message: said });
  expect(proxy.asked.map(({ method, url }) => [method, url])).toEqual([['CONNECT', 'api.example:443']]);
  const issuer = { issuer: 'https://login.example', jwksUri: null, findProxy: () => proxy.url };
  await expect(fetchKeySet(issuer)).rejects.toThrow(said);
  const url = new URL('https://hooks.example/x');
  const target = { url, proxy: proxy.url, secret: null };
  const send = webhookSender(target, { id: '1', body: '{}' }, skippingClock());
  expect(await send(60_000, signal)).toMatchObject({ isDelivered: false, said: `could not be reached (${said})` });
});

test('an unreachable proxy is named in the error', async () => {
  const proxy = new URL('http://user:secret@127.0.0.1:1');
  const { client } = await openClient(() => undefined, { options: { proxy, baseUrl: 'https://api.example/v1' } });
  const asking = client.get({ path: '/brands', query: {} }, (body) => body, { signal });
  const message = `no response from https://api.example through the proxy ${proxy.origin} (connection refused)`;
  await expect(asking).rejects.toMatchObject({ code: 'unreachable', message });
});
