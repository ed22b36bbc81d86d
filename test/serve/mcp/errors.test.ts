import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { declarations } from '../../../schemas/catalogue.ts';
import { defaultConventions } from '../../../src/analytics/calibration/conventions.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { createCatalogue } from '../../../src/contract/catalogue.ts';
import { createService } from '../../../src/query/create-service.ts';
import type { Service } from '../../../src/query/service.ts';
import { dataTools } from '../../../src/serve/mcp/data-tools/data-tools.ts';
import { REPLICA_OPTIONS } from '../../../src/warehouse/replica.ts';
import { openMirror } from '../../query/mirror.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { type Body, call, connect, post, SMALL, startBareMcp, startEndpoint } from './support.ts';

const METRICS_TOOLS = dataTools.filter(({ scope }) => scope === 'metrics').length;
const STRANGER = '00000000-0000-4000-8000-000000000000';

describe('an invalid tool argument', () => {
  it("is rejected with the allowed values and the tool's arguments, as text only", async () => {
    const { client, brandId } = await open();
    const cases: [name: string, values: Record<string, unknown>, ...told: (string | RegExp)[]][] = [
      ['get_metrics', {}, 'invalid_parameter: brandId is missing; allowed: a UUID', ': brandId (required), from, to'],
      ['get_metrics', { brandId: null }, 'brandId is missing'],
      ['get_metrics', { brandId: STRANGER }, `not_found: the brand ${STRANGER} does not exist`, 'from list_brands'],
      [
        'get_metrics',
        { brandId: 'x' },
        'not_found: the brand x does not exist',
        'Unknown brand "x"; allowed: ',
        'from list_brands',
      ],
      [
        'list_responses',
        { brandId, competitorId: 'x' },
        'competitorId must be a UUID',
        'Unknown competitor "x"; allowed: ',
      ],
      ['get_article', { brandId, articleId: 'x' }, 'not_found'],
      ['get_article', { brandId, articleId: STRANGER }, 'not_found', 'articleId from list_articles'],
      ['get_metrics', { brandId, brand: 1 }, 'parameter must be one of from, to, engine'],
      ['get_metrics', { brandId, from: '2026-02-30' }, 'from must be a calendar day'],
      ['get_metrics', { brandId, from: '2020-01-01', to: '2026-01-01' }, 'a range has at most 366 days'],
      ['get_metrics', { brandId, engine: ['a', 'b'] }, 'engine must be a string, number or boolean; got ["a","b"]'],
      ['get_metrics', { brandId, engine: { a: 1 } }, 'got {"a":1}'],
      ['get_metrics', { brandId, engine: 'nobody' }, 'engine must be one of'],
      ['list_responses', { brandId, limit: 101 }, 'limit must be a whole number from 1 to 100; got "101"'],
      ['list_responses', { brandId, limit: 2.5 }, 'got "2.5"'],
      ['list_responses', { brandId, limit: 1e21 }, 'got "1e+21"'],
      ['list_responses', { brandId, brandMentioned: 'yes' }, 'brandMentioned must be true or false'],
      ['list_responses', { brandId, cursor: 'abc' }, 'cursor must be the nextCursor of the previous page'],
      ['list_responses', { brandId, skip: 1 }, 'parameter must be one of'],
      ['get_metrics', { brandId, skip: -1 }, 'skip must be a whole number from 0'],
      ['get_metrics', { brandId, skip: 'all' }, 'skip must be a whole number from 0'],
      ['get_metrics', { brandId, skip: 99_999_999 }, 'skip must be a whole number from 0'],
      [
        'list_brands',
        { brandId },
        'this endpoint has no parameters',
        'Arguments of list_brands: skip, maxTokens, plain.',
      ],
      [
        'get_metrics',
        { brandId, maxTokens: 20_001 },
        'maxTokens must be a whole number from 1000 to 20000; got "20001"',
      ],
      ['get_metrics', { brandId, plain: 'maybe' }, 'plain must be true or false; got "maybe"'],
      ['get_credit_balance', { x: '' }, 'Arguments of get_credit_balance: none'],
    ];
    for (const [name, values, ...told] of cases) {
      const { isError, text, content } = await call(client, name, values);
      expect({ name, values, isError }).toEqual({ name, values, isError: true });
      for (const part of told) expect(text).toContain(part);
      expect(text).not.toContain('SIGHTLINE_');
      expect(content).toBeUndefined();
    }
  });

  it('may be a name of a short list instead of an id, in the path and in the query', async () => {
    const { client, brandId } = await open();
    const brands = (await call(client, 'list_brands')).content.data as { id: string; name: string }[];
    const { name } = brands.find(({ id }) => id === brandId) as { name: string };
    const competitors = (await call(client, 'list_competitors', { brandId })).content.data as {
      id: string;
      name: string;
    }[];
    const engines = (await call(client, 'list_engines')).content.data as { slug: string; name: string }[];
    const [competitor, engine] = [competitors[0], engines[0]];
    if (competitor === undefined || engine === undefined) throw new Error('the sandbox has both');
    const byId = { brandId, competitorId: competitor.id, engine: engine.slug };
    const byName = { brandId: name.toUpperCase(), competitorId: competitor.name, engine: engine.name };
    const expected = await call(client, 'list_responses', byId);
    expect(expected.isError, expected.text).toBe(false);
    expect(await call(client, 'list_responses', byName)).toEqual(expected);
    const mistyped = await call(client, 'get_metrics', { brandId: `${name.slice(0, -1)}~` });
    expect(mistyped.text).toContain(`did you mean ${JSON.stringify(name)}?`);
  });

  it('is ignored if null, and has no side effects under any name', async () => {
    const { client, brandId } = await open();
    const { isError } = await call(client, 'get_metrics', { brandId, from: null, engine: null, skip: null });
    expect(isError).toBe(false);
    await call(client, 'get_metrics', JSON.parse(`{ "__proto__": { "brandId": "${brandId}" } }`));
    expect({}).not.toHaveProperty('brandId');
    for (const name of ['constructor', 'hasOwnProperty', 'toString', 'a\u0000b', '\r\nX: 1', 'ü'.repeat(5_000)]) {
      const values = JSON.parse(`{ "brandId": "${brandId}", ${JSON.stringify(name)}: "x" }`) as Record<string, unknown>;
      const { isError: isRefused, text } = await call(client, 'get_metrics', values);
      expect({ name, isRefused }).toEqual({ name, isRefused: true });
      expect(text).toContain('invalid_parameter: parameter must be one of');
      expect(text.length).toBeLessThan(1_000);
    }
  });
});

