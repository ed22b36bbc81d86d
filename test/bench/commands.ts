import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../support/ports.ts';
import { startCli, startServer, startUpstream } from './children.ts';
import { generate } from './generate.ts';
import { questionOf, send, startSightline } from './load-peers.ts';
import { finish, measureRequests, type Part, percentile, usageOf } from './measure.ts';

const WORLD = { brands: 2, days: 60, responsesPerDay: 75 };
const COMMANDS = { version: ['--version'], sql: ['sql', 'select 1'], status: ['status'] } as const;
const RUNS = 3;
/** Such commands end within tenths of a second. */
const SAMPLE_MS = 5;
const LOOK_EVERY_MS = 5;
const IDLE_AFTER_MS = 5_000;
const LOAD = { clients: 16, ms: 5_000 };

export interface CommandFigures {
  readonly announced: { readonly requests: number; readonly least: number; readonly most: number | null };
  readonly sent: number;
  /** CPU time in seconds. */
  readonly cpu: Readonly<Record<keyof typeof COMMANDS, number>>;
  /** Time from the start of `serve` to /livez. */
  readonly liveMs: number;
  readonly idleMb: number;
  readonly peakMb: number;
}

/** Measures a plan and its sync, short commands on its data, and `serve` with `responses` generated responses. */
export async function commandFigures(folder: string, responses: number): Promise<Part<CommandFigures>> {
  const [synced, served] = [join(folder, 'synced'), join(folder, 'served')];
  await Promise.all([synced, served].map((path) => mkdir(path)));
  const { announced, sent } = await price(synced);
  const cpuOf = async (args: readonly string[]): Promise<number> => {
    const runs: number[] = [];
    for (let run = 0; run < RUNS; run++) runs.push((await finish(startCli(synced, args), SAMPLE_MS)).cpu);
    return percentile(runs, 0.5);
  };
  const cpu = {
    version: await cpuOf(COMMANDS.version),
    sql: await cpuOf(COMMANDS.sql),
    status: await cpuOf(COMMANDS.status),
  };
  const { brandId } = await generate(served, responses);
  const { liveMs, idleMb } = await startOfServer(served);
  const peakMb = await peakOfServer(served, brandId);
  const lines = [
    `first sync: ${announced.requests} requests announced (${announced.least} to ${announced.most ?? 'more'}), ${sent} sent`,
    `CPU of --version ${cpu.version.toFixed(2)} s, sql "select 1" ${cpu.sql.toFixed(2)} s, status ${cpu.status.toFixed(2)} s: medians of ${RUNS}`,
    `serve with ${responses.toLocaleString('en-US')} responses: /livez after ${liveMs.toFixed(0)} ms, idle ${idleMb.toFixed(0)} MB, peak with ${LOAD.clients} clients ${peakMb.toFixed(0)} MB resident`,
  ];
  return { lines, figures: { announced, sent, cpu, liveMs, idleMb, peakMb } };
}

async function price(folder: string): Promise<Pick<CommandFigures, 'announced' | 'sent'>> {
  const upstream = await startUpstream(WORLD);
  try {
    const run = async <T>(...args: string[]): Promise<T> =>
      JSON.parse((await finish(startCli(folder, [...args, '--json'], upstream.environment))).output) as T;
    const announced = await run<CommandFigures['announced']>('plan');
    const { requests } = await run<{ requests: number }>('sync');
    return { announced, sent: requests };
  } finally {
    upstream.process.kill('SIGKILL');
  }
}

async function startOfServer(folder: string): Promise<Pick<CommandFigures, 'liveMs' | 'idleMb'>> {
  const port = await freePort();
  const startedAt = performance.now();
  const starting = startServer(folder, ['--port', `${port}`]);
  const isLive = (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${port}/livez`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isLive())) await delay(LOOK_EVERY_MS);
  const liveMs = performance.now() - startedAt;
  const { process: server } = await starting;
  await delay(IDLE_AFTER_MS);
  const { residentMb } = await usageOf(server);
  server.kill('SIGKILL');
  return { liveMs, idleMb: residentMb };
}

async function peakOfServer(folder: string, brandId: string): Promise<number> {
  const server = await startSightline(folder);
  let number = 0;
  try {
    await measureRequests(server.origin, LOAD, (pool) =>
      send(pool, server, 'a page of 100 responses', questionOf(brandId, number++)),
    );
    return (await usageOf(server.process)).peakMb;
  } finally {
    server.process.kill('SIGKILL');
  }
}
