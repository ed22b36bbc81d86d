import { randomUUID } from 'node:crypto';
import type { Client, Tool } from '@modelcontextprotocol/client';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Answer, Question, Service } from '../../../src/query/service.ts';
import { RESULT_TOKENS } from '../../../src/serve/mcp/endpoints/tool-input.ts';
import { estimateTokens, tokensOfJson } from '../../../src/serve/mcp/estimate-tokens.ts';
import { shorten } from '../../../src/serve/mcp/shorten.ts';
import { type Mirror, openMirror } from '../../query/mirror.ts';
import { type Body, call, connect, outputValidator, startBareMcp } from './support.ts';

/** So small that responses of a small workspace do not fit. */
const TOKENS_MAX = 1_500;
const CALLS_MAX = 200;

describe('a list that is too long', () => {
  it('ends after a complete row, states the next skip, and is complete when continued', async () => {
    const { mirror, client, tools } = await open();
    for (const tool of tools.filter(({ inputSchema }) => inputSchema.properties?.['skip'] !== undefined)) {
      const resource = mirror.catalogue.resources.find((candidate) => candidate.tool === tool.name);
      for (const brandId of await brandsOf(mirror)) {
        const values = tool.inputSchema.required?.includes('brandId') ? { brandId } : {};
        const { body } = await mirror.mirror((resource?.path ?? '').replace('{brandId}', brandId));
        const rows = listsIn(body).flat();
        const shown = await readOn(client, tool, values);
        expect({ tool: tool.name, rows: shown }).toEqual({ tool: tool.name, rows });
      }
    }
  });

  it('is complete if it fits, and reports a skip beyond its end', async () => {
    const { client } = await open(RESULT_TOKENS.standard);
    const { content, note } = await call(client, 'list_brands');
    expect(note).not.toHaveProperty('omitted');
    expect(content.data).toHaveLength(2);
    const beyond = await call(client, 'list_brands', { skip: 2 });
    expect(beyond.content.data).toEqual([]);
    expect(beyond.remarks).toContain('There are only 2 rows.');
    const rest = await call(client, 'list_brands', { skip: 1 });
    expect(rest.content.data).toEqual(content.data.slice(1));
    expect(rest.remarks).toContain('Rows 2 to 2 of 2.');
  });
});

describe('a page that is too long', () => {
  it('ends earlier, and its cursor continues with all other arguments unchanged', async () => {
    const { mirror, client, tools } = await open();
    const [brandId = ''] = await brandsOf(mirror);
    const paged = tools.filter(({ inputSchema }) => inputSchema.properties?.['cursor'] !== undefined);
    expect(paged.length).toBeGreaterThan(2);
    for (const tool of paged) {
      const resource = mirror.catalogue.resources.find((candidate) => candidate.tool === tool.name);
      const whole = await walk(mirror, (resource?.path ?? '').replace('{brandId}', brandId));
      const rows: unknown[] = [];
      const isValid = outputValidator(tool);
      let cursor: unknown;
      for (let calls = 0; cursor !== null; calls += 1) {
        expect(calls).toBeLessThan(CALLS_MAX);
        const values = { brandId, limit: 100, ...(cursor === undefined ? {} : { cursor }) };
        const { isError, text, content, shown, remarks } = await call(client, tool.name, values);
        expect({ isError, text: isError ? text : '' }).toEqual({ isError: false, text: '' });
        expect(estimateTokens(text)).toBeLessThanOrEqual(TOKENS_MAX);
        expect(isValid(shown), JSON.stringify(isValid.errors)).toBe(true);
        expect(remarks.includes('There are more rows')).toBe(content.nextCursor !== null);
        rows.push(...content.data);
        cursor = content.nextCursor;
      }
      expect({ tool: tool.name, rows }).toEqual({ tool: tool.name, rows: whole });
    }
  });
});

