import { describe, expect, it } from 'vitest';
import { declarations } from '../../../schemas/catalogue.ts';
import type { Service } from '../../../src/read/service.ts';
import { dataTools } from '../../../src/serve/mcp/tool-set.ts';
import { emptyServerBefore, NO_REPLICA, openServer, serverBefore } from '../http/support.ts';
import { type Body, call, clientBefore, connect, post, startBareMcp } from './support.ts';

const METRICS_TOOLS = dataTools.filter(({ scope }) => scope === 'metrics').length;
const STRANGER = '00000000-0000-4000-8000-000000000000';

const server = serverBefore({}, 'small');
// A server without data.
const empty = emptyServerBefore();
const connected = clientBefore(server);

const ask = (name: string, values: Record<string, unknown> = {}) => call(connected().client, name, values);

/** Invalid arguments and parts of the error, by tool. All calls name a brand, unless an argument replaces it. */
const INVALID: Readonly<Record<string, readonly [values: Record<string, unknown>, ...told: string[]][]>> = {
  get_metrics: [
    [{ brandId: undefined }, 'brandId is missing; allowed: a UUID', ': brandId (required), from, to'],
    [{ brandId: STRANGER }, `not_found: the brand ${STRANGER} does not exist`, 'from list_brands'],
    [{ brandId: 'x' }, 'not_found: the brand x does not exist', 'Unknown brand "x"; allowed: ', 'from list_brands'],
    [{ brand: 1 }, 'parameter must be one of from, to, engine'],
    [{ engine: ['a', 'b'] }, 'engine must be given once; got "a and b"'],
    [{ engine: { a: 1 } }, 'engine is {"a":1}; allowed: a text'],
    [{ engine: 'nobody' }, 'engine must be one of'],
    [{ skip: -1 }, 'skip is "-1"; allowed: 0 to 10000000'],
    [{ maxTokens: 20_001 }, 'maxTokens is "20001"; allowed: 1000 to 20000'],
    [{ topicId: 'no such topic' }, 'Unknown topic "no such topic"; allowed: '],
  ],
  list_responses: [
    [{ competitorId: 'x' }, 'competitorId must be a UUID', 'Unknown competitor "x"; allowed: '],
    [{ limit: 101 }, 'limit must be a whole number from 1 to 100; got "101"'],
    [{ cursor: 'abc' }, 'cursor must be the nextCursor of the previous page'],
    [{ skip: 1 }, 'parameter must be one of'],
  ],
  get_article: [
    [{ articleId: 'x' }, 'not_found'],
    [{ articleId: STRANGER }, 'not_found', 'articleId from list_articles'],
  ],
  list_brands: [[{}, 'this endpoint has no parameters', 'Arguments of list_brands: skip, maxTokens, plain.']],
  get_credit_balance: [[{ brandId: undefined, x: '' }, 'Arguments of get_credit_balance: none']],
};

describe('an invalid tool argument', () => {
  it.each(Object.keys(INVALID))("of %s is rejected with the allowed values and the tool's arguments", async (name) => {
    for (const [values, ...told] of INVALID[name] ?? []) {
      const { isError, text, content } = await ask(name, { brandId: server().brandId, ...values });
      expect({ name, values, isError }).toEqual({ name, values, isError: true });
      for (const part of told) expect(text).toContain(part);
      expect(text).not.toContain('SIGHTLINE_');
      expect(content).toBeUndefined();
    }
  });

  it('may be a name of a short list instead of an id, in the path and in the query', async () => {
    const { brandId, brands } = server();
    const { name = '' } = brands.find(({ id }) => id === brandId) ?? {};
    const [competitor] = (await ask('list_competitors', { brandId })).content.data;
    const [engine] = (await ask('list_engines')).content.data;
    const expected = await ask('list_responses', { brandId, competitorId: competitor.id, engine: engine.slug });
    expect(expected.isError, expected.text).toBe(false);
    const byName = { brandId: name.toUpperCase(), competitorId: competitor.name, engine: engine.name };
    expect(await ask('list_responses', byName)).toEqual(expected);
    const mistyped = await ask('get_metrics', { brandId: `${name.slice(0, -1)}~` });
    expect(mistyped.text).toContain(`did you mean ${JSON.stringify(name)}?`);
  });

  it('is ignored if null, and has no side effects under any name', async () => {
    const { brandId } = server();
    expect((await ask('get_metrics', { brandId, from: null, engine: null, skip: null })).isError).toBe(false);
    await ask('get_metrics', JSON.parse(`{ "__proto__": { "brandId": "${brandId}" } }`));
    expect({}).not.toHaveProperty('brandId');
    for (const name of ['constructor', 'hasOwnProperty', 'toString', 'a\u0000b', '\r\nX: 1', 'ü'.repeat(5_000)]) {
      const { isError, text } = await ask(
        'get_metrics',
        Object.fromEntries([
          ['brandId', brandId],
          [name, 'x'],
        ]),
      );
      expect({ name, isError }).toEqual({ name, isError: true });
      expect(text).toContain('invalid_parameter: parameter must be one of');
      expect(text.length).toBeLessThan(1_000);
    }
  });
});

