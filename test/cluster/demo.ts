import { setTimeout as delay } from 'node:timers/promises';
import type { RunnerState } from '../../src/scheduler/runner.ts';
import { startPostgres } from '../support/postgres.ts';
import { type Fleet, type Started, startFleet } from './fleet.ts';

// npm run cluster:demo: starts PostgreSQL, three workers and thirty workspaces, kills a worker in the middle, and shows
// that all data still arrive.

const WORKSPACES = Number(process.env['SIGHTLINE_DEMO_WORKSPACES'] ?? 30);
const WORKERS = ['anna', 'bert', 'cleo'] as const;
const CONCURRENCY = 3;
/** There are three kinds of sandboxes, so three of them show how many requests one undisturbed process sends. */
const KINDS = 3;
const LOOK_EVERY_MS = 2_000;
const MINUTES_MAX = 10;

const startedAt = Date.now();
const stop = new AbortController();
const closing: (() => Promise<unknown>)[] = [];

async function demonstrate(): Promise<void> {
  print('Starting PostgreSQL …');
  const postgres = await startPostgres();
  if (typeof postgres === 'string') throw new Error(`PostgreSQL is not available: ${postgres}`);
  closing.push(postgres.close);
  for (const signal of ['SIGINT', 'SIGTERM']) {
    // The PostgreSQL package would end the process before everything is removed.
    process.removeAllListeners(signal);
    process.on(signal, () => stop.abort(new Error('stopped')));
  }
  print(`Starting ${WORKSPACES} sandboxes, each with a key and a rate limit of its own …`);
  const alone = await requestsAlone();
  const fleet = await startFleet({ workspaces: WORKSPACES, databaseUrl: postgres.url(), sandboxOf });
  closing.push(fleet.close);
  print(await said(fleet, 'cluster', 'enqueue', 'nightly'));
  const workers = new Map(WORKERS.map((name) => [name, startWorker(fleet, name)]));
  print(`Started ${WORKERS.length} workers: ${WORKERS.join(', ')}.`);
  await watch(fleet, workers);
  for (const [name, { process: child, ended }] of workers) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGTERM');
    print(`${name} was stopped, and ended with ${await ended}.`);
  }
  await prove(fleet, alone);
}

function sandboxOf(index: number) {
  const size = { brands: 1, prompts: 2, days: 4, responsesPerDay: 15 } as const;
  return { ...size, seed: (index % KINDS) + 1, rateLimit: 600, latencyMs: 40, clock: () => startedAt };
}

// Returns the number of requests that one undisturbed process sends for each kind of sandbox.
async function requestsAlone(): Promise<readonly number[]> {
  const fleet = await startFleet({ workspaces: KINDS, sandboxOf });
  try {
    const names = [...fleet.sandboxes.keys()];
    await Promise.all(names.map((name) => fleet.run('jobs', 'run', 'nightly', '--workspace', name)));
    return [...fleet.sandboxes.values()].map(({ requests }) => requests.length);
  } finally {
    await fleet.close();
  }
}

function startWorker(fleet: Fleet, name: string): Started {
  return fleet.start('worker', '--name', name, '--concurrency', String(CONCURRENCY));
}

// Prints a line every few seconds. Kills one worker after a third of the workspaces.
async function watch(fleet: Fleet, workers: ReadonlyMap<string, Started>): Promise<void> {
  let isKilled = false;
  const told = new Set<string>();
  for (let looks = 0; looks < (MINUTES_MAX * 60_000) / LOOK_EVERY_MS; looks++) {
    stop.signal.throwIfAborted();
    const { queue, lag } = JSON.parse(await fleet.run('cluster', 'status', '--json', '--limit', '1000')) as {
      queue: RunnerState;
      lag: { worst: readonly { workspace: string; lastWholeRun: string | null }[] };
    };
    const done = lag.worst.filter(({ lastWholeRun }) => lastWholeRun !== null).length;
    const held = WORKERS.map((name) => {
      const own = queue.leases.filter(({ worker }) => worker === name).map(({ workspace }) => workspace);
      return `${name}: ${own.join(' ') || '-'}`;
    });
    print(`${String(done).padStart(3)} of ${WORKSPACES} done, ${queue.counts.waiting} waiting | ${held.join(' | ')}`);
    for (const line of [...workers.values()].flatMap(({ lines }) => lines)) {
      if (told.has(line) || !/"attempt":[2-9]/.test(line)) continue;
      told.add(line);
      print(`  taken over: ${(JSON.parse(line) as { msg: string }).msg}`);
    }
    if (done === WORKSPACES && queue.counts.active === 0) return;
    if (!isKilled && done >= WORKSPACES / 3) {
      isKilled = true;
      const victim = WORKERS[1];
      workers.get(victim)?.process.kill('SIGKILL');
      print(`kill -9 of ${victim}, which had ${held[1]?.split(': ')[1]}: its leases expire in 15 seconds.`);
    }
    await delay(LOOK_EVERY_MS, undefined, { signal: stop.signal });
  }
  throw new Error(`not done after ${MINUTES_MAX} minutes`);
}

async function prove(fleet: Fleet, alone: readonly number[]): Promise<void> {
  let rows = 0;
  const sent = [...fleet.sandboxes.values()].reduce((sum, { requests }) => sum + requests.length, 0);
  for (const name of fleet.sandboxes.keys()) {
    stop.signal.throwIfAborted();
    rows += await fleet.compare(name);
  }
  print(`All ${rows.toLocaleString('en-US')} rows of ${WORKSPACES} workspaces equal the responses of their sandboxes.`);
  const wanted = [...fleet.sandboxes].reduce((sum, _, index) => sum + (alone[index % KINDS] ?? 0), 0);
  const more = ((sent / wanted - 1) * 100).toFixed(1);
  print(
    `${sent} requests, ${more} % more than the ${wanted} of one undisturbed process, for the pages that were in progress.`,
  );
}

async function said(fleet: Fleet, ...args: readonly string[]): Promise<string> {
  const { ended, lines } = fleet.start(...args);
  if ((await ended) !== 0) throw new Error(lines.join('\n'));
  return lines.join('\n');
}

function print(text: string): void {
  const seconds = ((Date.now() - startedAt) / 1000).toFixed(0).padStart(4);
  for (const line of text.split('\n')) process.stdout.write(`${seconds} s  ${line}\n`);
}

try {
  await demonstrate();
} catch (thrown) {
  print(stop.signal.aborted ? 'Stopped.' : String(thrown instanceof Error ? (thrown.stack ?? thrown) : thrown));
  process.exitCode = 1;
} finally {
  for (const close of closing.reverse()) await Promise.race([close().catch(() => undefined), delay(20_000)]);
}
process.exit();
