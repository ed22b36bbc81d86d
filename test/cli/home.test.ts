import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import { openWarehouse } from '../../src/warehouse/warehouse.ts';
import { expectConsistent, expectEqualToUpstream } from '../support/compare.ts';
import { temporaryFolder } from '../support/folders.ts';
import { S3_KEY, type S3Server, startS3Server } from '../support/s3-server.ts';
import type { TestWorkspace } from '../support/workspace.ts';
import { type CliWorkspace, type Finished, openCli, type Running, startCli } from './helpers.ts';

/** How often a worker is killed; `HOME_KILLS=50` for the long proof. */
const KILLS = Number(process.env['HOME_KILLS'] ?? 3);
const LIFE_MS = { least: 900, most: 4_500 };
/** Requests under way at once, and the description, which is no page. */
const IN_FLIGHT = 8 + 1;

/** Machines that share nothing but the bucket. */
interface Machine {
  readonly folder: string;
  start(...args: string[]): Running;
  run(...args: string[]): Promise<Finished>;
}

async function startStore(): Promise<S3Server> {
  const server = await startS3Server();
  onTestFinished(() => server.close());
  return server;
}

async function machineOf(cli: CliWorkspace, server: S3Server, changes: object = {}): Promise<Machine> {
  const folder = await temporaryFolder();
  await mkdir(folder, { recursive: true });
  const bucket = { kind: 's3', bucket: server.bucket, prefix: 'all', endpoint: server.endpoint };
  await writeFile(join(folder, 'sightline.config.json'), JSON.stringify({ home: bucket, ...changes }));
  const surroundings = { cwd: folder, env: { ...cli.env, ...S3_KEY } };
  const start = (...args: string[]): Running => startCli(args, surroundings);
  return { folder, start, run: (...args) => start(...args).finished };
}

const HOME = 'all/default/home/home.json';

// As if all had been silent for longer than a claim holds.
function letClaimRunOut(server: S3Server): void {
  const found = server.objects.get(HOME);
  if (found !== undefined) server.objects.set(HOME, { ...found, modified: new Date(Date.now() - 60_000) });
}

test(`kill -9 of ${KILLS} workers: another machine goes on at the page after the last, nothing is lost or doubled`, {
  timeout: 60_000 + KILLS * 20_000,
}, async () => {
  const now = Date.now();
  const cli = await openCli({ brands: 1, prompts: 3, days: 10, responsesPerDay: 150, latencyMs: 15, clock: () => now });
  const server = await startStore();
  let killed = 0;
  let asked = 0;
  for (let round = 1; ; round++) {
    const machine = await machineOf(cli, server);
    const { process: child, finished } = machine.start('sync', '--json');
    if (killed < KILLS) {
      await Promise.race([finished, delay(momentOf(round))]);
      child.kill('SIGKILL');
    }
    const { code, signal, stderr, stdout } = await finished;
    letClaimRunOut(server);
    if (signal !== null) {
      killed += 1;
      asked = cli.sandbox.requests.length;
      continue;
    }
    expect(code, stderr + stdout).toBe(0);
    expect((await readdir(join(machine.folder, 'data', 'default'))).sort()).toContain('warehouse.duckdb');
    if (killed < KILLS) {
      cli.sandbox.world.advance({ days: 1, lateAnswers: 20, editedResponses: 10 });
      continue;
    }
    await inside(cli, machine, async (workspace) => {
      const [sum] = await workspace.query('SELECT count(*) AS kept FROM sync.requests');
      const lost = cli.sandbox.requests.length - Number(sum?.['kept']);
      expect(lost, 'requests that left nothing').toBeLessThanOrEqual(killed * IN_FLIGHT);
      await expectConsistent(workspace as TestWorkspace);
      expect(await workspace.query(ASKED_TWICE), 'pages kept and asked for again').toEqual([]);
      await expectEqualToUpstream(workspace as TestWorkspace);
    });
    break;
  }
  expect(asked).toBeGreaterThan(0);
});

const ASKED_TWICE = `SELECT path, query, count(*) AS times FROM sync.requests JOIN sync.runs USING (run_id)
  WHERE resource = 'responses' AND sync.requests.status = 200 GROUP BY pass_id, path, query HAVING count(*) > 1`;

function momentOf(round: number): number {
  const share = (round * 0.618_033_988_749_894_9) % 1;
  return LIFE_MS.least + share * (LIFE_MS.most - LIFE_MS.least);
}

type Inside = Pick<TestWorkspace, 'sandbox' | 'catalogue' | 'query'>;

async function inside(
  { sandbox }: CliWorkspace,
  { folder }: Machine,
  look: (workspace: Inside) => Promise<unknown>,
): Promise<void> {
  const catalogue = createCatalogue(declarations);
  const { database, close } = await openWarehouse(join(folder, 'data', 'default', 'warehouse.duckdb'), catalogue, {});
  try {
    await look({ sandbox, catalogue, query: (sql) => database.exclusive((session) => session.all(sql)) });
  } finally {
    await close();
  }
}