describe('a filter with an id that its list does not have', () => {
  it('is accepted like by REST, with a remark that names the list', async () => {
    const { client, brandId } = await open();
    for (const [name, list] of [
      ['topicId', 'list_prompt_groups'],
      ['tagId', 'list_prompt_groups'],
      ['promptId', 'list_prompts'],
    ]) {
      const { isError, remarks } = await call(client, 'get_metrics', { brandId, [String(name)]: STRANGER });
      expect(isError).toBe(false);
      const noun = String(name).replace('Id', '');
      expect(remarks).toBe(
        `No ${noun} has the id ${STRANGER} now, so rows may be missing and numbers zero; \`${list}\` lists the known ones.`,
      );
    }
    const { content } = await call(client, 'list_prompt_groups', { brandId });
    const [topic, tag] = [content.topics[0], content.tags[0]];
    const known = await call(client, 'get_metrics', { brandId, topicId: topic.id, tagId: tag.id });
    expect(known.remarks).toBe('');
    expect(await call(client, 'get_metrics', { brandId, topicId: topic.name, tagId: tag.name })).toEqual(known);
    const unknown = await call(client, 'get_metrics', { brandId, topicId: 'no such topic' });
    expect(unknown.text).toContain('Unknown topic "no such topic"; allowed: ');
  });
});

