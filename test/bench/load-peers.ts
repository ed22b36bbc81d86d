import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { DuckDBInstance } from '@duckdb/node-api';
import { Pool } from 'undici';
import { DAY_MS, dayOf } from '../../src/contract/time.ts';
import { freePort } from '../support/ports.ts';
import { firstLine, startCli, startServer } from './children.ts';
import { generate } from './generate.ts';
import { finish, type Measured, measureRequests, type Part, percentile, usageOf, withSpread } from './measure.ts';
import { type Peers, startPeer } from './peer-programs.ts';

const ROUNDS = 3;
const MEASURE_MS = 4_000;
const CLIENTS = [1, 16, 64];
/** Requests before the measurement, after which a server may prepare data in the background. */
const FIRST_REQUESTS = 30;
/** Days of their ranges, which are not requested later, and between them. */
const FIRST_DAYS = 5;
const FIRST_APART = 11;
/** A server is idle if it uses less than this part of a core. */
const IDLE_SHARE = 0.05;
const IDLE_CHECK_MS = 2_000;

/** A request for a range of days that the server was not asked for before. */
interface Question {
  readonly brandId: string;
  readonly from: string;
  /** The day after the last. */
  readonly until: string;
}

interface Server {
  readonly name: string;
  readonly origin: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly process: ReturnType<typeof spawn>;
  /** Requests by kind; null for a kind that the server does not answer. */
  readonly requests: Readonly<Record<Kind, ((question: Question) => { path: string; body?: string }) | null>>;
}

const KINDS = ['a page of 100 responses', 'metrics, first asked'] as const;
type Kind = (typeof KINDS)[number];

/** Requests of one kind with some clients. */
export interface Load {
  readonly kind: Kind;
  readonly clients: number;
  /** Requests per second of sightline : Datasette. */
  readonly toDatasette: number | null;
  /** Latencies of sightline, p99 : p50. */
  readonly tail: number;
}

/** Requests to a generated world with `responses` responses of one brand over 366 days. */
export async function loadPeers(
  folder: string,
  responses: number,
  peers: Peers,
  roundsOfEach = ROUNDS,
): Promise<Part<readonly Load[]>> {
  const { brandId, copy } = await generate(folder, responses);
  const servers = [await startSightline(folder)];
  try {
    if (!('missing' in peers)) {
      await exportParquet(copy, folder);
      servers.push(await startDatasette(folder, peers), await startRoapi(folder, peers));
    }
    const loads: Load[] = [];
    const lines = [`### Requests (${responses.toLocaleString('en-US')} responses of one brand, 366 days)`];
    for (const kind of KINDS) {
      const asked = new Map<Server, number>();
      const nextOf = (server: Server) => (): Question => {
        const number = asked.get(server) ?? 0;
        asked.set(server, number + 1);
        return questionOf(brandId, number);
      };
      const answering = servers.filter(({ requests }) => requests[kind] !== null);
      const prepared = await prepare(answering, kind, brandId);
      if (prepared >= 1)
        lines.push(
          '',
          `Before the measurement, sightline has used ${prepared.toFixed(0)} s of CPU time in the background after the first requests.`,
        );
      const names = answering.slice(1).map(({ name }) => `sightline : ${name}`);
      lines.push(
        '',
        `| ${kind}, requests per second | ${[...answering.map(({ name }) => name), ...names].join(' | ')} | p50 and p99 of sightline |`,
      );
      lines.push(`|${'---|'.repeat(answering.length + names.length + 2)}`);
      for (const clients of CLIENTS) {
        const rounds: Measured[][] = [];
        for (let round = 0; round < roundsOfEach; round++) {
          const measured: Measured[] = [];
          for (const server of answering) {
            const next = nextOf(server);
            const ask = (pool: Pool) => send(pool, server, kind, next());
            measured.push(await measureRequests(server.origin, { clients, ms: MEASURE_MS }, ask));
          }
          rounds.push(measured);
        }
        const rates = answering.map((_, index) =>
          withSpread(
            rounds.map((round) => round[index]?.rate ?? 0),
            0,
          ),
        );
        const ratios = answering
          .slice(1)
          .map((_, index) => rounds.map((round) => (round[0]?.rate ?? 0) / (round[index + 1]?.rate ?? 0)));
        const [own] = rounds.at(-1) as [Measured];
        const [datasette] = ratios;
        const toDatasette = datasette === undefined ? null : percentile(datasette, 0.5);
        loads.push({ kind, clients, toDatasette, tail: own.p99 / own.p50 });
        lines.push(
          `| ${clients} ${clients === 1 ? 'client' : 'clients'} | ${[...rates, ...ratios.map((ratio) => withSpread(ratio, 1))].join(' | ')} | ${own.p50.toFixed(0)} and ${own.p99.toFixed(0)} ms |`,
        );
      }
    }
    lines.push('', '| | peak memory |', '|---|---|');
    for (const { name, process: child } of servers)
      lines.push(`| ${name} | ${(await usageOf(child)).peakMb.toFixed(0)} MB |`);
    return { lines, figures: loads };
  } finally {
    for (const { process: child } of servers) child.kill('SIGKILL');
  }
}

