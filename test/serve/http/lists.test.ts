import { rename } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { Writable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { tableFromIPC } from 'apache-arrow';
import { parquetReadObjects } from 'hyparquet';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SightlineError } from '../../../src/base/errors.ts';
import type { CompleteList, ListPage, Question, Service } from '../../../src/read/service.ts';
import { createListStreams, type ListClient } from '../../../src/serve/http/list-streams.ts';
import { publishAnalytics } from '../../../src/warehouse/replica.ts';
import { openWarehouse } from '../../../src/warehouse/warehouse.ts';
import { builtInCatalogue as catalogue } from '../../../src/workspace/catalogues.ts';
import { generate } from '../../bench/generate.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { sharedBefore } from '../served-world.ts';
import { openServer, pagedItems, serverBefore, type TestServer } from './support.ts';

const small = serverBefore();

/** Responses of the larger workspace: several pages of 1,000, more than the buffers of a connection hold. */
const RESPONSES = 8_000;
const NDJSON = 'application/x-ndjson';

const large = sharedBefore(async (closeLater) => generate(await temporaryFolder(closeLater), RESPONSES));

interface Received {
  readonly response: IncomingMessage;
  readonly body: Promise<Buffer>;
}

/** Sends a request and resolves when the headers are here; the body rejects if the connection breaks. */
function open(
  server: TestServer,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<Received> {
  return new Promise((resolve, reject) => {
    const all = { 'x-api-key': server.key, ...headers };
    const sent = request(`${server.baseUrl}${path}`, { headers: all, method, agent: false }, (response) => {
      const body = (async () => {
        const chunks: Buffer[] = [];
        for await (const chunk of response) chunks.push(chunk as Buffer);
        return Buffer.concat(chunks);
      })();
      body.catch(() => undefined);
      resolve({ response, body });
    });
    sent.on('error', reject).end();
  });
}

async function linesOf(server: TestServer, path: string): Promise<Record<string, unknown>[]> {
  const { response, body } = await open(server, path, { accept: NDJSON });
  expect(response.statusCode).toBe(200);
  const text = (await body).toString();
  expect(text.endsWith('\n')).toBe(true);
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

function largeList(): string {
  const from = new Date(Date.parse(large().today) - 365 * 86_400_000).toISOString().slice(0, 10);
  return `/brands/${large().brandId}/responses?from=${from}&to=${large().today}`;
}

function smallList(): string {
  return `/brands/${small().brandId}/responses?from=2026-01-01&to=2026-12-31`;
}

/** Wraps the pages of complete lists. */
function withPages(
  wrap: (pages: AsyncGenerator<ListPage, void, undefined>) => AsyncGenerator<ListPage, void, undefined>,
): (service: Service) => Service {
  return (service) => ({
    ...service,
    ask: async (...given): Promise<Question> => {
      const question = await service.ask(...given);
      const { list } = question;
      return { ...question, list: list === null ? null : { ...list, pages: (signal) => wrap(list.pages(signal)) } };
    },
  });
}

describe('a complete list', () => {
  it('has the items of all pages or none, in every format, and reports their number', async () => {
    const server = small();
    const empty = `/brands/${small().brandId}/responses?from=2020-01-01&to=2020-01-31`;
    const alerts = `/brands/${small().brandId}/alerts?`;
    for (const path of [smallList(), `${smallList()}&brandMentioned=true`, alerts, empty]) {
      const items = await pagedItems(server, path);
      const ids = items.map(({ id }) => id);
      const lines = await linesOf(server, path);
      expect(lines.pop()).toEqual({ _end: { rows: items.length } });
      expect(lines).toEqual(items);
      const read = async (accept: string) => {
        const { response, body } = await open(server, path, { accept });
        const bytes = await body;
        expect(response.headers['content-length']).toBeUndefined();
        expect(response.headers['trailer']).toBe('X-Row-Count');
        expect(response.trailers['x-row-count']).toBe(String(items.length));
        expect(response.headers['x-next-cursor']).toBeUndefined();
        return bytes;
      };
      const csv = (await read('text/csv')).toString();
      expect(csv).toMatch(/^id,[^\r\n]*\r\n/);
      expect(csv.match(/^[0-9a-f]{8}-[0-9a-f-]{27}(?=,)/gm) ?? []).toEqual(ids);
      const parquet = Uint8Array.from(await read('application/vnd.apache.parquet')).buffer;
      expect((await parquetReadObjects({ file: parquet })).map(({ id }) => id)).toEqual(ids);
      const arrow = tableFromIPC(await read('application/vnd.apache.arrow.stream'));
      expect(arrow.toArray().map((row: { id: string }) => row.id)).toEqual(ids);
    }
  });

  it('is only for requests without a limit, and continues after a cursor', async () => {
    const server = small();
    const all = (await linesOf(server, smallList())).slice(0, -1);
    expect(all.length).toBeGreaterThan(25);
    const page = await open(server, `${smallList()}&limit=7`, { accept: NDJSON });
    const lines = (await page.body).toString().trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      ...all.slice(0, 7),
      { _end: { rows: 7, nextCursor: page.response.headers['x-next-cursor'] } },
    ]);
    expect(page.response.headers['x-next-cursor']).toBeTruthy();
    expect(page.response.headers['content-length']).toBeTruthy();
    const first = (await (await server.get(smallList())).json()) as { nextCursor: string };
    const rest = await linesOf(server, `${smallList()}&cursor=${first.nextCursor}`);
    expect(rest).toEqual([...all.slice(25), { _end: { rows: all.length - 25 } }]);
  });

  it('is compressed, conditional, and sent without a body for HEAD', async () => {
    const server = small();
    const plain = await (await open(server, smallList(), { accept: NDJSON })).body;
    for (const [encoding, unpack] of [
      ['gzip', gunzipSync],
      ['br', brotliDecompressSync],
    ] as const) {
      const { response, body } = await open(server, smallList(), { accept: NDJSON, 'accept-encoding': encoding });
      expect(response.headers['content-encoding']).toBe(encoding);
      expect(unpack(await body).equals(plain)).toBe(true);
      expect(response.trailers['x-row-count']).toMatch(/^\d+$/);
      const tag = response.headers.etag ?? '';
      const condition = { accept: NDJSON, 'accept-encoding': encoding, 'if-none-match': tag };
      expect((await open(server, smallList(), condition)).response.statusCode).toBe(304);
      const page = await open(server, `${smallList()}&limit=25`, condition);
      expect(page.response.statusCode).toBe(200);
    }
    const head = await open(server, smallList(), { accept: NDJSON }, 'HEAD');
    expect(head.response.statusCode).toBe(200);
    expect(head.response.headers['content-type']).toBe('application/x-ndjson; charset=utf-8');
    expect((await head.body).length).toBe(0);
    expect((await open(server, smallList(), { accept: NDJSON, 'if-none-match': '*' })).response.statusCode).toBe(304);
  });

  it('breaks the connection if a later page fails, and is an error response if the first one does', async () => {
    let failsAfter = 1;
    const failing = withPages(async function* (pages) {
      let count = 0;
      for await (const page of pages) {
        if (count++ === failsAfter) throw new SightlineError('query_timeout', 'the query was stopped after 30 s');
        yield page;
      }
    });
    const server = await openServer(large().copy, { around: failing });
    for (const accept of [
      NDJSON,
      'text/csv',
      'application/vnd.apache.arrow.stream',
      'application/vnd.apache.parquet',
    ]) {
      for (const encoding of ['identity', 'gzip']) {
        const { response, body } = await open(server, largeList(), { accept, 'accept-encoding': encoding });
        expect(response.statusCode).toBe(200);
        await expect(body, accept).rejects.toThrow();
        expect(response.complete).toBe(false);
        expect(response.trailers['x-row-count']).toBeUndefined();
      }
    }
    expect((await server.log()).filter(({ level }) => level === 'error')).toHaveLength(8);
    failsAfter = 0;
    const { response, body } = await open(server, largeList(), { accept: NDJSON });
    expect(response.statusCode).toBe(503);
    expect(JSON.parse((await body).toString())).toMatchObject({ error: { code: 'query_timeout' } });
  });

  it('is of one version, and holds no query, while its client reads slowly and newer data are published', async () => {
    const pulled: number[] = [];
    const counting = withPages(async function* (pages) {
      const index = pulled.push(0) - 1;
      for await (const page of pages) {
        pulled[index] = (pulled[index] as number) + 1;
        yield page;
      }
    });
    const server = await openServer(large().copy, { around: counting });
    const slow = await new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { 'x-api-key': server.key, accept: NDJSON };
      request(`${server.baseUrl}${largeList()}`, { headers, agent: false }, resolve).on('error', reject).end();
    });
    // Nothing reads the response, so the connection accepts no more after some megabytes.
    slow.pause();
    const before = await linesOf(server, largeList());
    expect(before).toHaveLength(RESPONSES + 1);
    expect(pulled[1]).toBe(RESPONSES / 1_000);
    expect(pulled[0]).toBeLessThan(RESPONSES / 1_000);
    expect(server.service.load()).toEqual({ running: 0, waiting: 0 });
    const warehouse = await openWarehouse(large().warehouse, catalogue, {});
    try {
      await warehouse.database.exclusive((session) =>
        session.run(`UPDATE responses SET prompt = 'edited', _extra = '{"zeta": 1}', _run_id = uuid(),
          _item = json_merge_patch(_item, '{"prompt": "edited", "zeta": 1}')`),
      );
      await publishAnalytics(warehouse.database, `${large().copy}.next`);
    } finally {
      await warehouse.close();
    }
    await rename(`${large().copy}.next`, large().copy);
    const [edited] = await linesOf(server, largeList());
    expect(edited).toMatchObject({ prompt: 'edited', zeta: 1 });
    const chunks: Buffer[] = [];
    for await (const chunk of slow) chunks.push(chunk as Buffer);
    const after = Buffer.concat(chunks).toString().trimEnd().split('\n');
    expect(after.map((line) => JSON.parse(line))).toEqual(before);
    const csv = await (await open(server, largeList(), { accept: 'text/csv' })).body;
    expect(csv.subarray(0, csv.indexOf('\r\n')).toString()).toMatch(/,zeta$/);
  });
});

