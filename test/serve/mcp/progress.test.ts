import { describe, expect, it } from 'vitest';
import { createSqlService, type SqlService } from '../../../src/operations/sql/sql-service.ts';
import type { ServedReplica } from '../../../src/query/open-replica.ts';
import type { Service } from '../../../src/query/service.ts';
import { servedOne } from '../../../src/serve/mcp/served.ts';
import { serveStdio } from '../../../src/serve/mcp/stdio.ts';
import { builtInCatalogue as catalogue } from '../../../src/session/catalogues.ts';
import { openWorldService, sharedBefore, stillClock, worldBefore } from '../served-world.ts';
import { openStream, type StreamClient } from './stream-client.ts';
import { type Body, connect, startBareMcp } from './support.ts';

const workspace = worldBefore('small');
const services = sharedBefore(async (closeLater) => {
  const service = openWorldService(workspace().config, 600_000);
  const sql = createSqlService({ path: workspace().copy, catalogue, clock: stillClock });
  closeLater(async () => {
    await Promise.all([service.close(), sql.close()]);
  });
  return { service, sql };
});

/** A query that runs until it is interrupted. */
const ENDLESS = 'SELECT count(*) FROM range(1000000000000) a(i), range(1000) b(j) WHERE (i * j) % 7 = 3';

function openStdio(parts: { service: Service; sql: SqlService }): Promise<StreamClient> {
  const { signal } = new AbortController();
  return openStream((streams) => serveStdio(servedOne({ ...parts, pageUrl: null }, stillClock), streams, signal));
}

/** Work that has begun, and the error with which it ended. */
interface Watched {
  readonly begun: Promise<void>;
  readonly ended: Promise<unknown>;
}

function createWatch() {
  let begin = (): void => undefined;
  let end = (_: unknown): void => undefined;
  const begun = new Promise<void>((resolve) => {
    begin = () => resolve();
  });
  const ended = new Promise<unknown>((resolve) => {
    end = resolve;
  });
  return { begin: () => begin(), end: (error: unknown) => end(error), watched: { begun, ended } satisfies Watched };
}

/** Returns the service with an endless query in the place of the first query of each call. */
function withEndlessQuery(service: Service): Watched & { readonly service: Service } {
  const { begin, end, watched } = createWatch();
  const newest = async (): Promise<ServedReplica> => {
    const served = await service.newest();
    const work: ServedReplica['replica']['work'] = (task, signal, kind) => {
      const working = served.replica.work(
        (query, read, prepared) => {
          const endless: typeof query = () => {
            begin();
            return query(ENDLESS);
          };
          return task(endless, read, prepared);
        },
        signal,
        kind,
      );
      working.catch(end);
      return working;
    };
    return { ...served, replica: { ...served.replica, work } };
  };
  return { service: { ...service, newest }, ...watched };
}

/** Returns the SQL service, which reports when it was called and how the call ended. */
function watchSql(sql: SqlService): Watched & { readonly sql: SqlService } {
  const { begin, end, watched } = createWatch();
  const run: SqlService['run'] = (...given) => {
    const running = sql.run(...given);
    running.catch(end);
    begin();
    return running;
  };
  return { sql: { ...sql, run }, ...watched };
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

describe('a cancelled call', () => {
  it('ends its query over stdio, and the server responds to others', async () => {
    const { service, sql } = services();
    const gate = withEndlessQuery(service);
    const client = await openStdio({ sql, service: gate.service });
    const requestId = client.send('tools/call', { name: 'what_changed', arguments: { since: '30d' } });
    await gate.begun;
    client.notify('notifications/cancelled', { requestId, reason: 'no longer needed' });
    expect(await gate.ended).toBeDefined();
    expect((await service.newest()).replica.load()).toEqual({ running: 0, waiting: 0 });
    expect((await client.call('list_metrics', {})).isError ?? false).toBe(false);
  });

  it('ends its SQL over stdio', async () => {
    const { service, sql } = services();
    const gate = watchSql(sql);
    const client = await openStdio({ service, sql: gate.sql });
    const requestId = client.send('tools/call', { name: 'query', arguments: { sql: ENDLESS } });
    await gate.begun;
    client.notify('notifications/cancelled', { requestId });
    expect(await gate.ended).not.toMatchObject({ code: 'query_timeout' });
    const { structuredContent } = await client.call('query', { sql: 'SELECT 1 AS one' });
    expect(structuredContent.rows).toEqual([[1]]);
  });
});
