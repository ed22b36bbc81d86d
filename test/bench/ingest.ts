import { spawn } from 'node:child_process';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { startCli, startScript, startUpstream, type Upstream } from './children.ts';
import { finish, type Part, type Usage } from './measure.ts';
import type { Peers } from './peer-programs.ts';

/** Days of the sandbox, ending today. */
const DAYS = 60;

interface Row extends Usage {
  readonly name: string;
  readonly requests: number | null;
  readonly seconds: number;
  readonly bytes: number | null;
}

export interface IngestFigures {
  readonly requests: number;
  /** CPU time of sightline : the bare loop and DuckDB. */
  readonly toBare: number;
  /** CPU time of sightline : dlt; null if it is not installed. */
  readonly toDlt: number | null;
  /** Bytes of the warehouse : Parquet files of all its tables, compressed with zstd. */
  readonly toParquet: number;
}

/**
 * Syncs a sandbox with `responses` responses over HTTP without a rate limit, in its own process, and compares it with a loop that only
 * saves the pages, with bare DuckDB that loads them from disk, and with dlt if it is installed. Returns a Markdown section.
 */
export async function ingest(
  folder: string,
  responses: number,
  peers: Peers = { missing: 'only sightline is measured' },
  brands = 1,
): Promise<Part<IngestFigures>> {
  const upstream = await startUpstream({ days: DAYS, responsesPerDay: Math.ceil(responses / brands / DAYS), brands });
  try {
    const synced = await sync(folder, upstream);
    const own: Row = { name: 'sightline', ...synced, bytes: await bytesIn(join(folder, 'default')) };
    const rows = [own];
    const add = (name: string, row: Omit<Row, 'name'>, stored = synced.rows): void => {
      if (stored !== synced.rows) throw new Error(`sightline has ${synced.rows} responses, ${name} ${stored}`);
      rows.push({ name, ...row });
    };
    const loop = await finish(startScript('page-loop.js', [upstream.baseUrl, upstream.key, folder, `${DAYS}`]));
    add('bare Node loop: responses to files', {
      ...loop,
      requests: (JSON.parse(loop.output) as { requests: number }).requests,
      bytes: await bytesIn(join(folder, 'pages')),
    });
    const before = process.cpuUsage();
    const bare = await loadBare(folder);
    const { user, system } = process.cpuUsage(before);
    const used = { cpu: (user + system) / 1e6, peakMb: 0, seconds: bare.seconds, requests: null, bytes: null };
    add('DuckDB alone, from those files', used, bare.rows);
    const toBare = own.cpu / (loop.cpu + used.cpu);
    let toDlt: number | null = null;
    if (!('missing' in peers)) {
      await mkdir(join(folder, 'dlt'));
      const file = join(folder, 'dlt/peer.duckdb');
      const args = [peers.source('pipeline.py'), upstream.baseUrl, upstream.key, file, `${DAYS}`];
      const run = await finish(spawn(peers.python, args, { stdio: ['ignore', 'pipe', 'pipe'] }));
      const loaded = JSON.parse(run.output.trim().split('\n').at(-1) ?? '') as { requests: number; responses: number };
      add('dlt', { ...run, requests: loaded.requests, bytes: (await stat(file)).size }, loaded.responses);
      toDlt = own.cpu / run.cpu;
    }
    const paces = await pacesOf(folder);
    const toParquet = await diskRatio(join(folder, 'default/warehouse.duckdb'), join(folder, 'parquet'));
    const lines = [
      `### First sync (${synced.rows.toLocaleString('en-US')} responses, ${DAYS} days)`,
      '',
      '| | requests | time | CPU | sightline : this | peak memory | on disk |',
      '|---|---|---|---|---|---|---|',
      ...rows.map(
        ({ name, requests, seconds, cpu, peakMb, bytes }) =>
          `| ${name} | ${requests?.toLocaleString('en-US') ?? ''} | ${seconds.toFixed(1)} s | ${cpu.toFixed(1)} s | ${(own.cpu / cpu).toFixed(1)} : 1 | ${peakMb === 0 ? '' : `${peakMb.toFixed(0)} MB`} | ${bytes === null ? '' : `${(bytes / 1e6).toFixed(0)} MB`} |`,
      ),
      '',
      `Pages of responses per second, for each tenth of the sync: ${paces.map((pace) => pace.toFixed(0)).join(' ')}`,
      `The warehouse on disk : Parquet of all its tables (zstd): ${toParquet.toFixed(1)} : 1`,
    ];
    return { lines, figures: { requests: synced.requests, toBare, toDlt, toParquet } };
  } finally {
    upstream.process.kill('SIGKILL');
  }
}

