import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import type { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { createSqlService, type SqlService } from '../../../src/operations/sql/sql-service.ts';
import type { Service } from '../../../src/query/service.ts';
import { dataTools } from '../../../src/serve/mcp/data-tools/data-tools.ts';
import { servedOne } from '../../../src/serve/mcp/served.ts';
import { serveStdio } from '../../../src/serve/mcp/stdio.ts';
import { cursorSecretOf, openService } from '../../../src/serve/open-service.ts';
import { builtInCatalogue as catalogue } from '../../../src/session/catalogues.ts';
import { breakOuts } from '../../cli/breakouts.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { MAIN } from '../../support/run-command.ts';
import { serveBefore } from './serve-before.ts';
import { call, connect, createClient, startBareMcp } from './support.ts';

const ENDLESS = 'SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b';
const endlessCall = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'query', arguments: { sql: ENDLESS } },
};
const world = serveBefore(2, { brands: 1, prompts: 2 });

async function connectOverStdio(): Promise<Client> {
  const { folder, name } = world().config;
  const client = createClient('2025-11-25');
  onTestFinished(() => client.close());
  const args = [MAIN, 'mcp', '--data-dir', dirname(folder), '--workspace', name];
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder };
  await client.connect(new StdioClientTransport({ command: process.execPath, args, env, cwd: folder, stderr: 'pipe' }));
  return client;
}

function hashes(): string[] {
  const { folder } = world().config;
  return ['analytics.duckdb', 'warehouse.duckdb'].map((name) =>
    createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex'),
  );
}

it.each([
  ['HTTP', async () => world().client],
  ['stdio', connectOverStdio],
])('all break-outs through query are rejected over %s, change no file and show no path', async (_, open) => {
  const client = await open();
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(
    expect.arrayContaining(dataTools.map(({ name }) => name)),
  );
  const outside = await temporaryFolder();
  const before = hashes();
  let tried = 0;
  for (const { title, sql, code, names } of breakOuts({ file: world().replica, outside })) {
    // Statements without end take the full time of a query.
    if (code === 'query_limit') continue;
    tried += 1;
    const { isError, text, shown } = await call(client, 'query', { sql });
    expect({ title, isError, shown }).toEqual({ title, isError: true, shown: undefined });
    expect(text, title).toMatch(sql.length > 20_000 ? /^invalid_parameter: sql has / : /^sql_(rejected|invalid): /);
    // Callers over the network get `<path>` for paths, and a rejection of functions that the owner may use.
    const message = text.slice(text.indexOf(': ') + 2);
    if (text.startsWith(code) && !/<(path|database)>/.test(text)) expect(message, title).toMatch(names);
    expect(text, title).not.toContain(world().config.folder);
  }
  expect(tried).toBeGreaterThan(130);
  expect((await call(client, 'query', { sql: 'SELECT 7 AS n' })).shown.rows).toEqual([[7]]);
  expect(hashes()).toEqual(before);
  expect(await readdir(outside)).toEqual([]);
});

it('a query that takes too long is ended, with the limit in the error', async () => {
  const { client } = await openBare({ limits: { timeoutMs: 500 } });
  const { isError, text } = await call(client, 'query', { sql: ENDLESS });
  expect(isError).toBe(true);
  expect(text).toMatch(/^query_limit: .*0\.5 s/);
  expect((await call(client, 'query', { sql: 'SELECT 7 AS n' })).shown.rows).toEqual([[7]]);
});

it('a query ends when its client disconnects from HTTP', async () => {
  const { url, client, started } = await openBare({ limits: { timeoutMs: 600_000 } });
  const leaving = new AbortController();
  const headers = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
  const left = fetch(url, { method: 'POST', headers, body: JSON.stringify(endlessCall), signal: leaving.signal })
    .then((response) => response.text())
    .catch(() => 'gone');
  const { end } = await started;
  leaving.abort();
  expect(await left).toBe('gone');
  expect(await end).toMatchObject({ code: 'query_canceled' });
  expect((await call(client, 'query', { sql: 'SELECT 7 AS n' })).shown.rows).toEqual([[7]]);
});

it('a query ends when its client cancels the call over stdio', async () => {
  const { service, sql, started } = await openBare({ limits: { timeoutMs: 600_000 } });
  const streams = { input: new PassThrough(), output: new PassThrough() };
  const served = servedOne({ service, sql, pageUrl: null }, systemClock);
  const serving = serveStdio(served, streams, new AbortController().signal);
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'tests', version: '1.0.0' } };
  const send = (message: object): void => void streams.input.write(`${JSON.stringify(message)}\n`);
  send({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
  send(endlessCall);
  const { end } = await started;
  send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: endlessCall.id } });
  expect(await end).toMatchObject({ code: 'query_canceled' });
  streams.input.end();
  await serving;
});

it('a query runs with the limits of a server: it writes nothing and sees no settings', async () => {
  for (const sql of [
    "SELECT current_setting('allowed_paths')",
    'FROM duckdb_settings()',
    "FROM 'x.csv'",
    'CREATE TABLE a (b INT)',
  ]) {
    const { isError, text } = await call(world().client, 'query', { sql });
    expect({ sql, isError }).toEqual({ sql, isError: true });
    expect(text).toMatch(/^sql_(rejected|invalid): /);
    expect(text).not.toContain(world().config.folder);
  }
});

/** MCP without keys over SQL with other limits. `started` is the end of the first query, once it has begun. */
async function openBare({ limits }: { limits: { timeoutMs: number } }): Promise<{
  url: string;
  client: Client;
  service: Service;
  sql: SqlService;
  started: Promise<{ readonly end: Promise<unknown> }>;
}> {
  const { config, replica } = world();
  const service: Service = openService(config, systemClock, await cursorSecretOf(config, false), 30_000);
  const own = createSqlService({ path: replica, catalogue, clock: systemClock, limits });
  onTestFinished(async () => {
    await Promise.all([service.close(), own.close()]);
  });
  // Starts the process, so that the query begins at once.
  await own.run({ session: 'first', brands: null }, { sql: 'SELECT 1', rowsMax: 1 }, new AbortController().signal);
  let tell: (ended: { readonly end: Promise<unknown> }) => void = () => undefined;
  const started = new Promise<{ readonly end: Promise<unknown> }>((resolve) => {
    tell = resolve;
  });
  const sql: SqlService = {
    ...own,
    run: (...given) => {
      const running = own.run(...given);
      tell({ end: running.catch((thrown: unknown) => thrown) });
      return running;
    },
  };
  const url = await startBareMcp(service, {}, { sql });
  return { url, client: await connect(url, '2025-11-25'), service, sql, started };
}