// Sends the first requests to each server and waits until all are idle. Returns the CPU time that sightline has used, in seconds.
async function prepare(servers: readonly Server[], kind: Kind, brandId: string): Promise<number> {
  const cpuOf = async (): Promise<number[]> =>
    Promise.all(servers.map(async ({ process: child }) => (await usageOf(child)).cpu));
  for (const server of servers) {
    const pool = new Pool(server.origin, { connections: 1 });
    for (let request = 0; request < FIRST_REQUESTS; request++) {
      await send(pool, server, kind, rangeOf(brandId, FIRST_DAYS, request * FIRST_APART));
    }
    await pool.close();
  }
  const [after = 0] = await cpuOf();
  let used: number[];
  do {
    const start = await cpuOf();
    await delay(IDLE_CHECK_MS);
    used = (await cpuOf()).map((cpu, index) => cpu - (start[index] ?? 0));
  } while (used.some((cpu) => cpu >= (IDLE_SHARE * IDLE_CHECK_MS) / 1000));
  const [end = 0] = await cpuOf();
  return end - after;
}

export async function send(
  pool: Pool,
  { origin, headers, requests }: Server,
  kind: Kind,
  question: Question,
): Promise<void> {
  const { path, body } = (requests[kind] as (question: Question) => { path: string; body?: string })(question);
  const response = await pool.request({
    path,
    method: body === undefined ? 'GET' : 'POST',
    headers,
    ...(body === undefined ? {} : { body }),
  });
  const bytes = (await response.body.arrayBuffer()).byteLength;
  if (response.statusCode !== 200 || bytes < 100)
    throw new Error(`${origin}${path} returned ${response.statusCode}, ${bytes} bytes`);
}

export async function startSightline(folder: string): Promise<Server> {
  const key = await firstLine(startCli(folder, ['keys', 'create', 'bench']));
  const server = await startServer(folder);
  const path = (what: string, { brandId, from, until }: Question): { path: string } => {
    const to = dayOf(Date.parse(until) - DAY_MS);
    return { path: `/v1/brands/${brandId}/${what}from=${from}&to=${to}` };
  };
  return {
    name: 'sightline',
    ...server,
    headers: { authorization: `Bearer ${key}`, 'accept-encoding': 'identity' },
    requests: {
      'a page of 100 responses': (question) => path('responses?limit=100&', question),
      'metrics, first asked': (question) => path('metrics?', question),
    },
  };
}

async function startDatasette(folder: string, peers: Exclude<Peers, { missing: string }>): Promise<Server> {
  const file = join(folder, 'peer.db');
  await finish(
    spawn(peers.python, [peers.source('to_sqlite.py'), folder, file], { stdio: ['ignore', 'pipe', 'inherit'] }),
  );
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const settings = ['sql_time_limit_ms', '60000', 'max_returned_rows', '1000'];
  const args = ['serve', file, '--metadata', peers.source('metadata.json'), '--port', `${port}`];
  const child = await startPeer(
    peers.program('datasette'),
    [...args, '--setting', settings[0] ?? '', settings[1] ?? '', '--setting', settings[2] ?? '', settings[3] ?? ''],
    origin,
  );
  const path = (query: string, { brandId, from, until }: Question): { path: string } => ({
    path: `/peer/${query}.json?_shape=array&brand=${brandId}&from=${from}&until=${until}`,
  });
  return {
    name: 'Datasette',
    origin,
    headers: {},
    process: child,
    requests: {
      'a page of 100 responses': (question) => path('page', question),
      'metrics, first asked': (question) => path('metrics', question),
    },
  };
}

