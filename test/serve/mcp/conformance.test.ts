import { request as sendRequest } from 'node:http';
import { expect, it } from 'vitest';
import { serverBefore, type TestServer } from '../http/support.ts';
import type { Body } from './support.ts';

const server = serverBefore();
const INFO = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1.0.0' } };

// `npm run test:interop -- mcp-conformance` runs the scenarios of the suite of the protocol's authors.
it('answers the messages of the conformance suite that apply to a server with read-only tools', async () => {
  const ask = async (method: string, params: object = {}): Promise<Body> => {
    const response = await fetch(server().mcpUrl, {
      method: 'POST',
      headers: { ...headersOf(server()), 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }),
    });
    const text = await response.text();
    const body = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text);
    expect([response.status, body.jsonrpc, body.id, body.error]).toEqual([200, '2.0', 7, undefined]);
    return body.result;
  };
  expect(await ask('initialize', INFO)).toMatchObject({
    protocolVersion: INFO.protocolVersion,
    serverInfo: { name: expect.any(String), version: expect.any(String) },
    capabilities: { tools: expect.any(Object), resources: expect.any(Object) },
  });
  expect(await ask('ping')).toEqual({});
  const { tools } = await ask('tools/list');
  expect(tools.length).toBeGreaterThan(0);
  for (const tool of tools) {
    expect(tool).toMatchObject({
      name: expect.any(String),
      description: expect.any(String),
      inputSchema: { type: 'object' },
    });
  }
  for (const { uri, name } of (await ask('resources/list')).resources) {
    expect([new URL(uri).href, name]).toEqual([uri, expect.stringMatching(/./)]);
  }
  expect(await statusFor(server(), `127.0.0.1:${server().port}`)).toBe(200);
  expect(await statusFor(server(), 'evil.example.com')).toBe(403);
});

function headersOf({ key }: TestServer): Record<string, string> {
  return { authorization: `Bearer ${key}`, accept: 'application/json, text/event-stream' };
}

// fetch() sets the header Host itself.
function statusFor(given: TestServer, host: string): Promise<number | undefined> {
  const headers = { ...headersOf(given), host, origin: `http://${host}`, 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const request = sendRequest(given.mcpUrl, { method: 'POST', headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.once('error', reject);
    request.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: INFO }));
  });
}
