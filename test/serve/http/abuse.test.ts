import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { type ErrorCode, errorTable } from '../../../src/base/errors.ts';
import { createKey, revokeKey } from '../../../src/serve/auth/keys.ts';
import { openServer, publishBefore, readRaw, requestText, sendRaw, type TestServer } from './support.ts';

const published = publishBefore();
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Checks that an error has the usual form: status, code, envelope, request id in header and body. */
function expectRefusal(text: string, code: ErrorCode, body = true): Record<string, string> {
  const answer = readRaw(text);
  const kind = errorTable[code];
  expect(answer.status, text).toBe('status' in kind ? kind.status : 0);
  expect(answer.headers['content-type'], text).toBe('application/json; charset=utf-8');
  expect(answer.headers['x-request-id']).toMatch(UUID);
  if (!body) return answer.headers;
  const parsed = JSON.parse(answer.body) as { error: { code: string; message: string; requestId: string } };
  expect(Object.keys(parsed)).toEqual(['error']);
  const { parameter: _, allowed: __, ...always } = parsed.error as Record<string, unknown>;
  expect(Object.keys(always)).toEqual(['code', 'message', 'requestId', 'docUrl']);
  expect(always['docUrl']).toBe(`/v1/docs/errors#${code}`);
  expect(parsed.error.code, text).toBe(code);
  expect(parsed.error.requestId).toBe(answer.headers['x-request-id']);
  expect(parsed.error.message).not.toMatch(/gsk_\w|\n\s+at |node_modules/);
  return answer.headers;
}

async function ask(server: TestServer, method: string, target: string, headers: Record<string, string> = {}) {
  return sendRaw(server.port, requestText(method, target, { Authorization: `Bearer ${server.key}`, ...headers }));
}

describe('a malformed URL', () => {
  it('is rejected with the name of the parameter or with 404', async () => {
    const { copy, brandId } = published();
    const server = await openServer(copy);
    const brand = `/v1/brands/${brandId}`;
    const refused: [string, ErrorCode][] = [
      [`${brand}/metrics?engine=%00`, 'invalid_parameter'],
      [`${brand}/metrics?engine=%ED%A0%80`, 'invalid_parameter'],
      [`${brand}/metrics?engine=%`, 'invalid_parameter'],
      [`${brand}/metrics?engine=${'x'.repeat(4_000)}`, 'invalid_parameter'],
      [`${brand}/metrics?engine=${'x'.repeat(10_000)}`, 'uri_too_long'],
      [`${brand}/metrics?from=2026-01-01&from=2026-01-01`, 'invalid_parameter'],
      [`${brand}/metrics?from=2026-02-30`, 'invalid_parameter'],
      [`${brand}/metrics?from=2026-01-01%0d%0aX-Evil:%201`, 'invalid_parameter'],
      [`${brand}/metrics?__proto__=1`, 'invalid_parameter'],
      [`${brand}/metrics?constructor=1`, 'invalid_parameter'],
      [`${brand}/metrics?hasOwnProperty=1&toString=2`, 'invalid_parameter'],
      [`${brand}/metrics?nobody=1`, 'invalid_parameter'],
      [`${brand}/metrics?=`, 'invalid_parameter'],
      [`${brand}/metrics?gsk_secretsecret=gsk_secretsecret`, 'invalid_parameter'],
      [`${brand}/responses?limit=1e1`, 'invalid_parameter'],
      ['/v1/brands/%ED%A0%80', 'not_found'],
      ['/v1/brands/%', 'not_found'],
      ['/v1/brands/%2', 'not_found'],
      ['/v1/brands/%00', 'not_found'],
      ['/v1/brands/..%2f..%2fetc%2fpasswd', 'not_found'],
      ['/v1/brands/__proto__', 'not_found'],
      ['/v1/brands/gsk_secretsecret', 'not_found'],
      [`/v1/brands/${'x'.repeat(5_000)}`, 'not_found'],
      [`/v1/${'x'.repeat(5_000)}`, 'not_found'],
      [`/v1/${'x/'.repeat(3_000)}`, 'not_found'],
      [`/v1/${'%'.repeat(3_000)}`, 'not_found'],
      ['/v1', 'not_found'],
      ['/v1/', 'not_found'],
      ['/v1/brands/', 'not_found'],
      ['/v1//brands', 'not_found'],
      ['/v1/BRANDS', 'not_found'],
      ['/v1/../v1/brands', 'not_found'],
      ['/v1/constructor', 'not_found'],
      ['/', 'not_found'],
      ['/metrics', 'not_found'],
      ['*', 'not_found'],
    ];
    for (const [target, code] of refused) expectRefusal(await ask(server, 'GET', target), code);
    const absolute = readRaw(await ask(server, 'GET', `http://127.0.0.1:${server.port}/v1/brands`));
    expect(absolute.status).toBe(200);
  });

  it('is rejected with 414 from 8 kB, even if the parser rejects it first', async () => {
    const server = await openServer(published().copy);
    for (const length of [8_193, 12_000, 16_384, 20_000, 31_000, 40_000, 60_000]) {
      expectRefusal(await ask(server, 'GET', `/v1/brands?${'x'.repeat(length)}`), 'uri_too_long');
    }
    expect(readRaw(await ask(server, 'GET', `/v1/brands/${'x'.repeat(8_000)}`)).status).toBe(404);
  });
});

