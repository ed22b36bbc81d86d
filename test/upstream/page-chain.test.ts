import { describe, expect, test } from 'vitest';
import type { Client } from '../../src/upstream/client.ts';
import type { UpstreamError } from '../../src/upstream/errors.ts';
import { PAGES_MAX, walkPages } from '../../src/upstream/page-chain.ts';
import { json, openClient } from './support.ts';

type Next = (cursor: string | null, count: number) => string | null;

/** Walks the pages of a list whose responses have the cursor that `next` returns. */
async function walkWith(client: Pick<Client, 'get'>, from: string | null = null) {
  const pages: { cursor: string | null; next: string | null }[] = [];
  const walking = walkPages(client as Client, {
    request: { path: '/list', query: { from: '2026-01-01', limit: '100' } },
    pages: { parameter: 'cursor', next: 'nextCursor' },
    read: (body) => body,
    from,
    signal: new AbortController().signal,
    onAttempt: () => undefined,
  });
  const error = await (async () => {
    for await (const page of walking) pages.push({ cursor: page.state, next: page.next });
    return null;
  })().catch((thrown: unknown) => thrown as UpstreamError);
  return { pages, error };
}

describe('walkPages', () => {
  const walk = async (next: Next, from: string | null = null) => {
    const { client, requests } = await openClient((request, response, count) => {
      const cursor = new URL(request.url ?? '', 'http://x').searchParams.get('cursor');
      json(response, 200, { data: [cursor], nextCursor: next(cursor, count) }, { 'x-ratelimit-limit': '10000' });
    });
    const walked = await walkWith(client, from);
    const queries = requests.map(({ url }) => Object.fromEntries(new URL(url ?? '', 'http://x').searchParams));
    return { ...walked, queries };
  };

  test('ends at the last page and repeats all other parameters unchanged', async () => {
    const { pages, error, queries } = await walk((cursor) => (cursor === null ? 'b&c' : cursor === 'b&c' ? 'd' : null));
    expect(error).toBeNull();
    expect(pages).toEqual([
      { cursor: null, next: 'b&c' },
      { cursor: 'b&c', next: 'd' },
      { cursor: 'd', next: null },
    ]);
    const same = { from: '2026-01-01', limit: '100' };
    expect(queries).toEqual([same, { ...same, cursor: 'b&c' }, { ...same, cursor: 'd' }]);
  });

  test('resumes from a saved cursor', async () => {
    const { pages } = await walk(() => null, 'saved');
    expect(pages).toEqual([{ cursor: 'saved', next: null }]);
  });

  test.for<[string, (cursor: string | null, count: number) => string, number]>([
    ['does not change', () => 'a', 1],
    ['repeats after three pages', (_cursor, count) => 'abc'[(count - 1) % 3] as string, 3],
  ])('fails at a cursor that %s, and yields no page twice', async ([, next, pagesRead]) => {
    const { pages, error } = await walk(next);
    expect(error).toMatchObject({ code: 'bad_answer' });
    expect(error?.message).toContain('does not advance');
    expect(pages.length).toBe(pagesRead);
  });

  test('fails after 10,000 pages', async () => {
    expect(PAGES_MAX).toBeLessThanOrEqual(10_000);
    let count = 0;
    // 10,000 responses over HTTP would take seconds.
    const get: Client['get'] = (_request, read) => {
      count += 1;
      const text = { bytes: Buffer.from(''), isDamaged: false, link: null };
      return Promise.resolve({ value: read({ nextCursor: String(count) }, text), date: null });
    };
    const { error, pages } = await walkWith({ get });
    expect(error?.message).toContain('does not end');
    expect(pages.length).toBe(PAGES_MAX);
  });
});