/** A list of `count` pages of one item; `state.pulled` counts those that were read. */
function fakeList(count: number): { list: CompleteList; state: { pulled: number; ended: boolean } } {
  const state = { pulled: 0, ended: false };
  const columns = [{ name: 'id', kind: 'text' as const }];
  const list: CompleteList = {
    version: 'v',
    pages: async function* () {
      try {
        for (let page = 0; page < count; page++) {
          state.pulled += 1;
          const id = `${page}`.padEnd(20_000, '.');
          yield { texts: [JSON.stringify({ id })], rows: { columns, rows: () => [[id]] } };
        }
      } finally {
        state.ended = true;
      }
    },
  };
  return { list, state };
}

/** An output that accepts a write only when the test calls `accept`. */
function slowOutput() {
  const waiting: (() => void)[] = [];
  const output = new Writable({
    highWaterMark: 16_384,
    write: (_chunk, _encoding, done) => {
      waiting.push(done);
    },
  });
  onTestFinished(() => void output.destroy());
  return { output, accept: () => waiting.shift()?.() };
}

/** A client with a valid key. */
function clientOf(changes: Partial<ListClient> = {}): ListClient {
  return { signal: new AbortController().signal, holder: 'key', checkAccess: () => undefined, ...changes };
}

async function turns(): Promise<void> {
  for (let count = 0; count < 50; count++) await turn();
}