describe('invalid HTTP', () => {
  it('is rejected with the usual error envelope', async () => {
    const server = await openServer(published().copy);
    const refused: [string, ErrorCode][] = [
      ['GET /v1/bra\u0000nds HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n', 'bad_request'],
      ['HELLO\r\n\r\n', 'bad_request'],
      ['GET /v1/brands HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\u0000b\r\n\r\n', 'bad_request'],
      ['GET /v1/brands HTTP/1.1\r\nHost 127.0.0.1\r\n\r\n', 'bad_request'],
      ['GET /v1/brands HTTP/1.1\r\nConnection: close\r\n\r\n', 'bad_request'],
      ['GET /v1/brands HTTP/9.9\r\nHost: 127.0.0.1\r\n\r\n', 'bad_request'],
      [
        'POST /v1/mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n',
        'bad_request',
      ],
      [`GET /v1/brands HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ${'x'.repeat(33_000)}\r\n\r\n`, 'headers_too_large'],
      [
        `GET /v1/brands HTTP/1.1\r\nHost: 127.0.0.1\r\n${'X-Many: and many more\r\n'.repeat(2_500)}\r\n`,
        'headers_too_large',
      ],
    ];
    for (const [text, code] of refused) {
      const headers = expectRefusal(await sendRaw(server.port, text), code);
      expect(headers['connection']).toBe('close');
    }
    const logged = await server.log();
    expect(logged.filter(({ status }) => status === 431)).toHaveLength(2);
  });

  it('is disconnected if the request takes too long', async () => {
    const server = await openServer(published().copy, { limits: { headersTimeoutMs: 200, requestTimeoutMs: 200 } });
    const slow = sendRaw(server.port, 'GET /v1/brands HTTP/1.1\r\nHost: 127.0.0.1\r\n');
    const slowBody = sendRaw(
      server.port,
      requestText('POST', '/v1/mcp', {
        Authorization: `Bearer ${server.key}`,
        'Content-Type': 'application/json',
        'Content-Length': '100',
        Connection: 'keep-alive',
      }),
      '{"jsonrpc"',
    );
    expectRefusal(await slow, 'request_timeout');
    await slowBody;
    expect((await server.get('/brands')).status).toBe(200);
  });
});

describe('keys', () => {
  it('are accepted in either header, and Authorization takes precedence', async () => {
    const { copy } = published();
    const server = await openServer(copy);
    const status = async (headers: Record<string, string>): Promise<number> =>
      readRaw(await sendRaw(server.port, requestText('GET', '/v1/brands', headers))).status;
    const right = server.key;
    expect(await status({ Authorization: `Bearer ${right}` })).toBe(200);
    expect(await status({ Authorization: `bEaReR   ${right}  ` })).toBe(200);
    expect(await status({ 'X-Api-Key': right })).toBe(200);
    expect(await status({ Authorization: `Bearer ${right}`, 'X-Api-Key': right })).toBe(200);
    expect(await status({ Authorization: `Bearer ${right}`, 'X-Api-Key': 'gsk_wrong' })).toBe(200);
    expect(await status({ Authorization: 'Bearer gsk_wrong', 'X-Api-Key': right })).toBe(401);
    expect(await status({ Authorization: right })).toBe(401);
    expect(await status({ Authorization: `Basic ${right}` })).toBe(401);
    expect(await status({ Authorization: 'Bearer' })).toBe(401);
    expect(await status({ 'X-Api-Key': '' })).toBe(401);
    expect(await status({ 'X-Api-Key': `${right}, ${right}` })).toBe(401);
    expect(await status({})).toBe(401);
    expect(await status({ 'X-Api-Key': `gsk_${'x'.repeat(8_192)}` })).toBe(401);
    expect(await status({ Cookie: `key=${right}` })).toBe(401);
    expect(readRaw(await sendRaw(server.port, requestText('GET', `/v1/brands?key=${right}`))).status).toBe(401);
    const logged = JSON.stringify(await server.log());
    expect(logged).not.toContain(right.slice(4, 20));
    expect(logged).toContain(server.keyId);
  });

  it('are required before anything is revealed, including for unknown paths and methods', async () => {
    const { copy, brandId } = published();
    const server = await openServer(copy);
    for (const target of [
      '/v1/nothing',
      '/v1',
      `/v1/brands/${brandId}/nothing`,
      '/v1/brands/%',
      `/v1/${'x'.repeat(9_000)}`,
    ]) {
      const headers = expectRefusal(await sendRaw(server.port, requestText('GET', target)), 'unauthorized');
      expect(headers['www-authenticate']).toBe('Bearer');
    }
    for (const method of ['POST', 'DELETE', 'OPTIONS', 'PROPFIND']) {
      expectRefusal(await sendRaw(server.port, requestText(method, '/v1/brands')), 'unauthorized');
    }
  });

  it('take effect immediately when created and when revoked', async () => {
    const server = await openServer(published().copy);
    const second = await createKey(server.folder, 'second', null, Date.now());
    const status = async (key: string): Promise<number> =>
      (await server.get('/brands', { headers: { 'x-api-key': key } })).status;
    expect(await status(second.text)).toBe(200);
    await revokeKey(server.folder, 'second');
    expect(await status(second.text)).toBe(401);
    expect(await status(server.key)).toBe(200);
    await revokeKey(server.folder, 'test');
    expect(await status(server.key)).toBe(401);
  });

  it('are rejected after their expiry', async () => {
    let now = Date.now();
    const server = await openServer(published().copy, { clock: { ...systemClock, now: () => now } });
    const short = await createKey(server.folder, 'short', now + 300, now);
    const ask = () => server.get('/brands', { headers: { 'x-api-key': short.text } });
    expect((await ask()).status).toBe(200);
    now += 300;
    const answer = await ask();
    expect(answer.status).toBe(401);
    expect(await answer.json()).toMatchObject({ error: { message: 'The API key has expired.' } });
  });

  it('are limited in wrong attempts per address, without affecting other addresses', async () => {
    const server = await openServer(published().copy);
    const guess = () => server.get('/brands', { headers: { 'x-api-key': `gsk_${Math.random()}` } });
    for (let times = 0; times < 30; times++) expect((await guess()).status).toBe(401);
    const refused = await guess();
    expect(refused.status).toBe(429);
    const wait = Number(refused.headers.get('retry-after'));
    expect(wait).toBeGreaterThan(50);
    const { error } = (await refused.json()) as { error: { code: string; message: string } };
    expect(error).toMatchObject({ code: 'rate_limited' });
    expect(error.message).toContain(`${wait} seconds`);
    expect((await server.get('/brands')).status).toBe(200);
    expect((await fetch(`${server.baseUrl}/brands`)).status).toBe(401);
  });
});