async function startRoapi(folder: string, peers: Exclude<Peers, { missing: string }>): Promise<Server> {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const tables = ['responses', 'competitors'].flatMap((name) => [
    '--table',
    `${name}=${join(folder, `${name}.parquet`)}`,
  ]);
  const free = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`] as const;
  const addresses = ['--addr-http', `127.0.0.1:${port}`, '--addr-postgres', free[0], '--addr-flight-sql', free[1]];
  const child = await startPeer(peers.program('roapi'), [...addresses, ...tables], `${origin}/api/schema`);
  const sql = ({ brandId, from, until }: Question): string => {
    const where = `brand_id = '${brandId}' AND created_at >= '${from}' AND created_at < '${until}'`;
    return `SELECT NULL AS competitor_id, count(*) AS responses, sum(CASE WHEN brand_mentioned THEN 1 ELSE 0 END) AS mentions, avg(brand_position) AS position
      FROM responses WHERE ${where} UNION ALL
      SELECT competitor_id, count(DISTINCT response_id), count(*), avg(position) FROM competitors WHERE ${where} GROUP BY competitor_id`;
  };
  return {
    name: 'ROAPI',
    origin,
    headers: {},
    process: child,
    requests: {
      'a page of 100 responses': null,
      'metrics, first asked': (question) => ({ path: '/api/sql', body: sql(question) }),
    },
  };
}

// Responses and their nested rows, sorted by brand and time. Times are texts, because SQLite has no type for them.
async function exportParquet(copy: string, folder: string): Promise<void> {
  const instance = await DuckDBInstance.create(copy, { access_mode: 'READ_ONLY' });
  const connection = await instance.connect();
  await connection.run("SET TimeZone = 'UTC'");
  const time = `strftime(created_at, '%Y-%m-%dT%H:%M:%S.%gZ') AS created_at`;
  for (const [name, columns, table] of [
    [
      'responses',
      'id::VARCHAR AS id, prompt_id::VARCHAR AS prompt_id, prompt, engine, brand_mentioned, brand_position, brand_sentiment',
      'responses',
    ],
    [
      'competitors',
      'response_id::VARCHAR AS response_id, ordinal, competitor_id::VARCHAR AS competitor_id, name, position, sentiment',
      'response_competitors',
    ],
    ['citations', 'response_id::VARCHAR AS response_id, ordinal, url, domain, title, position', 'response_citations'],
  ] as const) {
    await connection.run(`COPY (SELECT brand_id::VARCHAR AS brand_id, ${time}, ${columns} FROM ${table}
      ORDER BY brand_id, created_at) TO '${join(folder, `${name}.parquet`)}'`);
  }
  connection.closeSync();
  instance.closeSync();
}

// The first 6,600 ranges have 30 to 11 days, each with 330 last days. A faster server gets longer ones, up to a year.
export function questionOf(brandId: string, number: number): Question {
  let [days, daysAgo] = [30 - Math.floor(number / 330), number % 330];
  if (number >= 6_600) {
    [days, daysAgo] = [31, number - 6_600];
    for (; daysAgo >= 366 - days; days += 1) daysAgo -= 366 - days;
  }
  if (days >= 366) throw new Error('every range has been requested');
  return rangeOf(brandId, days, daysAgo);
}

function rangeOf(brandId: string, days: number, daysAgo: number): Question {
  const untilMs = Math.floor(Date.now() / DAY_MS) * DAY_MS - daysAgo * DAY_MS;
  return { brandId, from: dayOf(untilMs - days * DAY_MS), until: dayOf(untilMs) };
}
