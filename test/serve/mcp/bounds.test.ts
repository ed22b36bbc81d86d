import { randomUUID } from 'node:crypto';
import type { Tool } from '@modelcontextprotocol/client';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Answer, Question, Service } from '../../../src/read/service.ts';
import { estimateTokens, tokensOfJson } from '../../../src/serve/mcp/estimate-tokens.ts';
import { shorten } from '../../../src/serve/mcp/shorten.ts';
import { RESULT_TOKENS } from '../../../src/serve/mcp/tool-result.ts';
import { builtInCatalogue as catalogue } from '../../../src/workspace/catalogues.ts';
import { countOf } from '../../support/counts.ts';
import { pagedItems, serverBefore } from '../http/support.ts';
import {
  type Body,
  call,
  callToEnd,
  clientBefore,
  connect,
  outputValidator,
  startBareMcp,
  toContent,
  toolClient,
} from './support.ts';

/** So small that responses of a small workspace do not fit. */
const TOKENS_MAX = 2_500;
const CALLS_MAX = 200;

const server = serverBefore();
const narrow = clientBefore(server);

describe('a list that is too long', () => {
  it('ends after a complete row, states the next skip, and is complete when continued', async () => {
    const { client, tools } = narrow();
    const { brandId } = server();
    let continued = 0;
    for (const tool of tools.filter(({ inputSchema }) => inputSchema.properties?.['skip'] !== undefined)) {
      const values = tool.inputSchema.required?.includes('brandId') ? { brandId } : {};
      const shown = await callToEnd(client, tool, values, TOKENS_MAX);
      expect(shown.content, tool.name).toEqual(toContent(await bodyOf(pathOf(tool))));
      continued += shown.calls - 1;
    }
    expect(continued).toBeGreaterThan(2);
  });

  it('is complete if it fits, and reports a skip beyond its end', async () => {
    const { client } = narrow();
    const values = { brandId: server().brandId, maxTokens: TOKENS_MAX };
    const { content, note } = await call(client, 'list_competitors', values);
    expect(note).not.toHaveProperty('omitted');
    const count = content.data.length;
    expect(count).toBeGreaterThan(1);
    const beyond = await call(client, 'list_competitors', { ...values, skip: count });
    expect(beyond.content.data).toEqual([]);
    expect(beyond.remarks).toContain(`There are only ${count} rows.`);
    const rest = await call(client, 'list_competitors', { ...values, skip: 1 });
    expect(rest.content.data).toEqual(content.data.slice(1));
    expect(rest.remarks).toContain(`Rows 2 to ${count} of ${count}.`);
  });
});

it('a page that is too long ends earlier, and its cursor continues with all other arguments unchanged', async () => {
  const { client, tools } = narrow();
  const { brandId } = server();
  const paged = tools.filter(({ inputSchema }) => inputSchema.properties?.['cursor'] !== undefined);
  expect(paged.length).toBeGreaterThan(2);
  for (const tool of paged) {
    const whole = await pagedItems(server(), `${pathOf(tool)}?`);
    const rows: unknown[] = [];
    const isValid = outputValidator(tool);
    let cursor: unknown;
    for (let calls = 0; cursor !== null; calls += 1) {
      expect(calls).toBeLessThan(CALLS_MAX);
      const values = { brandId, limit: 100, maxTokens: TOKENS_MAX, ...(cursor === undefined ? {} : { cursor }) };
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

describe('an object that is too long', () => {
  it('has its long texts cut, with a mark of what is missing and the REST path', async () => {
    const { service, brandId } = server();
    const markdown = 'Öl 🛢 '.repeat(40_000);
    const bodies = new Map<string, (body: Body) => Body>([
      ['article', (body) => ({ ...body, markdown, html: `<p>${markdown}</p>` })],
      ['articles', (body) => ({ data: body.data.map((row: Body) => ({ ...row, title: markdown })) })],
    ]);
    const { client, tool } = await toolClient(await connect(await startBareMcp(changed(service, bodies), {})));
    const articles = (await bodyOf(`/brands/${brandId}/articles`)).data as { id: string }[];
    const articleId = articles[0]?.id;
    const article = await call(client, 'get_article', { brandId, articleId });
    expect(estimateTokens(article.text)).toBeLessThanOrEqual(RESULT_TOKENS.standard);
    expect(estimateTokens(article.text)).toBeGreaterThan(RESULT_TOKENS.standard * 0.9);
    expect(article.content.markdown).toMatch(/\[… [\d,]+ characters left out\]$/);
    expect(article.content.markdown.isWellFormed()).toBe(true);
    expect(article.content.html.length).toBeLessThan(500);
    expect(article.note.omitted).toContain(`/brands/${brandId}/articles/${articleId}`);
    const isValid = outputValidator(tool('get_article'));
    expect(isValid(article.shown), JSON.stringify(isValid.errors)).toBe(true);
    const { content } = await callToEnd(client, tool('list_articles'), { brandId }, RESULT_TOKENS.standard);
    expect(content.data.map(({ id }: Body) => id)).toEqual(articles.map(({ id }) => id));
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
      { numRuns: countOf(10, 200) },
    );
    expect(
      shorten(Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`field${index}`, index])), 1_000),
    ).toBe(null);
  });
});

function pathOf({ name }: Tool): string {
  const resource = catalogue.resources.find((candidate) => candidate.tool === name);
  return (resource?.path ?? '').replace('{brandId}', server().brandId);
}

async function bodyOf(path: string): Promise<Body> {
  return (await server().get(path)).json();
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
