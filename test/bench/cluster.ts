import { setTimeout as delay } from 'node:timers/promises';
import type { RunnerState } from '../../src/jobs/runner.ts';
import { startFleet } from '../cluster/fleet.ts';
import { disabledJobs } from '../support/jobs.ts';
import { startPostgres } from '../support/postgres.ts';
import type { Part } from './measure.ts';

const WORKERS = [1, 2, 4] as const;
/** Concurrent tasks per worker: few enough that workers wait for budgets and not for the machine. */
const CONCURRENCY = 2;
const LOOK_EVERY_MS = 1_000;

const settings = {
  jobs: {
    ...disabledJobs,
    nightly: { cron: '0 0 1 1 *' },
    take: { cron: '0 0 1 1 *', steps: [{ do: 'sync' }] },
  },
};

/** The rate limit of each key, or none. */
const rates = [
  { name: 'at 120 requests a minute', rateLimit: 120, latencyMs: 20 },
  { name: 'rates lifted, 200 ms a request', rateLimit: 10_000, latencyMs: 200 },
] as const;

/**
 * Measures first syncs of `each` workspaces per worker with one, two and four workers: workspaces per minute, and the
 * ratio to ideal scaling.
 */
export async function clusterFigures(_folder: string, each: number): Promise<Part> {
  const lines: string[] = [];
  for (const rate of rates) {
    let first = 0;
    for (const workers of WORKERS) {
      const perMinute = await measure(rate, workers, workers * each);
      if (perMinute === null) return { lines: ['cluster: no PostgreSQL here, not measured'], figures: {} };
      first ||= perMinute;
      const share = (perMinute / (first * workers)).toFixed(2);
      lines.push(
        `cluster  ${rate.name.padEnd(32)} ${workers} workers  ${perMinute.toFixed(1)} workspaces/min  ${share} a worker`,
      );
    }
  }
  return { lines, figures: {} };
}

async function measure(
  { rateLimit, latencyMs }: (typeof rates)[number],
  workers: number,
  workspaces: number,
): Promise<number | null> {
  const postgres = await startPostgres();
  if (typeof postgres === 'string') return null;
  const sandboxOf = (seed: number) => ({ brands: 1, prompts: 2, days: 4, seed, rateLimit, latencyMs });
  const fleet = await startFleet({ workspaces, databaseUrl: postgres.url(), settings, sandboxOf });
  try {
    const names = Array.from({ length: workers }, (_, index) => `worker-${index}`);
    const started = names.map((name) => fleet.start('worker', '--name', name, '--concurrency', String(CONCURRENCY)));
    await until(fleet, ({ queue }) => queue.workers.length === workers);
    const began = Date.now();
    await fleet.run('cluster', 'enqueue', 'take');
    const ends = (): number[] =>
      started
        .flatMap(({ lines }) => lines.map((line) => JSON.parse(line) as { msg: string; time: string }))
        .flatMap(({ msg, time }) => (/^job take of \w+ done$/.test(msg) ? [Date.parse(time)] : []));
    while (ends().length < workspaces) await delay(LOOK_EVERY_MS);
    const last = Math.max(...ends());
    return (workspaces / (last - began)) * 60_000;
  } finally {
    await fleet.close();
    await postgres.close();
  }
}

interface State {
  readonly queue: RunnerState;
}

async function until(
  fleet: { run(...args: readonly string[]): Promise<string> },
  holds: (state: State) => boolean,
): Promise<State> {
  for (;;) {
    const state = JSON.parse(await fleet.run('cluster', 'status', '--json', '--limit', '1')) as State;
    if (holds(state)) return state;
    await delay(LOOK_EVERY_MS);
  }
}
