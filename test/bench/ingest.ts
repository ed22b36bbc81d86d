import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { DuckDBInstance } from '@duckdb/node-api';
import { startCli, startServer, startUpstream, type Upstream } from './children.ts';
import { finish, usageOf } from './measure.ts';

/** Days of the sandbox, ending today. */
export const DAYS = 60;
/** Responses of each brand in `ingestInServe`. */
const BRAND_RESPONSES = 200_000;

/**
 * Syncs a sandbox with `responses` responses over HTTP without a rate limit, in its own process, and loads the same
 * responses from disk with bare DuckDB. Returns the figures as lines of text.
 */
export async function ingest(folder: string, responses: number): Promise<string[]> {
  const upstream = await startUpstream(DAYS, Math.ceil(responses / DAYS));
  try {
    const synced = await sync(folder, upstream);
    const saved = await savePages(folder, upstream);
    const bare = await loadBare(folder);
    const paces = await pacesOf(folder);
    if (bare.rows !== synced.rows) throw new Error(`sightline has ${synced.rows} responses, bare DuckDB ${bare.rows}`);
    const rate = (rows: number, seconds: number): string => `${Math.round(rows / seconds).toLocaleString('en-US')}/s`;
    return [
      `ingest of ${synced.rows.toLocaleString('en-US')} answers with their competitors and citations`,
      `  sightline, HTTP, ${synced.requests} requests, each page committed   ${synced.seconds.toFixed(1)} s   ${rate(synced.rows, synced.seconds)}   peak ${synced.peakMb} MB resident`,
      `  its pages of answers a second, tenth by tenth of the sync     ${paces.map((pace) => pace.toFixed(0)).join(' ')}`,
      `  the same pages over HTTP to disk, nothing else                ${saved.seconds.toFixed(1)} s   ${rate(synced.rows, saved.seconds)}`,
      `  DuckDB alone, from those files, one statement a table         ${bare.seconds.toFixed(1)} s   ${rate(bare.rows, bare.seconds)}`,
      `  sightline : DuckDB alone                                      ${(synced.seconds / bare.seconds).toFixed(1)} : 1`,
    ];
  } finally {
    upstream.process.kill('SIGKILL');
  }
}

/**
 * Syncs a sandbox within `serve`, as `sightline sync` does while a server is running, and measures the server's memory. The sandbox has several
 * brands, because it computes reports over more responses too slowly.
 */
export async function ingestInServe(folder: string, responses: number): Promise<string[]> {
  const brands = Math.ceil(responses / BRAND_RESPONSES);
  const upstream = await startUpstream(DAYS, Math.ceil(responses / brands / DAYS), brands);
  try {
    const { process: server } = await startServer(folder, ['--no-jobs'], upstream.environment);
    try {
      const idle = await usageOf(server);
      const synced = await sync(folder, upstream, server);
      return [
        `ingest of ${synced.rows.toLocaleString('en-US')} answers of ${brands} brands within serve`,
        `  ${synced.requests} requests, each page committed   ${synced.seconds.toFixed(1)} s   peak ${synced.peakMb} MB resident, before the sync ${Math.round(idle.peakMb)} MB`,
      ];
    } finally {
      server.kill('SIGTERM');
      await once(server, 'exit');
    }
  } finally {
    upstream.process.kill('SIGKILL');
  }
}

// Measures the memory of `server`, if a server carries out the sync.
async function sync(folder: string, upstream: Upstream, server?: ChildProcess) {
  const { output, seconds, peakMb } = await finish(startCli(folder, ['sync', '--json'], upstream.environment), server);
  const summary = JSON.parse(output) as {
    status: string;
    requests: number;
    tables: Record<string, { inserted: number }>;
  };
  if (summary.status !== 'complete') throw new Error(`sync status is ${summary.status}; expected complete`);
  const rows = summary.tables['responses']?.inserted ?? 0;
  return { rows, requests: summary.requests, seconds, peakMb: Math.round(peakMb) };
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

/** Reads all pages of responses into files, and does nothing else. */
export async function savePages(folder: string, { baseUrl, key }: Pick<Upstream, 'baseUrl' | 'key'>) {
  await mkdir(join(folder, 'pages'));
  const startedAt = performance.now();
  let requests = 0;
  const ask = async (path: string): Promise<string> => {
    requests += 1;
    return (await fetch(`${baseUrl}${path}`, { headers: { authorization: `Bearer ${key}` } })).text();
  };
  const brands = JSON.parse(await ask('/brands')) as { data: { id: string }[] };
  const today = Date.now();
  const days = Array.from({ length: DAYS }, (_, index) =>
    new Date(today - index * 86_400_000).toISOString().slice(0, 10),
  );
  const chains = Array.from({ length: 8 }, async (_, chain) => {
    const file = createWriteStream(join(folder, 'pages', `${chain}.ndjson`));
    for (let index = chain; index < days.length; index += 8) {
      const day = days[index] as string;
      for (let cursor: string | null = ''; cursor !== null;) {
        const query = new URLSearchParams({ from: day, to: day, limit: '100', ...(cursor === '' ? {} : { cursor }) });
        const body = await ask(`/brands/${brands.data[0]?.id}/responses?${query}`);
        file.write(`${body}\n`);
        cursor = (JSON.parse(body) as { nextCursor: string | null }).nextCursor;
      }
    }
    file.end();
    await finished(file);
  });
  await Promise.all(chains);
  return { seconds: (performance.now() - startedAt) / 1000, requests };
}

const item = `{"id":"UUID","promptId":"UUID","prompt":"VARCHAR","engine":"VARCHAR","createdAt":"TIMESTAMP",
  "brandMentioned":"BOOLEAN","brandPosition":"BIGINT","brandSentiment":"VARCHAR",
  "competitors":[{"competitorId":"UUID","name":"VARCHAR","position":"BIGINT","sentiment":"VARCHAR"}],
  "citations":[{"url":"VARCHAR","domain":"VARCHAR","title":"VARCHAR","position":"BIGINT"}]}`;

/** Loads the files of `savePages` into DuckDB, a statement for each table. */
export async function loadBare(folder: string): Promise<{ rows: number; seconds: number }> {
  const instance = await DuckDBInstance.create(join(folder, 'bare.duckdb'));
  const connection = await instance.connect();
  const startedAt = performance.now();
  const struct = `STRUCT(${Object.entries(JSON.parse(item) as Record<string, unknown>)
    .map(([name, type]) => `"${name}" ${sqlType(type)}`)
    .join(', ')})`;
  const source = `(SELECT unnest(data, max_depth := 1) AS r FROM read_json('${folder}/pages/*.ndjson',
    format = 'newline_delimited', maximum_object_size = 67108864, columns = {data: '${struct}[]'}))`;
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

function sqlType(type: unknown): string {
  if (typeof type === 'string') return type;
  const [fields] = type as [Record<string, string>];
  return `STRUCT(${Object.entries(fields)
    .map(([name, kind]) => `"${name}" ${kind}`)
    .join(', ')})[]`;
}
