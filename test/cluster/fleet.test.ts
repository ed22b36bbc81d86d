import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { Pointer } from '../../src/lake/pointer.ts';
import type { RemoteRecord } from '../../src/remote/remote-record.ts';
import type { RunnerState } from '../../src/scheduler/runner.ts';
import type { Manifest } from '../../src/snapshot/manifest.ts';
import { openReader } from '../../src/warehouse/reader.ts';
import { mostInAnyMinute } from '../budget/simulation.ts';
import { temporaryFolder } from '../support/folders.ts';
import { disabledJobs } from '../support/jobs.ts';
import { type OwnPostgres, startPostgres } from '../support/postgres.ts';
import { type Fault, S3_KEY, type S3Server, startS3Server } from '../support/s3-server.ts';
import { type Fleet, type Started, startFleet } from './fleet.ts';

// Both tests take many minutes of real time: SIGHTLINE_CLUSTER=1 npx vitest run ... test/cluster/fleet.test.ts
const isWanted = process.env['SIGHTLINE_CLUSTER'] === '1';
const numberOf = (name: string, standard: number): number => Number(process.env[name] ?? standard);
const KEYS = numberOf('SIGHTLINE_CLUSTER_KEYS', 300);
const WORKERS = 4;
/** Requests per minute of each key: fewer than a first sync needs, so that it has to wait. */
const LIMIT = 30;
const MINUTES_MAX = 40;
/** Workspaces and duration of the run with injected failures. */
const TROUBLED = numberOf('SIGHTLINE_CLUSTER_TROUBLED', 40);
const TROUBLE_SECONDS = numberOf('SIGHTLINE_CLUSTER_SECONDS', 150);
const KINDS = 3;
/** Concurrent requests of a sync, plus the API description, which is not a page. */
const IN_FLIGHT = 8 + 1;

const startedAt = Date.now();
const size = { brands: 1, prompts: 2, days: 3 } as const;
// Disabled, because scheduled jobs would send more requests when they are due.
const quiet = { ...disabledJobs, nightly: { cron: '0 0 1 1 *' } };
const readOnly = { jobs: { ...quiet, take: { cron: '0 0 1 1 *', steps: [{ do: 'sync' }] } } };

async function postgresOf(skip: (why: string) => never): Promise<OwnPostgres> {
  const postgres = await startPostgres();
  if (typeof postgres === 'string') return skip(postgres);
  onTestFinished(() => postgres.close());
  return postgres;
}

async function fleetOf(options: Parameters<typeof startFleet>[0]): Promise<Fleet> {
  const fleet = await startFleet(options);
  onTestFinished(() => fleet.close());
  return fleet;
}

const sentBy = ({ sandboxes }: Fleet): number[] => [...sandboxes.values()].map(({ requests }) => requests.length);
const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

async function requestsAlone(settings: Readonly<Record<string, unknown>>, job: string): Promise<readonly number[]> {
  const fleet = await startFleet({ workspaces: KINDS, settings, sandboxOf: (index) => sandboxOf(index, 100_000) });
  try {
    const names = [...fleet.sandboxes.keys()];
    await Promise.all(names.map((name) => fleet.run('jobs', 'run', job, '--workspace', name)));
    return sentBy(fleet);
  } finally {
    await fleet.close();
  }
}

function sandboxOf(index: number, rateLimit: number) {
  const window = index % 2 === 0 ? ('sliding' as const) : ('fixed' as const);
  return { ...size, seed: (index % KINDS) + 1, rateLimit, window, latencyMs: 20, clock: () => startedAt };
}

// Waits until all requested tasks have ended and returns the last state.
async function untilAllEnded(fleet: Fleet, isDone: (state: RunnerState) => boolean): Promise<RunnerState> {
  for (let looks = 0; looks < MINUTES_MAX * 12; looks++) {
    const text = await fleet.run('cluster', 'status', '--json', '--limit', '1').catch(() => null);
    const state = text === null ? null : (JSON.parse(text) as { queue: RunnerState }).queue;
    if (state !== null && isDone(state)) return state;
    await delay(5_000);
  }
  throw new Error(`not done after ${MINUTES_MAX} minutes`);
}

const isIdle = ({ counts }: RunnerState): boolean => counts.waiting + counts.active === 0;

async function stopAll(workers: Iterable<Started>): Promise<void> {
  for (const { process: child, ended, lines } of workers) {
    child.kill('SIGTERM');
    expect(await ended, lines.slice(-20).join('\n')).toBe(0);
  }
}

