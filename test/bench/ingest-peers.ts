import { spawn } from 'node:child_process';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { startCli, startScript, startUpstream } from './children.ts';
import { DAYS, loadBare } from './ingest.ts';
import { finish, type Usage } from './measure.ts';
import type { Peers } from './peer-programs.ts';

interface Row extends Usage {
  readonly name: string;
  readonly requests: number | null;
  readonly seconds: number;
  readonly bytes: number | null;
}

/** A first sync of a sandbox with `responses` responses. */
export async function ingestPeers(folder: string, responses: number, peers: Peers): Promise<string[]> {
  const upstream = await startUpstream(DAYS, Math.ceil(responses / DAYS));
  const rows: Row[] = [];
  let stored = 0;
  try {
    const synced = await finish(startCli(folder, ['sync', '--json'], upstream.environment));
    const summary = JSON.parse(synced.output) as { requests: number; tables: Record<string, { inserted: number }> };
    stored = summary.tables['responses']?.inserted ?? 0;
    rows.push({
      name: 'sightline',
      ...synced,
      requests: summary.requests,
      bytes: await bytesIn(join(folder, 'default')),
    });
    const loop = await finish(startScript('page-loop.js', [upstream.baseUrl, upstream.key, folder, `${DAYS}`]));
    const { requests } = JSON.parse(loop.output) as { requests: number };
    rows.push({
      name: 'bare Node loop: responses to files',
      ...loop,
      requests,
      bytes: await bytesIn(join(folder, 'pages')),
    });
    const before = process.cpuUsage();
    const bare = await loadBare(folder);
    const { user, system } = process.cpuUsage(before);
    const cpu = (user + system) / 1e6;
    rows.push({
      name: 'DuckDB alone, from those files',
      cpu,
      peakMb: 0,
      seconds: bare.seconds,
      requests: null,
      bytes: null,
    });
    if (bare.rows !== stored) throw new Error(`sightline has ${stored} responses, bare DuckDB ${bare.rows}`);
    if (!('missing' in peers)) {
      await mkdir(join(folder, 'dlt'));
      const file = join(folder, 'dlt/peer.duckdb');
      const args = [peers.source('pipeline.py'), upstream.baseUrl, upstream.key, file, `${DAYS}`];
      const run = await finish(spawn(peers.python, args, { stdio: ['ignore', 'pipe', 'pipe'] }));
      const loaded = JSON.parse(run.output.trim().split('\n').at(-1) ?? '') as { requests: number; responses: number };
      if (loaded.responses !== stored) throw new Error(`sightline has ${stored} responses, dlt ${loaded.responses}`);
      rows.push({ name: 'dlt', ...run, requests: loaded.requests, bytes: (await stat(file)).size });
    }
  } finally {
    upstream.process.kill('SIGKILL');
  }
  const [own] = rows as [Row];
  return [
    `### First sync (${stored.toLocaleString('en-US')} responses, ${DAYS} days)`,
    '',
    '| | requests | CPU | sightline : this | peak memory | on disk |',
    '|---|---|---|---|---|---|',
    ...rows.map(
      ({ name, requests, cpu, peakMb, bytes }) =>
        `| ${name} | ${requests?.toLocaleString('en-US') ?? ''} | ${cpu.toFixed(1)} s | ${(own.cpu / cpu).toFixed(1)} : 1 | ${peakMb === 0 ? '' : `${peakMb.toFixed(0)} MB`} | ${bytes === null ? '' : `${(bytes / 1e6).toFixed(0)} MB`} |`,
    ),
  ];
}

async function bytesIn(folder: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) bytes += (await stat(join(entry.parentPath, entry.name))).size;
  }
  return bytes;
}
