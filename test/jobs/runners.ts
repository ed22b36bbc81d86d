import { onTestFinished } from 'vitest';
import type { QueueAddress } from '../../src/base/config/runner-settings.ts';
import { defineJob } from '../../src/jobs/job.ts';
import { openQueueRunner } from '../../src/jobs/queue/queue-runner.ts';
import type { Lease, Runner, Task, TaskEnd } from '../../src/jobs/runner.ts';

/** Opens a runner on the same queue, for a worker of its own. */
export type Open = () => Promise<Runner>;
/** Sentences that the runners of this file printed. */
export const said: string[] = [];
export const say = (sentence: string): void => void said.push(sentence);

/** Opens runners on a queue for the duration of a test. */
export function openAt(address: QueueAddress): Open {
  return async () => {
    const runner = await openQueueRunner(address, { say });
    onTestFinished(() => runner.close());
    return runner;
  };
}

/** The end of a task that is done. */
export const settled: TaskEnd = { kind: 'settled', status: 'done' };

/** Performs tasks until the test is over or `stop` is called. */
export function startWork(runner: Runner, perform: (task: Task, lease: Lease) => Promise<TaskEnd>, concurrency = 3) {
  const stop = new AbortController();
  const ended = runner.work({ name: 'tester', concurrency, signal: stop.signal, perform });
  const end = async (): Promise<void> => {
    stop.abort(new Error('stopped'));
    await ended;
  };
  onTestFinished(end);
  return { stop: end };
}

/** Tasks of as many workspaces. */
export const tasksOf = (count: number, job = 'nightly') =>
  Array.from({ length: count }, (_, index) => ({ workspace: `w${index}`, job }));
/** A job that is due every minute. */
export const everyMinute = (name: string) =>
  defineJob({ name, about: 'A test.', cron: '* * * * *', steps: [{ do: 'check' }] });
/** A job that is due once a year. */
export const yearly = (name: string) =>
  defineJob({ name, about: 'A test.', cron: '0 0 1 1 *', steps: [{ do: 'check' }] });