async function sync(folder: string, upstream: Upstream) {
  const { output, ...used } = await finish(startCli(folder, ['sync', '--json'], upstream.environment));
  const summary = JSON.parse(output) as {
    status: string;
    requests: number;
    tables: Record<string, { inserted: number }>;
  };
  if (summary.status !== 'complete') throw new Error(`sync status is ${summary.status}; expected complete`);
  const rows = summary.tables['responses']?.inserted ?? 0;
  return { rows, requests: summary.requests, ...used };
}

// Response pages per second for each tenth of the pages, in request order.
async function pacesOf(folder: string): Promise<number[]> {
  const instance = await DuckDBInstance.create(join(folder, 'default/warehouse.duckdb'), {
    access_mode: 'READ_ONLY',
  });
  const connection = await instance.connect();
  const tenths = await connection.runAndReadAll(`SELECT count(*), date_diff('millisecond', min(sent_at), max(sent_at))
    FROM (SELECT sent_at, ntile(10) OVER (ORDER BY sent_at) AS tenth FROM sync.requests WHERE resource = 'responses')
    GROUP BY tenth ORDER BY tenth`);
  const rows = tenths.getRows();
  connection.closeSync();
  instance.closeSync();
  return rows.map(([pages, milliseconds]) => (Number(pages) * 1000) / Number(milliseconds));
}

const ITEM = `STRUCT(id UUID, "promptId" UUID, prompt VARCHAR, engine VARCHAR, "createdAt" TIMESTAMP,
  "brandMentioned" BOOLEAN, "brandPosition" BIGINT, "brandSentiment" VARCHAR,
  competitors STRUCT("competitorId" UUID, name VARCHAR, position BIGINT, sentiment VARCHAR)[],
  citations STRUCT(url VARCHAR, domain VARCHAR, title VARCHAR, position BIGINT)[])`;

/** Loads the files of the bare loop into DuckDB, a statement for each table. */
async function loadBare(folder: string): Promise<{ rows: number; seconds: number }> {
  const instance = await DuckDBInstance.create(join(folder, 'bare.duckdb'));
  const connection = await instance.connect();
  const startedAt = performance.now();
  const source = `(SELECT unnest(data, max_depth := 1) AS r FROM read_json('${folder}/pages/*.ndjson',
    format = 'newline_delimited', maximum_object_size = 67108864, columns = {data: '${ITEM}[]'}))`;
  await connection.run(`CREATE TABLE responses AS
    SELECT r.id, r."promptId", r.prompt, r.engine, r."createdAt", r."brandMentioned", r."brandPosition", r."brandSentiment"
    FROM ${source}`);
  for (const child of ['competitors', 'citations']) {
    await connection.run(`CREATE TABLE ${child} AS SELECT id, "promptId", engine, "createdAt", unnest(items, recursive := true)
      FROM (SELECT r.id, r."promptId", r.engine, r."createdAt", unnest(r.${child}) AS items FROM ${source})`);
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const counted = await connection.runAndReadAll('SELECT count(*) FROM responses');
  connection.closeSync();
  instance.closeSync();
  return { rows: Number(counted.getRows()[0]?.[0]), seconds };
}

async function diskRatio(warehouse: string, parquet: string): Promise<number> {
  const instance = await DuckDBInstance.create(warehouse, { access_mode: 'READ_ONLY' });
  const connection = await instance.connect();
  await connection.run(`EXPORT DATABASE '${parquet}' (FORMAT parquet, COMPRESSION zstd)`);
  connection.closeSync();
  instance.closeSync();
  return (await stat(warehouse)).size / (await bytesIn(parquet));
}

/** Total size of the files in a folder and its subfolders. */
async function bytesIn(folder: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) bytes += (await stat(join(entry.parentPath, entry.name))).size;
  }
  return bytes;
}