/** Begins the transfer of a list of 100 pages to a slow output. */
async function beginSlow(client: Partial<ListClient> = {}, format: 'ndjson' | 'csv' = 'ndjson', streams = streamsOf()) {
  const { list, state } = fakeList(100);
  const { output, accept } = slowOutput();
  const sent = (await streams.begin(list, format, 'identity', clientOf(client))).send(output, () => undefined);
  sent.catch(() => undefined);
  await turns();
  return { state, accept, sent };
}

function streamsOf(listsMax = 1, listMs = 1_000, now = (): number => 0) {
  return createListStreams({ listsMax, listMs }, now);
}

describe('the transfer of a list', () => {
  it('reads a page only after the output has accepted the one before', async () => {
    const { state, accept, sent } = await beginSlow();
    for (let accepted = 0; accepted < 100; accepted++) {
      await turns();
      expect(state.pulled).toBe(accepted + 1);
      accept();
    }
    await turns();
    accept();
    expect(await sent).toBe(100);
    expect(state.ended).toBe(true);
  });

  it('ends when the client leaves, also while the output is full', async () => {
    const leaving = new AbortController();
    const { state, sent } = await beginSlow({ signal: leaving.signal });
    leaving.abort(new Error('left'));
    await expect(sent).rejects.toThrow();
    expect(state).toEqual({ pulled: 1, ended: true });
  });

  it('is rejected if too many others run, and ends after its time', async () => {
    let now = 0;
    const streams = streamsOf(1, 1_000, () => now);
    const begin = () => streams.begin(fakeList(3).list, 'csv', 'identity', clientOf());
    const first = await begin();
    await expect(begin()).rejects.toMatchObject({ code: 'overloaded' });
    await first.cancel();
    const { state, accept, sent } = await beginSlow({}, 'csv', streams);
    now = 1_001;
    accept();
    await expect(sent).rejects.toMatchObject({ code: 'query_timeout' });
    expect(state.ended).toBe(true);
    await (await begin()).cancel();
  });

  it('ends before the next page if its key is revoked', async () => {
    let isRevoked = false;
    const checkAccess = (): void => {
      if (isRevoked) throw new SightlineError('unauthorized', 'The API key was revoked.');
    };
    const { state, accept, sent } = await beginSlow({ checkAccess });
    isRevoked = true;
    accept();
    await expect(sent).rejects.toMatchObject({ code: 'unauthorized' });
    expect(state).toEqual({ pulled: 2, ended: true });
  });

  it('ends after its time if the client accepts nothing', async () => {
    const { state, sent } = await beginSlow({}, 'ndjson', streamsOf(1, 1));
    await expect(sent).rejects.toThrow();
    expect(state).toEqual({ pulled: 1, ended: true });
  });

  it('leaves half of the places to other keys', async () => {
    const streams = streamsOf(4);
    const begin = (holder: string) => streams.begin(fakeList(1).list, 'csv', 'identity', clientOf({ holder }));
    const [first] = [await begin('a'), await begin('a')];
    await expect(begin('a')).rejects.toMatchObject({ code: 'overloaded' });
    await begin('b');
    await first?.cancel();
    await begin('a');
    await begin('b');
    await expect(begin('c')).rejects.toMatchObject({ code: 'overloaded' });
  });
});
