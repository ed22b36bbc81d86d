import { expect, test } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import { FAULT_KINDS, type Fault, parseFaults } from '../../src/sandbox/faults.ts';
import { type Body, type Opened, open } from './helpers.ts';

const list = declarations.find(({ change }) => change.kind === 'window')?.path as string;

async function openWith(...faults: Fault[]): Promise<Opened & { path: string }> {
  const opened = await open({ days: 10, chunkDelayMs: 5 });
  const path = list.replace('{brandId}', (await opened.brandIds())[0] as string);
  opened.sandbox.setFaults(faults);
  return { ...opened, path };
}

test('faults 429, 500, 502 and 503 return these statuses, with the documented envelope or an HTML page', async () => {
  const { get, path } = await openWith(
    { kind: '429', times: 1, retryAfterSeconds: 7 },
    { kind: '500', times: 1 },
    { kind: '502', times: 1 },
    { kind: '503', times: 20 },
  );
  const limited = await get(path);
  expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '7']);
  expect(limited.body.error).toMatchObject({ code: 'rate_limited', message: expect.stringContaining('7 seconds') });
  expect((await get(path)).status).toBe(500);
  const gateway = await get(path);
  expect([gateway.status, gateway.headers.get('content-type'), gateway.body]).toEqual([502, 'text/html', undefined]);
  const waits = new Set<string | null>();
  for (let index = 0; index < 20; index++) {
    const { status, headers } = await get(path);
    expect(status).toBe(503);
    waits.add(headers.get('retry-after'));
  }
  expect(waits).toEqual(new Set(['1', null]));
  expect((await get(path)).status).toBe(200);
});

test('fault reset resets the connection before or during the response', async () => {
  const { get, path, sandbox } = await openWith({ kind: 'reset', times: 12 });
  for (let index = 0; index < 12; index++) await expect(get(path)).rejects.toThrow();
  expect(sandbox.counts.byFault).toEqual({ reset: 12 });
  expect(new Set(sandbox.requests.slice(1).map(({ status }) => status))).toEqual(new Set([0, 200]));
  expect((await get(path)).status).toBe(200);
});

test('fault hang never responds until the sandbox is closed', async () => {
  const { get, path, sandbox } = await openWith({ kind: 'hang' });
  const signal = AbortSignal.timeout(100);
  const headers = { 'x-api-key': sandbox.key };
  await expect(get(path, {}, { signal, headers })).rejects.toThrow('aborted');
  const hanging = expect(get(path)).rejects.toThrow();
  await new Promise((resolve) => setTimeout(resolve, 30));
  await sandbox.close();
  await hanging;
});

test('fault truncate announces more bytes than it sends', async () => {
  const { path, sandbox } = await openWith({ kind: 'truncate' });
  const response = await fetch(`${sandbox.baseUrl}${path}`, { headers: { 'x-api-key': sandbox.key } });
  const promised = Number(response.headers.get('content-length'));
  let received = 0;
  const read = async (): Promise<void> => {
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) received += chunk.length;
  };
  await expect(read()).rejects.toThrow();
  expect(received).toBeGreaterThan(0);
  expect(received).toBeLessThan(promised);
});

test('fault slowbody sends the complete body in small pieces', async () => {
  const { get, path, sandbox } = await openWith({ kind: 'slowbody', times: 1 });
  const startMs = performance.now();
  const slow = await get(path);
  expect(performance.now() - startMs).toBeGreaterThan(80);
  expect(slow.body).toEqual((await get(path)).body);
  expect(sandbox.counts.byFault).toEqual({ slowbody: 1 });
});

test('fault badjson returns invalid JSON, fault norows returns JSON without rows', async () => {
  const { get, path } = await openWith({ kind: 'badjson', times: 1 }, { kind: 'norows', times: 1 });
  const bad = await get(path);
  expect([bad.status, bad.body]).toEqual([200, undefined]);
  const empty = await get(path);
  expect([empty.status, empty.text]).toEqual([200, '{}']);
});

test('fault wrongtypes breaks some rows and leaves the others unchanged', async () => {
  const { get, path, sandbox } = await openWith();
  const good = (await get(path)).body.data;
  sandbox.setFaults([{ kind: 'wrongtypes' }]);
  const kinds = new Set<string>();
  for (let request = 0; request < 12; request++) {
    const rows = (await get(path)).body.data;
    const broken = rows.filter((row: Body, index: number) => JSON.stringify(row) !== JSON.stringify(good[index]));
    expect(broken.length).toBeGreaterThan(3);
    expect(broken.length).toBeLessThan(rows.length / 2);
    for (const row of broken) kinds.add('id' in row ? 'type' : 'key');
  }
  expect(kinds).toEqual(new Set(['type', 'key']));
});

