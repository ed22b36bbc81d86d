import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NOW_MS } from '../support/clocks.ts';
import { canonical, type Json, type JsonObject, parseExactly, toJsonText } from './exact-json.ts';
import type { Answer } from './paging.ts';
import { readAllPages, type Shape } from './shape.ts';
import { shapes } from './shapes.ts';
import { startUpstream, type Upstream, type UpstreamList } from './upstream.ts';

let upstream: Upstream;
beforeAll(async () => {
  upstream = await startUpstream({ shapes, nowMs: NOW_MS });
});
afterAll(() => upstream.close());

async function get(path: string, query: URLSearchParams): Promise<Answer & { readonly status: number }> {
  const headers = { 'x-api-key': upstream.sandbox.key };
  const response = await fetch(`${upstream.baseUrl}${path}?${query}`, { headers });
  const body = parseExactly(await response.text());
  return { status: response.status, body, headers: Object.fromEntries(response.headers) };
}

function read({ shape, path, query }: UpstreamList, more: Record<string, string> = {}): Promise<Json[]> {
  return readAllPages(shape, new URLSearchParams({ ...query, ...more }), (page) => get(path, page));
}

test('the document of the test upstream is valid', async () => {
  const config = await createConfig({ extends: ['spec'] });
  const problems = await lintFromString({ source: toJsonText(await upstream.document()), config });
  expect(problems.map(({ message, location }) => [message, location[0]?.pointer])).toEqual([]);
});

test('there are at least 25 shapes with different titles and paths', () => {
  expect(shapes.length).toBeGreaterThanOrEqual(25);
  expect(new Set(shapes.map(({ title }) => title)).size).toBe(shapes.length);
  expect(new Set(shapes.map(({ path }) => path)).size).toBe(shapes.length);
});

test('requests without the key and other methods are rejected', async () => {
  expect((await fetch(`${upstream.baseUrl}/channels`)).status).toBe(401);
  expect((await fetch(`${upstream.baseUrl}/channels`, { method: 'DELETE' })).status).toBe(405);
  expect((await get('/nowhere', new URLSearchParams())).status).toBe(404);
});

test('declared endpoints are answered by the sandbox', async () => {
  const { status, headers } = await get('/brands', new URLSearchParams());
  expect(status).toBe(200);
  expect(headers['x-ratelimit-limit']).toBe('10000');
});

test('big whole numbers keep their digits', () => {
  const text =
    '{"id":9007199254740993,"text":"12345678901234567890","list":[340282366920938463463374607431768211456,-1.5e3]}';
  expect(toJsonText(parseExactly(text))).toBe(text.replace('-1.5e3', '-1500'));
});

describe.each(shapes.map((shape) => [shape.title, shape] as const))('%s', (_title, shape) => {
  test('a client that follows the document reads all items', async () => {
    for (const list of upstream.lists(shape)) {
      if (list.items === null) {
        expect((await get(list.path, new URLSearchParams(list.query))).status).toBe(404);
        continue;
      }
      const items = await read(list);
      expect(items.map(canonical)).toEqual(list.items.map(canonical));
    }
  });

  test('items fit the schema unless they are meant not to', async () => {
    const validate = await validatorOf(shape);
    const items = upstream.lists(shape).flatMap((list) => list.items ?? []);
    const isValid = items.every((item) => validate(JSON.parse(toJsonText(item))));
    expect(isValid).toBe(shape.isWrong !== true);
  });

  test('a changed item and a new item differ from all others', () => {
    const [list] = upstream.lists(shape);
    const items = (list?.items ?? []).map((item) => item as JsonObject);
    const present = new Set(items.map(canonical));
    const [first = {}] = items;
    const draw = { below: () => 1, pick: <T>(values: readonly T[]) => values[0] as T, uuid: () => 'new' };
    if (items.length > 0) expect(present.has(canonical(shape.change(first)))).toBe(false);
    if (shape.isObject !== true) expect(present.has(canonical(shape.create(first, draw)))).toBe(false);
  });
});

test.each(shapes.filter(({ filters }) => filters !== undefined).map((shape) => [shape.title, shape] as const))(
  'a filter selects some items: %s',
  async (_title, shape) => {
    const list = upstream.lists(shape)[0] as UpstreamList;
    const all = (list.items ?? []) as JsonObject[];
    const name = shape.filters?.[0] ?? '';
    const value = String(all[0]?.[name]);
    const items = await read(list, { [name]: value });
    const expected = all.filter((item) => item[name] === value);
    expect(items.map(canonical)).toEqual(expected.map(canonical));
    expect(items.length).toBeLessThan(all.length);
  },
);

async function validatorOf(shape: Shape): Promise<(value: unknown) => boolean> {
  const ajv = new Ajv2020({ strict: false });
  formats.default(ajv);
  const { components } = await upstream.document();
  ajv.addSchema({ $id: 'document', components });
  const text = toJsonText(shape.item ?? {}).replaceAll('"#/components/', '"document#/components/');
  return ajv.compile(JSON.parse(text) as object);
}