describe('a tool call that fails', () => {
  it('at the rate limit has the seconds to wait as its result, while other requests get status 429', async () => {
    const endpoint = await startEndpoint(await openEmpty(), 2);
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    for (let times = 0; times < 2; times++) expect((await endpoint.post(list)).status).toBe(200);
    for (const { headers, body } of [callMessage('2025-11-25'), callMessage('2026-07-28')]) {
      const response = await endpoint.post(body, headers);
      expect(response.status).toBe(200);
      const wait = Number(response.headers.get('retry-after'));
      expect(wait).toBeGreaterThan(0);
      const { result } = messageIn(await response.text());
      expect(result).toMatchObject({ isError: true, content: [{ type: 'text' }] });
      expect(result.content[0].text).toMatch(/^rate_limited: Too many requests\. Try again in \d+ seconds?\./);
      expect(result.content[0].text).toContain(`in ${wait} second`);
    }
    const refused = await endpoint.post(list);
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({ error: { code: 'rate_limited' } });
    expect((await endpoint.post('{')).status).toBe(429);
  });

  it('reports that there are no data yet, from the first call', async () => {
    const service = await openEmpty();
    const client = await connect(await startBareMcp(service, {}));
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
      ...(await openEmpty()),
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
      ...(await openEmpty()),
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
      const headers = {
        ...message.headers,
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
      };
      const gone = fetch(url, { method: 'POST', headers, body: JSON.stringify(message.body), signal: client.signal });
      const left = gone.then((response) => response.text()).catch(() => 'gone');
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
    const client = await connect(await startBareMcp(await openEmpty(), {}));
    await expect(call(client, 'no_such_tool')).rejects.toThrow(
      /Unknown tool: no_such_tool; known: query_metrics, .*list_engines/,
    );
    await expect(client.readResource({ uri: 'sightline://nothing' })).rejects.toThrow(/sightline:\/\/nothing/);
  });

  it('is rejected if it is a batch, a stream or a session', async () => {
    const endpoint = await startEndpoint(await openEmpty());
    const one = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const batch = await endpoint.post([one, { ...one, id: 2 }]);
    expect(batch.status).toBe(400);
    expect(await batch.json()).toMatchObject({ error: { code: -32600 }, id: null });
    expect((await endpoint.post('{')).status).toBe(400);
    expect((await endpoint.post('')).status).toBe(400);
    expect((await endpoint.post(one, { 'Content-Type': 'text/plain' })).status).toBe(415);
    for (const method of ['GET', 'DELETE']) {
      const headers = { Authorization: `Bearer ${endpoint.key}`, Accept: 'text/event-stream' };
      const response = await fetch(endpoint.server.mcpUrl, { method, headers });
      expect(response.status).toBe(405);
      expect(response.headers.get('allow')).toContain('POST');
      expect(await response.json()).toMatchObject({ jsonrpc: '2.0', error: { message: expect.any(String) } });
    }
    expect((await post(endpoint.server.mcpUrl, one)).status).toBe(401);
  });
});

async function open() {
  const mirror = await openMirror(SMALL);
  await mirror.publish();
  const endpoint = await startEndpoint(mirror.service);
  const { body } = await endpoint.rest('/brands');
  return { client: await endpoint.connect(), brandId: String(body.data[0].id) };
}

async function openEmpty(): Promise<Service> {
  const service = createService({
    catalogue: createCatalogue(declarations),
    path: join(await temporaryFolder(), 'analytics.duckdb'),
    clock: systemClock,
    cursorSecret: new Uint8Array(32),
    replica: REPLICA_OPTIONS,
    readConventions: async () => defaultConventions,
  });
  onTestFinished(() => service.close());
  return service;
}

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