test('faults unknownfields and unknownenums add undeclared fields and labels to every list', async () => {
  const { get, path, sandbox } = await openWith();
  const plain = (await get(path)).body.data[0];
  sandbox.setFaults([{ kind: 'unknownfields' }]);
  const more = (await get(path)).body.data[0];
  expect(more).toMatchObject(plain);
  expect(Object.keys(more).length).toBeGreaterThan(Object.keys(plain).length);
  sandbox.setFaults([{ kind: 'unknownenums' }]);
  const renamed = (await get(path)).body.data[0];
  const changed = Object.keys(plain).filter((name) => JSON.stringify(plain[name]) !== JSON.stringify(renamed[name]));
  expect(changed.length).toBeGreaterThan(0);
  for (const name of changed) expect(renamed[name]).toBe(`${plain[name]}_v2`);
});

test('faults expiredcursor and stuckcursor apply only to requests with a cursor', async () => {
  const { get, path, sandbox } = await openWith({ kind: 'expiredcursor', times: 1 }, { kind: 'stuckcursor', times: 2 });
  const first = await get(path, { limit: 5 });
  const cursor = first.body.nextCursor;
  const expired = await get(path, { limit: 5, cursor });
  expect([expired.status, expired.body.error.code]).toEqual([400, 'invalid_parameter']);
  const stuck = await get(path, { limit: 5, cursor });
  expect([stuck.status, stuck.body.nextCursor]).toEqual([200, cursor]);
  expect((await get(path, { limit: 5, cursor })).body).toEqual(stuck.body);
  expect((await get(path, { limit: 5, cursor })).body.nextCursor).not.toBe(cursor);
  expect(sandbox.counts.byFault).toEqual({ expiredcursor: 1, stuckcursor: 2 });
});

test('fault headinsert adds a row at the head and repeats the last row of the previous page', async () => {
  const { get, walk, path, sandbox } = await openWith({ kind: 'headinsert', times: 1 });
  const first = (await get(path, { limit: 5 })).body;
  const second = (await get(path, { limit: 5, cursor: first.nextCursor })).body;
  expect(second.data[0]).toEqual(first.data[4]);
  const after = await walk(path, { limit: 100 });
  expect(first.data.map(({ id }: Body) => id)).not.toContain(after[0].id);
  expect(after[1]).toEqual(first.data[0]);
  expect(sandbox.counts.byFault).toEqual({ headinsert: 1 });
});

test('a fault can be limited to paths and occurs with its probability', async () => {
  const { get, path, sandbox } = await openWith({
    kind: '500',
    probability: 0.3,
    match: list.split('/').at(-1) as string,
  });
  let failed = 0;
  for (let index = 0; index < 200; index++) if ((await get(path, { limit: 1 })).status === 500) failed++;
  expect(failed).toBeGreaterThan(35);
  expect(failed).toBeLessThan(90);
  for (let index = 0; index < 20; index++) expect((await get('/brands')).status).toBe(200);
  expect(sandbox.counts.byFault).toEqual({ 500: failed });
});

test('fault texts are parsed, and invalid parts are reported with the allowed values', () => {
  expect(parseFaults('429=0.02, 500=3x@/some/path,hang,')).toEqual([
    { kind: '429', probability: 0.02 },
    { kind: '500', times: 3, match: '/some/path' },
    { kind: 'hang', probability: 1 },
  ]);
  expect(parseFaults('')).toEqual([]);
  expect(parseFaults(Object.keys(FAULT_KINDS).join(','))).toHaveLength(16);
  expect(() => parseFaults('429=0.1,fire=1')).toThrow(/"fire=1".*one of 429, 500/);
  expect(() => parseFaults('429=2')).toThrow(/"429=2".*from 0 to 1/);
  expect(() => parseFaults('429=1.2.3')).toThrow(/"429=1.2.3".*from 0 to 1/);
  expect(() => parseFaults('429=0x')).toThrow(/"429=0x".*whole number from 1/);
  expect(() => parseFaults('429=many')).toThrow(/"429=many".*kind=probability/);
});
