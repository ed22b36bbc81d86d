import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { defineJob } from '../../src/scheduler/job.ts';
import { openQueueRunner } from '../../src/scheduler/queue/queue-runner.ts';
import { newQueue, runSql, startQueues, stopQueues } from './queues.ts';

const WORKSPACES = Number(process.env['SIGHTLINE_COST_WORKSPACES'] ?? 10_000);
const WORKERS = 4;
const QUERIES_A_SECOND_MAX = 50;
const isWanted = process.env['SIGHTLINE_COST'] === '1';

beforeAll(async () => {
  if (isWanted) await startQueues();
});
afterAll(stopQueues);

// Takes minutes of real time: SIGHTLINE_COST=1 npx vitest run ... test/scheduler/queue-cost.test.ts
test.skipIf(!isWanted)(
  'thousands of workspaces cause few database queries, both idle and while runs are due',
  { timeout: 10 * 60_000 },
  async (context) => {
    const address = await newQueue('postgres', context);
    const runner = await openQueueRunner(address);
    onTestFinished(() => runner.close());
    const job = (name: string, cron: string) => defineJob({ name, about: 'A test.', cron, steps: [{ do: 'check' }] });
    const planned = Array.from({ length: WORKSPACES }, (_, index) => `w${index}`).flatMap((workspace) => [
      { workspace, job: job('nightly', '15 2 * * *') },
      { workspace, job: job('hourly', '45 * * * *') },
    ]);
    const took = async (work: () => Promise<unknown>): Promise<number> => {
      const startedAt = Date.now();
      await work();
      return Date.now() - startedAt;
    };
    const firstMs = await took(() => runner.keepSchedules(planned));
    const againMs = await took(() => runner.keepSchedules(planned));
    const stop = new AbortController();
    let done = 0;
    const working = Array.from({ length: WORKERS }, async (_, index) => {
      const own = await openQueueRunner(address);
      const perform = async () => {
        await delay(500);
        done += 1;
        return { kind: 'settled', status: 'done' } as const;
      };
      await own.work({ name: `worker-${index}`, concurrency: 4, signal: AbortSignal.any([stop.signal]), perform });
      await own.close();
    });
    // The database's own maintenance after so many rows is not counted.
    await runSql(address, 'VACUUM ANALYZE');
    await delay(20_000);
    const count = async (): Promise<number> => {
      const counted =
        'SELECT xact_commit + xact_rollback AS n FROM pg_stat_database WHERE datname = current_database()';
      return Number((await runSql(address, counted)).rows[0]?.n);
    };
    const rate = async (seconds: number): Promise<number> => {
      const before = await count();
      await delay(seconds * 1_000);
      return ((await count()) - before) / seconds;
    };
    const idle = await rate(30);
    await runSql(
      address,
      `UPDATE bullmq.job SET process_at_ms = (extract(epoch FROM clock_timestamp()) * 1000)::bigint + turn * 500
       FROM (SELECT id AS chosen, row_number() OVER () AS turn FROM bullmq.job WHERE name = 'hourly' LIMIT 100) AS due
       WHERE id = chosen; SELECT pg_notify('bullmq_jobs', 'sightline')`,
    );
    await delay(5_000);
    const before = done;
    const busy = await rate(30);
    const doneInTime = done - before;
    stop.abort(new Error('the test is over'));
    await Promise.all(working);
    process.stdout.write(`${JSON.stringify({ WORKSPACES, WORKERS, firstMs, againMs, idle, busy, doneInTime })}\n`);
    expect(idle).toBeLessThan(QUERIES_A_SECOND_MAX);
    expect(busy).toBeLessThan(QUERIES_A_SECOND_MAX);
    expect(doneInTime).toBeGreaterThan(40);
  },
);
