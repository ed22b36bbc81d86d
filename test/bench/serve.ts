import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { firstLine, startCli, startScript, startServer, startUpstream } from './children.ts';
import { generate } from './generate.ts';
import { measureRequests, usageOf } from './measure.ts';

/** Number of client connections, and duration of each measurement. */
const CONNECTIONS = 20;
const MEASURE_MS = 5_000;
/** Number of clients that send a different request each time, with and without a concurrent sync. */
const ASKERS = 2;
const DAY_MS = 86_400_000;

/**
 * Serves a generated warehouse with `responses` responses. Compares it with a bare Fastify server that sends the same bytes, and with
 * itself during a sync. Returns the figures as lines of text.
 */
export async function serveFigures(folder: string, responses: number): Promise<string[]> {
  const { brandId } = await generate(folder, responses);
  const title = `serving of ${responses.toLocaleString('en-US')} answers with their competitors and citations`;
  return [title, ...(await httpFigures(folder, brandId))];
}

async function listFigures(origin: string, brandId: string, headers: Record<string, string>): Promise<string> {
  const to = new Date().toISOString().slice(0, 10);
  const from = new Date(Date.parse(to) - 365 * DAY_MS).toISOString().slice(0, 10);
  const startedAt = performance.now();
  const response = await fetch(`${origin}/v1/brands/${brandId}/responses?from=${from}&to=${to}`, {
    headers: { ...headers, accept: 'application/x-ndjson' },
  });
  let bytes = 0;
  let rows = -1;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    for (const byte of chunk) if (byte === 10) rows += 1;
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  return `${rows.toLocaleString('en-US')} rows, ${Math.round(bytes / 1e6)} MB in ${seconds.toFixed(1)} s`;
}

async function httpFigures(folder: string, brandId: string): Promise<string[]> {
  const key = await firstLine(startCli(folder, ['keys', 'create', 'bench']));
  const { process: server, origin } = await startServer(folder);
  try {
    const path = `/v1/brands/${brandId}/metrics/daily`;
    // Every encoding has its own ETag.
    const headers = { authorization: `Bearer ${key}`, 'accept-encoding': 'identity' };
    const first = await fetch(`${origin}${path}`, { headers });
    const body = Buffer.from(await first.arrayBuffer());
    const file = join(folder, 'body.json');
    await writeFile(file, body);
    const bare = await bareRate(file);
    const cached = await rateOf(origin, path, headers, 200);
    const match = { ...headers, 'if-none-match': first.headers.get('etag') ?? '' };
    const unchanged = await rateOf(origin, path, match, 304);
    const alone = await waitsOf(origin, brandId, headers, () => false);
    const list = await listFigures(origin, brandId, headers);
    const beside = await besideSync(folder, origin, brandId, headers);
    const peakMb = Math.round((await usageOf(server)).peakMb);
    const size = `${Math.round(body.length / 1000)} kB`;
    return [
      `  a cached answer of ${size} over HTTP         ${perSecond(cached)}   bare Fastify, the same bytes ${perSecond(bare)}   ${part(cached, bare)}`,
      `  304 over HTTP                            ${perSecond(unchanged)}   ${part(unchanged, bare)} of bare Fastify's answers`,
      `  questions never asked before: p50 ${alone.p50} ms, p99 ${alone.p99} ms; while a sync writes: p50 ${beside.p50} ms, p99 ${beside.p99} ms (${(beside.p99 / alone.p99).toFixed(2)} times)`,
      `  a complete list as NDJSON: ${list}`,
      `  peak ${peakMb} MB resident`,
    ];
  } finally {
    server.kill('SIGKILL');
  }
}

async function bareRate(file: string): Promise<number> {
  const hello = startScript('hello.js', [file]);
  try {
    return await rateOf(await firstLine(hello), '/', {}, 200);
  } finally {
    hello.kill('SIGKILL');
  }
}

async function rateOf(
  origin: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  status: number,
): Promise<number> {
  const { rate } = await measureRequests(origin, { clients: CONNECTIONS, ms: MEASURE_MS }, async (pool) => {
    const answer = await pool.request({ path, method: 'GET', headers });
    await answer.body.dump();
    if (answer.statusCode !== status) throw new Error(`${path} returned ${answer.statusCode}; expected ${status}`);
    return true;
  });
  return rate;
}

// Measures latencies of uncached responses: every request has a different range or filter.
async function waitsOf(
  origin: string,
  brandId: string,
  headers: Readonly<Record<string, string>>,
  goesOn: () => boolean,
): Promise<{ p50: number; p99: number }> {
  const options = { clients: ASKERS, ms: 4 * MEASURE_MS, goesOn };
  const { p50, p99 } = await measureRequests(origin, options, async (pool) => {
    const answer = await pool.request({ path: questionOf(brandId, asked++), method: 'GET', headers });
    await answer.body.dump();
    // The sync is of another workspace, so the generated brand disappears when its replica is published.
    if (answer.statusCode === 404 && asked > ASKERS) return false;
    if (answer.statusCode !== 200) throw new Error(`a request returned ${answer.statusCode}; expected 200`);
    return true;
  });
  const rounded = (ms: number): number => Math.round(ms * 10) / 10;
  return { p50: rounded(p50), p99: rounded(p99) };
}

let asked = 0;

function dayBefore(days: number): string {
  return new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10);
}

function questionOf(brandId: string, number: number): string {
  const to = dayBefore(number % 300);
  const kinds = ['metrics', 'responses?limit=100', 'sources/domains', 'metrics/daily'];
  const kind = kinds[number % kinds.length] as string;
  const engine = ['chatgpt', 'claude', 'gemini', 'perplexity'][Math.floor(number / 300) % 4];
  // Shorten the range by a day in every round, so that no request repeats.
  const from = dayBefore((number % 300) + 29 - (Math.floor(number / 1200) % 29));
  return `/v1/brands/${brandId}/${kind}${kind.includes('?') ? '&' : '?'}from=${from}&to=${to}&engine=${engine}`;
}

// Syncs another brand into the same warehouse, from the first request to the publication of the replica.
async function besideSync(
  folder: string,
  origin: string,
  brandId: string,
  headers: Readonly<Record<string, string>>,
): Promise<{ p50: number; p99: number }> {
  const upstream = await startUpstream(60, 1000);
  const sync = startCli(folder, ['sync', '--json'], upstream.environment);
  try {
    let isRunning = true;
    void once(sync, 'exit').then(() => {
      isRunning = false;
    });
    return await waitsOf(origin, brandId, headers, () => isRunning);
  } finally {
    sync.kill('SIGKILL');
    upstream.process.kill('SIGKILL');
  }
}

function perSecond(rate: number): string {
  return `${Math.round(rate).toLocaleString('en-US')}/s`;
}

function part(own: number, whole: number): string {
  return `${Math.round((100 * own) / whole)} %`;
}