test.skipIf(!isWanted)(
  `${KEYS} keys on ${WORKERS} workers: no request is answered by 429 or sent twice, and every row arrives`,
  { timeout: MINUTES_MAX * 60_000 },
  async ({ skip }) => {
    const postgres = await postgresOf(skip);
    const alone = await requestsAlone(readOnly, 'take');
    const options = { workspaces: KEYS, settings: readOnly, databaseUrl: postgres.url() };
    const fleet = await fleetOf({ ...options, sandboxOf: (index) => sandboxOf(index, LIMIT) });
    const began = Date.now();
    await fleet.run('cluster', 'enqueue', 'take');
    const workers = Array.from({ length: WORKERS }, (_, index) =>
      fleet.start('worker', '--name', `worker-${index}`, '--concurrency', '24'),
    );
    await untilAllEnded(fleet, isIdle);
    const seconds = Math.round((Date.now() - began) / 1000);
    await stopAll(workers);
    const sent = sum(sentBy(fleet));
    const wanted = sum([...fleet.sandboxes].map((_, index) => alone[index % KINDS] ?? 0));
    const counts = [...fleet.sandboxes.values()].map(({ counts: own, requests }) => {
      const most = mostInAnyMinute(requests.map(({ atMs }) => atMs));
      return { refused: own.byStatus['429'] ?? 0, most };
    });
    const refused = sum(counts.map((one) => one.refused));
    const most = Math.max(...counts.map((one) => one.most));
    process.stdout.write(`${JSON.stringify({ keys: KEYS, sent, wanted, refused, most, limit: LIMIT, seconds })}\n`);
    expect(refused).toBe(0);
    expect(most).toBeLessThanOrEqual(LIMIT);
    expect(sent).toBeLessThanOrEqual(1.02 * wanted);
    // The same sandboxes without a limit, because comparing sends many more requests than syncing.
    const twins = await fleetOf({ workspaces: KINDS, sandboxOf: (index) => sandboxOf(index, 10_000) });
    let rows = 0;
    for (const [index, name] of [...fleet.sandboxes.keys()].entries()) {
      rows += await fleet.compare(name, { upstream: [...twins.sandboxes.values()][index % KINDS] });
    }
    process.stdout.write(`${JSON.stringify({ rows })}\n`);
  },
);

test.skipIf(!isWanted)(
  `${TROUBLED} workspaces in a bucket on ${WORKERS} machines with injected failures: nothing is lost, duplicated or published twice`,
  { timeout: MINUTES_MAX * 60_000 },
  async ({ skip }) => {
    const postgres = await postgresOf(skip);
    const store = await startS3Server();
    onTestFinished(() => store.close());
    const bucket = { kind: 's3', bucket: store.bucket, endpoint: store.endpoint };
    const settings = { jobs: quiet, remote: { ...bucket, prefix: 'homes' }, publish: { ...bucket, prefix: 'lake' } };
    const fleet = await fleetOf({
      workspaces: TROUBLED,
      settings,
      environment: S3_KEY,
      databaseUrl: postgres.url(),
      sandboxOf: (index) => sandboxOf(index, 600),
    });
    await fleet.run('cluster', 'enqueue', 'nightly');
    const workers = new Map<string, Started>();
    const begin = async (name: string): Promise<void> => {
      workers.set(name, await fleet.startOn(name, 'worker', '--name', name, '--concurrency', '4'));
    };
    for (let index = 0; index < WORKERS; index++) await begin(`machine-${index}`);
    const told = await trouble({ postgres, store, workers, begin });
    store.fault = () => null;
    await untilAllEnded(fleet, isIdle);
    // A run fails if upstream or the store did not respond, as it should. The next run makes up for it.
    await fleet.run('cluster', 'enqueue', 'nightly');
    await untilAllEnded(fleet, isIdle);
    const lines = [...workers.values(), ...told.gone].flatMap((worker) => worker.lines);
    await stopAll(workers.values());
    const begun = lines.filter((line) => line.includes(' starts"')).length;
    const places = await temporaryFolder();
    await mkdir(places, { recursive: true });
    let [rows, lost] = [0, 0];
    for (const [name, sandbox] of fleet.sandboxes) {
      const warehouse = await checkedIn(store, name, places);
      const [kept] = await ask(warehouse, 'SELECT count(*) FROM sync.requests');
      lost += sandbox.requests.length - Number(kept?.[0]);
      rows += await fleet.compare(name, { warehouse });
      expect(await ask(warehouse, ASKED_TWICE), `${name}: stored pages that were requested again`).toEqual([]);
      await expectPublished(store, name, warehouse);
    }
    const summary = { workspaces: TROUBLED, rows, ...told.counts, begun, requestsThatLeftNothing: lost };
    process.stdout.write(`${JSON.stringify(summary)}\n`);
    expect(lost).toBeLessThanOrEqual((begun - 2 * TROUBLED) * IN_FLIGHT);
  },
);