it('a filter with an id that its list does not have is accepted like by REST, with a remark that names the list', async () => {
  const { brandId } = server();
  for (const [noun, list] of [
    ['topic', 'list_prompt_groups'],
    ['tag', 'list_prompt_groups'],
    ['prompt', 'list_prompts'],
  ]) {
    const { isError, remarks } = await ask('get_metrics', { brandId, [`${noun}Id`]: STRANGER });
    expect(isError).toBe(false);
    expect(remarks).toBe(
      `No ${noun} has the id ${STRANGER} now, so rows may be missing and numbers zero; \`${list}\` lists the known ones.`,
    );
  }
  const { topics, tags } = (await ask('list_prompt_groups', { brandId })).content;
  const known = await ask('get_metrics', { brandId, topicId: topics[0].id, tagId: tags[0].id });
  expect(known.remarks).toBe('');
  expect(await ask('get_metrics', { brandId, topicId: topics[0].name, tagId: tags[0].name })).toEqual(known);
});

describe('a tool call that fails', () => {
  it('at the rate limit has the seconds to wait as its result, while other requests get status 429', async () => {
    const limited = await openServer(NO_REPLICA, { rateLimit: 2 });
    const send = (body: unknown, headers = {}) => post(limited.mcpUrl, body, { 'x-api-key': limited.key, ...headers });
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    for (let times = 0; times < 2; times++) expect((await send(list)).status).toBe(200);
    for (const { headers, body } of [callMessage('2025-11-25'), callMessage('2026-07-28')]) {
      const response = await send(body, headers);
      expect(response.status).toBe(200);
      const wait = Number(response.headers.get('retry-after'));
      expect(wait).toBeGreaterThan(0);
      const { result } = messageIn(await response.text());
      expect(result).toMatchObject({ isError: true, content: [{ type: 'text' }] });
      expect(result.content[0].text).toMatch(/^rate_limited: Too many requests\. Try again in \d+ seconds?\./);
      expect(result.content[0].text).toContain(`in ${wait} second`);
    }
    const refused = await send(list);
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({ error: { code: 'rate_limited' } });
    expect((await send('{')).status).toBe(429);
  });

  it('reports that there are no data yet, from the first call', async () => {
    const client = await connect(await startBareMcp(empty().service, {}));
    const { tools } = await client.listTools();
    expect(tools).toHaveLength(METRICS_TOOLS + declarations.length);
    const { isError, text } = await call(client, 'list_brands');
    expect(isError).toBe(true);
    expect(text).toMatch(/^no_data: .*\nRun `sightline sync` first\.$/);
    const metrics = await call(client, 'query_metrics', { metrics: ['visibility'] });
    expect(metrics.text).toMatch(/^no_data: .*\nRun `sightline sync` first\./);
    const { contents } = await client.readResource({ uri: 'sightline://freshness' });
    expect(JSON.parse((contents[0] as { text: string }).text)).toMatchObject({ ready: false, resources: [] });
  });

  it('hides internal errors from the client and reports them to the log', async () => {
    const reported: string[] = [];
    const broken: Service = {
      ...empty().service,
      ask: async () => {
        throw new Error('secret words of the machine');
      },
    };
    const url = await startBareMcp(broken, { onError: ({ message }) => reported.push(message) });
    const { isError, text } = await call(await connect(url), 'list_brands');
    expect(isError).toBe(true);
    expect(text).toContain('internal: An unexpected error occurred.');
    expect(text).not.toContain('secret');
    expect(reported).toContain('secret words of the machine');
  });

  it('is aborted when its client disconnects, and not by a notification in another request', async () => {
    let tell: (signal: AbortSignal | undefined) => void = () => undefined;
    const slow: Service = {
      ...empty().service,
      ask: async (resource) => ({
        resource,
        version: '',
        asOf: null,
        partial: false,
        list: null,
        answer: (signal) =>
          new Promise((_, reject) => {
            signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
            tell(signal);
          }),
      }),
    };
    const url = await startBareMcp(slow, {});
    for (const message of [callMessage('2025-11-25'), callMessage('2026-07-28')]) {
      const client = new AbortController();
      const asked = new Promise<AbortSignal | undefined>((resolve) => {
        tell = resolve;
      });
      const left = post(url, message.body, message.headers, client.signal)
        .then((response) => response.text())
        .catch(() => 'gone');
      const signal = (await asked) as AbortSignal;
      const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
      expect((await post(url, cancelled, { 'MCP-Protocol-Version': '2025-11-25' })).status).toBe(202);
      expect(signal.aborted).toBe(false);
      client.abort();
      expect(await left).toBe('gone');
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    }
  });
});