describe('HTTP methods', () => {
  it('that are not supported get 405 with the allowed methods', async () => {
    const server = await openServer(published().copy);
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND']) {
      const headers = expectRefusal(await ask(server, method, '/v1/brands'), 'method_not_allowed');
      expect(headers['allow']).toBe('GET, HEAD');
    }
    const odd = { 'Content-Type': 'what is this', 'Content-Length': '3' };
    const text = `${requestText('POST', '/v1/brands', { Authorization: `Bearer ${server.key}`, ...odd })}abc`;
    expectRefusal(await sendRaw(server.port, text), 'method_not_allowed');
    expect(expectRefusal(await ask(server, 'PUT', '/v1/mcp'), 'method_not_allowed')['allow']).toBe('POST, GET, DELETE');
    expectRefusal(await ask(server, 'POST', '/livez'), 'method_not_allowed');
    expectRefusal(await ask(server, 'POST', '/v1/nothing'), 'not_found');
  });

  it('HEAD returns the headers of GET without the body', async () => {
    const server = await openServer(published().copy);
    const get = await server.get('/brands', { headers: { 'accept-encoding': 'identity' } });
    const body = await get.text();
    const head = readRaw(await ask(server, 'HEAD', '/v1/brands'));
    expect(head).toMatchObject({ status: 200, body: '' });
    for (const name of ['etag', 'content-type', 'x-data-as-of', 'x-data-coverage', 'cache-control', 'vary']) {
      expect(head.headers[name], name).toBe(get.headers.get(name));
    }
    expect(Number(head.headers['content-length'])).toBe(Buffer.byteLength(body));
    const missing = await ask(server, 'HEAD', '/v1/nothing');
    expectRefusal(missing, 'not_found', false);
    expect(readRaw(missing).body).toBe('');
  });
});

describe('request bodies', () => {
  it('above 1 MB are rejected, with or without Content-Length', async () => {
    const server = await openServer(published().copy);
    const headers = { Authorization: `Bearer ${server.key}`, 'Content-Type': 'application/json' };
    const big = 'x'.repeat(1024 * 1024 + 1);
    const declared = requestText('POST', '/v1/mcp', { ...headers, 'Content-Length': String(big.length) });
    expectRefusal(await sendRaw(server.port, declared), 'body_too_large');
    const chunked = requestText('POST', '/v1/mcp', { ...headers, 'Transfer-Encoding': 'chunked' });
    const chunk = `${big.length.toString(16)}\r\n${big}\r\n`;
    expectRefusal(
      await sendRaw(server.port, chunked, chunk).catch((thrown: Error) => thrown.message),
      'body_too_large',
    );
    const without = requestText('POST', '/v1/mcp', { 'Content-Length': String(big.length) });
    expectRefusal(await sendRaw(server.port, without), 'unauthorized');
  });

  it('that are not JSON get an MCP parse error', async () => {
    const server = await openServer(published().copy);
    for (const body of ['{', 'null null', '']) {
      const answer = await fetch(server.mcpUrl, {
        method: 'POST',
        headers: {
          'x-api-key': server.key,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
        body,
      });
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({ jsonrpc: '2.0', error: { code: -32_700 } });
      expect(answer.headers.get('x-request-id')).toMatch(UUID);
    }
  });
});
