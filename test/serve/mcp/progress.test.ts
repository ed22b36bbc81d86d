import { describe, expect, it } from 'vitest';
import { createSqlService, type SqlService } from '../../../src/operations/sql/sql-service.ts';
import type { ServedReplica } from '../../../src/read/open-replica.ts';
import type { Service } from '../../../src/read/service.ts';
import { servedOne } from '../../../src/serve/mcp/served.ts';
import { serveStdio } from '../../../src/serve/mcp/stdio.ts';
import { builtInCatalogue as catalogue } from '../../../src/workspace/catalogues.ts';
import { openWorldService, sharedBefore, stillClock, worldBefore } from '../served-world.ts';
import { openStream, type StreamClient } from './stream-client.ts';
import { type Body, connect, startBareMcp } from './support.ts';

const workspace = worldBefore('small');
const services = sharedBefore(async (closeLater) => {
  const service = openWorldService(workspace().config);
  const sql = createSqlService({ path: workspace().copy, catalogue, clock: stillClock });
  closeLater(async () => {
    await Promise.all([service.close(), sql.close()]);
  });
  return { service, sql };
});

function openStdio(parts: { service: Service; sql: SqlService }): Promise<StreamClient> {
  const { signal } = new AbortController();
  return openStream((streams) => serveStdio(servedOne({ ...parts, pageUrl: null }, stillClock), streams, signal));
}

/** Work that ends only when it is aborted. */
function createWork() {
  let [begin, end] = [(): void => undefined, (_reason: unknown): void => undefined];
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const ended = new Promise<unknown>((resolve) => (end = resolve));
  const run = (signal: AbortSignal | undefined): Promise<never> => {
    begin();
    return new Promise((_, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
    }).catch((thrown: unknown) => {
      end(thrown);
      throw thrown;
    }) as Promise<never>;
  };
  return { begun, ended, run };
}

const LONG: readonly (readonly [string, object])[] = [
  ['explain_change', { metric: 'visibility', brand: 'BRAND' }],
  ['what_changed', { since: '30d' }],
  ['find_opportunities', { brand: 'BRAND' }],
  ['query', { sql: 'SELECT count(*) FROM responses' }],
];

function expectRising(progress: readonly Body[]): void {
  expect(progress.length).toBeGreaterThan(1);
  const values = progress.map((one) => one.progress);
  expect(values).toEqual([...new Set(values)].toSorted((a, b) => a - b));
  for (const { progress: done, total, message } of progress) {
    expect(message).toMatch(/query/i);
    if (total !== undefined) expect(done).toBeLessThanOrEqual(total);
  }
}

describe('a long call', () => {
  it('sends progress over stdio if it has a token, and none otherwise', async () => {
    const brand = workspace().brands[0]?.name;
    const client = await openStdio(services());
    for (const [name, given] of LONG) {
      const params = { name, arguments: { ...given, ...('brand' in given ? { brand } : {}) } };
      const before = client.notifications.length;
      const silent = await client.request('tools/call', params);
      expect(silent.result.isError ?? false, silent.result.content[0].text).toBe(false);
      expect(client.notifications).toHaveLength(before);
      await client.request('tools/call', { ...params, _meta: { progressToken: name } });
      const sent = client.notifications.slice(before);
      expect(
        sent.every(({ method, params: { progressToken } }) => method.endsWith('/progress') && progressToken === name),
      ).toBe(true);
      expectRising(sent.map(({ params: progress }) => progress));
    }
  });

  it('sends progress over HTTP', async () => {
    const { service, sql } = services();
    const client = await connect(await startBareMcp(service, {}, { sql }));
    const progress: Body[] = [];
    const given = { name: 'what_changed', arguments: { since: '30d' } };
    const { isError = false } = await client.callTool(given, { onprogress: (one) => void progress.push(one) });
    expect(isError).toBe(false);
    expectRising(progress);
    expect(progress.at(-1)?.progress).toBe(progress.at(-1)?.total);
  });
});

it.each([
  ['what_changed', { since: '30d' }],
  ['query', { sql: 'SELECT 1' }],
])('a cancelled call ends the work of %s over stdio, and the server responds to others', async (name, given) => {
  const { service, sql } = services();
  const { begun, ended, run } = createWork();
  const newest = async (): Promise<ServedReplica> => {
    const served = await service.newest();
    return { ...served, replica: { ...served.replica, work: (_task, signal) => run(signal) } };
  };
  const waiting: SqlService = { ...sql, run: (_caller, _question, signal) => run(signal) };
  const client = await openStdio({ service: { ...service, newest }, sql: waiting });
  const requestId = client.send('tools/call', { name, arguments: given });
  await begun;
  client.notify('notifications/cancelled', { requestId, reason: 'no longer needed' });
  expect(await ended).toBeDefined();
  expect((await client.call('list_metrics', {})).isError ?? false).toBe(false);
});