describe('an invalid MCP request', () => {
  it('is rejected with a protocol error', async () => {
    const client = await connect(await startBareMcp(empty().service, {}));
    await expect(call(client, 'no_such_tool')).rejects.toThrow(
      /Unknown tool: no_such_tool; known: query_metrics, .*list_engines/,
    );
    await expect(client.readResource({ uri: 'sightline://nothing' })).rejects.toThrow(/sightline:\/\/nothing/);
  });

  it('is rejected if it is a batch, a stream or a session', async () => {
    const { key, mcpUrl } = empty();
    const send = (body: unknown, headers = {}) => post(mcpUrl, body, { 'x-api-key': key, ...headers });
    const one = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const batch = await send([one, { ...one, id: 2 }]);
    expect(batch.status).toBe(400);
    expect(await batch.json()).toMatchObject({ error: { code: -32600 }, id: null });
    for (const text of ['{', 'null null', '']) {
      const answer = await send(text);
      expect(answer.status, text).toBe(400);
      expect(await answer.json(), text).toMatchObject({ jsonrpc: '2.0', error: { code: -32_700 } });
      expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    }
    expect((await send(one, { 'Content-Type': 'text/plain' })).status).toBe(415);
    for (const method of ['GET', 'DELETE']) {
      const headers = { Authorization: `Bearer ${key}`, Accept: 'text/event-stream' };
      const response = await fetch(mcpUrl, { method, headers });
      expect(response.status).toBe(405);
      expect(response.headers.get('allow')).toContain('POST');
      expect(await response.json()).toMatchObject({ jsonrpc: '2.0', error: { message: expect.any(String) } });
    }
    expect((await post(mcpUrl, one)).status).toBe(401);
  });
});

// The message of a response, which may be an event stream.
function messageIn(text: string): Body {
  return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text);
}

function callMessage(revision: string): { headers: Record<string, string>; body: unknown } {
  const params = { name: 'list_brands', arguments: {} };
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call' };
  const headers = { 'MCP-Protocol-Version': revision };
  if (revision !== '2026-07-28') return { headers, body: { ...message, params } };
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': revision,
    'io.modelcontextprotocol/clientInfo': { name: 'sightline-tests', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return {
    headers: { ...headers, 'Mcp-Method': 'tools/call', 'Mcp-Name': 'list_brands' },
    body: { ...message, params: { ...params, _meta } },
  };
}