interface Surroundings {
  readonly postgres: OwnPostgres;
  readonly store: S3Server;
  readonly workers: Map<string, Started>;
  begin(name: string): Promise<void>;
}

// Injects another failure every few seconds until the time is up. Afterwards everything works again.
async function trouble({ postgres, store, workers, begin }: Surroundings) {
  const gone: Started[] = [];
  const counts = { killed: 0, paused: 0, databaseStopped: 0, storeTroubled: 0 };
  const until = Date.now() + TROUBLE_SECONDS * 1_000;
  const anyOne = (): [string, Started] => [...workers][Math.floor(Math.random() * workers.size)] as [string, Started];
  const paused: Promise<unknown>[] = [];
  const kinds = [
    async () => {
      const [name, worker] = anyOne();
      worker.process.kill('SIGKILL');
      await worker.ended;
      gone.push(worker);
      counts.killed += 1;
      await begin(name);
    },
    async () => {
      const [, worker] = anyOne();
      worker.process.kill('SIGSTOP');
      counts.paused += 1;
      // Longer than any lease.
      paused.push(delay(32_000).then(() => worker.process.kill('SIGCONT')));
    },
    async () => {
      await postgres.stop();
      counts.databaseStopped += 1;
      await delay(6_000);
      await postgres.start();
    },
    async () => {
      const faults: readonly (Fault | null)[] = ['busy', 'cut before', 'cut after body', 'cut after', null, null, null];
      store.fault = () => faults[Math.floor(Math.random() * faults.length)] ?? null;
      counts.storeTroubled += 1;
      await delay(8_000);
      store.fault = () => null;
    },
  ];
  for (let round = 0; Date.now() < until; round++) {
    await delay(4_000);
    await kinds[round % kinds.length]?.();
  }
  await Promise.all(paused);
  return { gone, counts };
}

const ASKED_TWICE = `SELECT path, query, count(*) AS times FROM sync.requests JOIN sync.runs USING (run_id)
  WHERE resource = 'responses' AND sync.requests.status = 200 GROUP BY pass_id, path, query HAVING count(*) > 1`;

// Writes the file that readers of a remote warehouse get, and returns its path.
async function checkedIn({ objects }: S3Server, name: string, folder: string): Promise<string> {
  const remote = `homes/${name}/home/`;
  const { checkedIn: base } = JSON.parse(String(objects.get(`${remote}home.json`)?.body)) as RemoteRecord;
  const path = join(folder, `${name}.duckdb`);
  const body = objects.get(remote + base?.key)?.body ?? Buffer.alloc(0);
  expect(createHash('sha256').update(body).digest('hex'), `${name}: the file of the last check-in`).toBe(base?.sha256);
  await writeFile(path, body);
  return path;
}

async function ask(path: string, sql: string): Promise<readonly (readonly unknown[])[]> {
  const reader = await openReader(path);
  try {
    return (await reader.query(sql)).rows;
  } finally {
    reader.close();
  }
}

// Expects that the latest snapshot is complete, listed once, and has as many rows as the warehouse.
async function expectPublished({ objects }: S3Server, name: string, warehouse: string): Promise<void> {
  const lake = `lake/${name}/`;
  const pointer = JSON.parse(String(objects.get(`${lake}latest.json`)?.body)) as Pointer;
  const manifests = pointer.snapshots.map(({ manifest }) => manifest);
  expect(new Set(manifests).size).toBe(manifests.length);
  const manifest = JSON.parse(String(objects.get(lake + pointer.manifest)?.body)) as Manifest;
  for (const table of manifest.tables) {
    for (const { path, sha256 } of table.files) {
      const body = objects.get(lake + path)?.body ?? '';
      expect(createHash('sha256').update(body).digest('hex'), `${name}: ${path}`).toBe(sha256);
    }
    const [held] = await ask(warehouse, `SELECT count(*) FROM "${table.name}"`);
    expect(table.rows, `${name}: ${table.name}`).toBe(Number(held?.[0]));
  }
}