describe('an object that is too long', () => {
  it('has its long texts cut, with a mark of what is missing and the REST path', async () => {
    const mirror = await openMirror();
    await mirror.publish();
    const markdown = 'Öl 🛢 '.repeat(40_000);
    const bodies = new Map<string, (body: Body) => Body>([
      ['article', (body) => ({ ...body, markdown, html: `<p>${markdown}</p>` })],
      ['articles', (body) => ({ data: body.data.map((row: Body) => ({ ...row, title: markdown })) })],
    ]);
    const client = await connect(await startBareMcp(changed(mirror.service, bodies), {}));
    const { tools } = await client.listTools();
    const [brandId = ''] = await brandsOf(mirror);
    const { body } = await mirror.mirror(`/brands/${brandId}/articles`);
    const [{ id: articleId }] = (body as Body).data;
    const article = await call(client, 'get_article', { brandId, articleId });
    expect(estimateTokens(article.text)).toBeLessThanOrEqual(RESULT_TOKENS.standard);
    expect(estimateTokens(article.text)).toBeGreaterThan(RESULT_TOKENS.standard * 0.9);
    expect(article.content.markdown).toMatch(/\[… [\d,]+ characters left out\]$/);
    expect(article.content.markdown.isWellFormed()).toBe(true);
    expect(article.content.html.length).toBeLessThan(500);
    expect(article.note.omitted).toContain(`/brands/${brandId}/articles/${articleId}`);
    const isValid = outputValidator(tools.find(({ name }) => name === 'get_article') as Tool);
    expect(isValid(article.shown), JSON.stringify(isValid.errors)).toBe(true);
    const rows = await readOn(client, tools.find(({ name }) => name === 'list_articles') as Tool, { brandId });
    expect(rows.map((row) => (row as Body).id)).toEqual((body as Body).data.map((row: Body) => row.id));
  });

  it('shorten() fits any value into any size that has room for its frame', () => {
    const text = fc.string({ unit: 'binary', maxLength: 3_000 });
    const item = fc.record({
      id: fc.uuid(),
      title: text,
      tags: fc.array(text, { maxLength: 20 }),
      count: fc.integer(),
    });
    fc.assert(
      fc.property(fc.record({ data: fc.array(item, { maxLength: 10 }), name: text }), fc.nat(4_000), (value, more) => {
        const cut = shorten(value, 1_000 + more);
        if (cut === null) throw new Error('it could have been cut');
        expect(tokensOfJson(cut.value)).toBeLessThanOrEqual(1_000 + more);
        const isWhole = cut.textsCut === 0 && cut.itemsMax === null;
        expect(isWhole).toBe(tokensOfJson(value) <= 1_000 + more);
        if (isWhole) expect(cut.value).toEqual(value);
      }),
      { numRuns: 50 },
    );
    expect(
      shorten(Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`field${index}`, index])), 1_000),
    ).toBe(null);
  });
});

async function open(tokensMax = TOKENS_MAX): Promise<{ mirror: Mirror; client: Client; tools: Tool[] }> {
  const mirror = await openMirror({ prompts: 10, days: 10 });
  await mirror.publish();
  const client = await connect(await startBareMcp(mirror.service, { tokensMax }));
  return { mirror, client, tools: (await client.listTools()).tools };
}

async function brandsOf(mirror: Mirror): Promise<string[]> {
  const { body } = await mirror.mirror('/brands');
  return (body as Body).data.map(({ id }: { id: string }) => id);
}

// Continues with `skip` as the remark states until nothing is omitted.
async function readOn(client: Client, tool: Tool, values: Record<string, unknown>): Promise<unknown[]> {
  const isValid = outputValidator(tool);
  const rows: unknown[] = [];
  for (let calls = 0; calls < CALLS_MAX; calls += 1) {
    const result = await call(client, tool.name, { ...values, skip: rows.length });
    const { isError, text, content, note } = result;
    expect({ isError, text: isError ? text : '' }).toEqual({ isError: false, text: '' });
    expect(estimateTokens(text)).toBeLessThanOrEqual(RESULT_TOKENS.standard);
    expect(JSON.parse(text)).toEqual(result.shown);
    expect(isValid(result.shown), JSON.stringify(isValid.errors)).toBe(true);
    rows.push(...listsIn(content).flat());
    const next = /call again with skip=(\d+)/.exec(note.omitted ?? '')?.[1];
    if (next === undefined) return rows;
    expect(Number(next)).toBe(rows.length);
  }
  throw new Error(`${tool.name} goes on for ever`);
}

function listsIn(content: unknown): unknown[][] {
  return Array.isArray(content) ? [content] : Object.values(content as object).filter((value) => Array.isArray(value));
}

async function walk(mirror: Mirror, path: string): Promise<unknown[]> {
  const rows: unknown[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const search: string = cursor === '' ? '' : `&cursor=${cursor}`;
    const { body } = await mirror.mirror(`${path}?limit=100${search}`);
    rows.push(...(body as Body).data);
    cursor = (body as Body).nextCursor;
  }
  return rows;
}

// Wraps the service to return larger bodies than the sandbox generates.
function changed(service: Service, bodies: ReadonlyMap<string, (body: Body) => Body>): Service {
  return {
    ...service,
    ask: async (resource, path, given) => {
      const question = await service.ask(resource, path, given);
      const change = bodies.get(resource.name);
      const answer = async (...given: Parameters<Question['answer']>): Promise<Answer> => {
        const { body, ...rest } = await question.answer(...given);
        return { ...rest, body: change === undefined ? body : change(body) };
      };
      return { ...question, version: randomUUID(), answer };
    },
  };
}
