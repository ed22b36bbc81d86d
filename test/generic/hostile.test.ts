import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { NOW_MS } from '../support/clocks.ts';
import type { JsonObject } from './exact-json.ts';
import { type GenericMirror, openGenericMirror } from './generic-mirror.ts';
import {
  brokenDocuments,
  withCycles,
  withDangerousPaths,
  withManyPaths,
  withPrototypeNames,
} from './hostile-documents.ts';
import { startUpstream, type Upstream } from './upstream.ts';

/** The smallest world with responses. */
const workspace = { brands: 1, prompts: 2, days: 2 } as const;

interface Opened {
  readonly upstream: Upstream;
  readonly mirror: GenericMirror;
}

async function open(alterDocument: (document: JsonObject) => string): Promise<Opened> {
  const opened = await start(alterDocument);
  onTestFinished(() => opened.close());
  return opened;
}

async function start(alterDocument: (document: JsonObject) => string): Promise<Opened & { close(): Promise<void> }> {
  const things = { status: 200, body: { data: [{ id: 'a' }, { id: 'b' }] } } as const;
  const others = (path: string) => (/^\/(brands|engines|credits)/.test(path) ? null : things);
  const upstream = await startUpstream({ shapes: [], nowMs: NOW_MS, workspace, alterDocument, others });
  const mirror = await openGenericMirror(upstream, NOW_MS);
  const close = async (): Promise<void> => {
    await mirror.close();
    await upstream.close();
  };
  return { upstream, mirror, close };
}

// Syncs and checks that the declared resources have the rows of the sandbox.
async function expectDeclaredRows({ upstream, mirror }: Opened): Promise<void> {
  const { error } = await mirror.sync();
  expect(error).toBeNull();
  const { brands, responses, prompts } = await countsOf(upstream);
  const [stored] =
    await mirror.rows(`SELECT (SELECT count(*) FROM brands) AS brands, (SELECT count(*) FROM prompts) AS prompts,
    (SELECT count(*) FROM responses) AS responses`);
  expect(stored).toEqual({ brands, prompts, responses });
  expect(responses).toBeGreaterThan(0);
}

async function countsOf({ sandbox }: Upstream): Promise<{ brands: number; prompts: number; responses: number }> {
  const get = async (path: string): Promise<{ data: unknown[] }> =>
    (await fetch(`${sandbox.baseUrl}${path}`, { headers: { 'x-api-key': sandbox.key } })).json() as Promise<{
      data: unknown[];
    }>;
  const brands = sandbox.world.brands.map(({ id }) => id);
  const [brand] = brands;
  const prompts = await get(`/brands/${brand}/prompts?includePaused=true`);
  const responses = await get(`/brands/${brand}/responses?limit=100`);
  return { brands: brands.length, prompts: prompts.data.length, responses: responses.data.length };
}

test('a document with cycles does not stop the sync of declared resources', async () => {
  await expectDeclaredRows(await open(withCycles));
});

test('a document with names of prototypes does not stop the sync of declared resources', async () => {
  await expectDeclaredRows(await open(withPrototypeNames));
  expect(Object.keys(Object.prototype)).toEqual([]);
  expect(({} as Record<string, unknown>)['type']).toBeUndefined();
});

test('requests go only to the base URL, whatever the document says', async () => {
  const received: string[] = [];
  const elsewhere = createServer((request, response) => {
    received.push(request.url ?? '');
    response.end('{}');
  });
  await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void elsewhere.close());
  const address = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/v1`;
  const opened = await open((document) => withDangerousPaths(document, address));
  await expectDeclaredRows(opened);
  expect(received).toEqual([]);
  const targets = opened.upstream.requests.map(({ target }) => target);
  expect(
    targets.filter((target) => !/^\/v1\/[\w{}/.-]+(\?|$)/.test(target) || /\.\.|\/\/|\/\.\//.test(target)),
  ).toEqual([]);
  expect(targets.filter((target) => target.length > 1_000)).toEqual([]);
});

test('a document of 20 MB with 100,000 paths does not stop the sync of declared resources', async () => {
  await expectDeclaredRows(await open(withManyPaths));
});

describe('a body that is no document', () => {
  let body = '';
  let opened: Awaited<ReturnType<typeof start>>;
  beforeAll(async () => {
    opened = await start(() => body);
  });
  afterAll(() => opened.close());

  test.each(Object.entries(brokenDocuments))(
    'does not stop the sync of declared resources: %s',
    async (_name, text) => {
      body = text;
      await expectDeclaredRows(opened);
    },
  );
});
