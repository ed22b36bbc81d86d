import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { BudgetHome } from '../../src/budget/open-budget.ts';
import { startChild } from '../support/child.ts';
import { startPostgres } from '../support/postgres.ts';
import { countingServer, mostInAnyMinute, type Server } from './simulation.ts';

const PROCESSES = 4;
const KEYS = Number(process.env['SIGHTLINE_FLEET_KEYS'] ?? 300);
/** Requests per minute of each key; every second key is counted in fixed windows. */
const LIMIT = Number(process.env['SIGHTLINE_FLEET_LIMIT'] ?? 30);
/** Requests with each key, sent by two of the processes. */
const REQUESTS = Number(process.env['SIGHTLINE_FLEET_REQUESTS'] ?? 76);
const LATENCY_MS_MAX = 400;
const AWAY_AFTER_MS = 70_000;
const AWAY_MS = 15_000;

// Takes minutes of real time: SIGHTLINE_FLEET=1 npx vitest run ... test/budget/fleet.test.ts
test.skipIf(process.env['SIGHTLINE_FLEET'] !== '1')(
  'hundreds of keys in four processes stay within their limits while PostgreSQL is restarted',
  { timeout: 15 * 60_000 },
  async ({ skip }) => {
    const postgres = await startPostgres();
    if (typeof postgres === 'string') return skip(postgres);
    onTestFinished(() => postgres.close());
    const { baseUrl, servers, close } = await startUpstream();
    onTestFinished(close);
    const home: BudgetHome = { kind: 'postgres', url: postgres.url(), urlVariable: 'BUDGET_DATABASE_URL' };
    const file = new URL('fleet-child.ts', import.meta.url);
    const keys = Array.from({ length: KEYS }, (_, index) => `gsk_fleet_${index}`);
    const startedAt = systemClock.monotonic();
    const children = Array.from({ length: PROCESSES }, (_, index) => {
      const own = keys.filter((__, key) => key % PROCESSES === index || (key + 1) % PROCESSES === index);
      return startChild(file, JSON.stringify(home), baseUrl, own.join(), String(REQUESTS / 2));
    });
    const said: string[] = [];
    const ended = children.map(async (child) => {
      for (let text = await child.message(); text !== null; text = await child.message()) {
        if (text === 'done') return true;
        said.push(text);
      }
      return false;
    });
    await systemClock.sleep(AWAY_AFTER_MS);
    await postgres.stop();
    await systemClock.sleep(AWAY_MS);
    await postgres.start();
    expect(await Promise.all(ended)).toEqual(children.map(() => true));
    const counts = [...servers.values()];
    const requests = counts.reduce((sum, { arrivals }) => sum + arrivals.length, 0);
    const refused = counts.reduce((sum, server) => sum + server.refused(), 0);
    const most = Math.max(...counts.map(({ arrivals }) => mostInAnyMinute(arrivals)));
    const seconds = Math.round((systemClock.monotonic() - startedAt) / 1000);
    process.stdout.write(
      `${JSON.stringify({ keys: counts.length, requests, wanted: KEYS * REQUESTS, refused, most, limit: LIMIT, seconds, said })}\n`,
    );
    expect(refused).toBe(0);
    expect(most).toBeLessThanOrEqual(LIMIT);
    expect(requests).toBeLessThanOrEqual(1.02 * KEYS * REQUESTS);
    expect(counts.length).toBe(KEYS);
  },
);

// Counts each key separately, at a random time between the arrival of a request and its response.
async function startUpstream() {
  const servers = new Map<string, Server>();
  const server = createServer(async (request, response) => {
    const key = request.headers.authorization ?? '';
    const own = servers.get(key) ?? countingServer(LIMIT, servers.size % 2 === 0 ? 'sliding' : 'fixed', true);
    servers.set(key, own);
    await systemClock.sleep((Math.random() * LATENCY_MS_MAX) / 2);
    const { headers, retryAfterMs } = own.arrive(systemClock.monotonic());
    await systemClock.sleep((Math.random() * LATENCY_MS_MAX) / 2);
    response.setHeader('x-ratelimit-limit', String(headers.limit));
    if (headers.remaining !== null) response.setHeader('x-ratelimit-remaining', String(headers.remaining));
    if (retryAfterMs !== null) response.setHeader('retry-after', String(Math.ceil(retryAfterMs / 1000)));
    response.writeHead(retryAfterMs === null ? 200 : 429, { 'content-type': 'application/json' });
    response.end('{"data":[]}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { baseUrl: `http://127.0.0.1:${port}/v1`, servers, close };
}
